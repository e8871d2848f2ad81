/** Which part of a request a provider did not take, as far as its words say so. */

import type { ModelErrorKind } from "../core/errors.ts";
import type { ModelSettings } from "../core/model.ts";
import type { ProviderOptions } from "../core/model-options.ts";
import { nearest } from "../core/nearest.ts";
import { readErrorFacts } from "./error-facts.ts";

/** The schema of an output by the name of its field. */
const OUTPUT_FIELD =
  /response_?format|text\.format|response_?(?:json_?)?schema|response.?mime|output_config(?:\.format|[^.\w])|output[_ ]format|structured.?output|json mode|guided_/i;
/** The schema of a tool by the name of its field: without the schema of the output the request would be refused too. */
const TOOL_FIELD =
  /\btools?[.[]\d|function_?declarations|input_schema|invalid_function_parameters|schema for (?:function|tool)\b/i;
/** Other words of providers and servers that do not take a schema, or none together with tools. */
const SCHEMA_WORDS = /schema|structured|grammar|requested parameters/i;

/** All that Google says about some requests, of which a schema is the likeliest cause: without it the call fails again or works. */
const NO_REASON = /request contains an invalid argument\.?(?:"|$)/i;

/** True when a call that carried the schema of an output was refused because of it. */
export function isSchemaRefusal(kind: ModelErrorKind, error: unknown): boolean {
  if (kind !== "invalid_request") return false;
  const { text } = readErrorFacts(error);
  if (OUTPUT_FIELD.test(text)) return true;
  return !TOOL_FIELD.test(text) && (SCHEMA_WORDS.test(text) || NO_REASON.test(text));
}

/** How providers call the options of agents. */
const OPTION_WORDS: readonly [option: "temperature" | "effort" | "toolChoice", words: RegExp][] = [
  ["temperature", /temperature/i],
  ["effort", /reasoning|effort|thinking/i],
  ["toolChoice", /tool_?choice|tool_?config|function_?calling/i],
];

/** What a person can do about a request that was refused; nothing when the words say nothing of an option. */
export function optionHint(kind: ModelErrorKind, error: unknown, settings: ModelSettings): string {
  if (kind !== "invalid_request") return "";
  const { text } = readErrorFacts(error);
  const option = OPTION_WORDS.find(([name, words]) => settings[name] !== undefined && words.test(text))?.[0];
  return option === undefined ? "" : `. If this model does not take the ${option} of the agent, leave it out there`;
}

/** Names of providers, without case and signs: options for one of them are for another model, not misspelled. */
const PROVIDERS: ReadonlySet<string> = new Set([
  ...["anthropic", "openai", "azure", "google", "vertex", "googlevertex", "bedrock", "amazonbedrock", "gateway"],
  ...["openaicompatible", "openrouter", "ollama", "copilot", "githubcopilot", "deepseek", "mistral", "groq", "xai"],
  ...["cohere", "perplexity", "togetherai", "fireworks", "cerebras", "deepinfra", "huggingface", "moonshotai"],
]);

/** The name that was meant, when no options are for this provider and one name is close to it. `provider` is as the adapter calls itself. */
export function misspelled(
  provider: string,
  options: ProviderOptions,
): { readonly found: string; readonly meant: string } | undefined {
  const names = provider.split(".").slice(0, -1);
  const own = new Set(names.map(plain));
  const given = Object.keys(options);
  if (given.some((name) => own.has(plain(name)))) return undefined;
  for (const found of given) {
    const meant = PROVIDERS.has(plain(found)) ? undefined : nearest(plain(found), own);
    if (meant !== undefined) return { found, meant: names.find((name) => plain(name) === meant) ?? meant };
  }
  return undefined;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}
