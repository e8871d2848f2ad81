/** Any AI SDK language model (specification V4) as a `Model`. */

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamResult,
  LanguageModelV4ToolChoice,
} from "@ai-sdk/provider";
import type { ForeignModel } from "../../core/agent.ts";
import { ModelError, UserError } from "../../core/errors.ts";
import type { Model, ModelRequest, ModelSettings } from "../../core/model.ts";
import { isForced, mergeProviderOptions, type ProviderOptions, type ToolChoice } from "../../core/model-options.ts";
import { nearest } from "../../core/nearest.ts";
import type { ModelErrorKind } from "../../core/words/model-errors.ts";
import { classifyError } from "./classify-error.ts";
import { hidesOutput, thinkingFor } from "./effort.ts";
import { readErrorFacts } from "./error-facts.ts";
import { readAnswer } from "./from-stream.ts";
import { nativeSchema } from "./output-schema.ts";
import { rateIn } from "./reported.ts";
import { promptBuilder, toolConverter } from "./to-prompt.ts";
import { factsOf, noteFacts } from "./wire-facts.ts";

export type AdapterOptions = {
  /** `provider/model`; taken from the AI SDK model when unset. */
  id?: string | undefined;
  /** The options sent with every request, keyed by provider name. */
  providerOptions?: LanguageModelV4CallOptions["providerOptions"] | undefined;
  maxRetries?: number | undefined;
  /** The time one call may take from its beginning to its end; 20 minutes when unset. */
  callTimeoutMs?: number | undefined;
  /** The longest that a call may be refused for the rate of the provider; 10 minutes when unset. */
  maxRateWaitMs?: number | undefined;
};

const CALL_TIMEOUT_MS = 20 * 60_000;

const adapted = new WeakMap<object, Model>();

/** The same object gives the same `Model`, so that all its users share one governor. Refuses older specifications. */
export function fromAiSdk(foreign: LanguageModelV4 | ForeignModel, options: AdapterOptions = {}): Model {
  const known = adapted.get(foreign);
  if (known !== undefined) return known;
  const model = adapt(requireV4(foreign), options);
  adapted.set(foreign, model);
  return model;
}

/** True for a language model of the AI SDK of any specification; `fromAiSdk` says which of them it takes. */
export function isForeignModel(value: unknown): value is ForeignModel {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return "specificationVersion" in value && "doStream" in value && typeof value.doStream === "function";
}

function requireV4(foreign: LanguageModelV4 | ForeignModel): LanguageModelV4 {
  if (foreign.specificationVersion === "v4" && isForeignModel(foreign)) return foreign as LanguageModelV4;
  throw new UserError(
    `The model ${foreign.provider}/${foreign.modelId} implements specification ${foreign.specificationVersion} of the ` +
      "AI SDK, but sous needs v4: update its provider package",
  );
}

function adapt(model: LanguageModelV4, options: AdapterOptions): Model {
  const id = options.id ?? `${model.provider.split(".")[0]}/${model.modelId}`;
  const toPrompt = promptBuilder(model.provider);
  const toTools = toolConverter(model.provider);
  /** The provider has refused a schema: from then on the prompt alone asks for the shape. */
  let isSchemaRefused = false;
  return {
    id,
    maxRetries: options.maxRetries,
    callTimeoutMs: options.callTimeoutMs ?? CALL_TIMEOUT_MS,
    maxRateWaitMs: options.maxRateWaitMs,
    takesProviderTool: (toolId) => takesTool(model.provider, toolId),
    answer: async (request, onDelta) => {
      const { signal, settings, tools } = request;
      signal.throwIfAborted();
      const call = toCall(request, signal);
      if (hidesOutput(model, settings.effort)) noteFacts(signal, { hidesOutput: true });
      let opened: LanguageModelV4StreamResult;
      try {
        opened = await model.doStream(call);
      } catch (error) {
        signal.throwIfAborted();
        throw factsOf(signal).broken ?? refused(error, call, settings);
      }
      // One that ignored its signal may open its stream during a later attempt.
      if (!signal.aborted) request.isAccepted = true;
      const rate = rateIn(opened.response?.headers, Date.now());
      if (rate !== undefined && !signal.aborted) request.rate = rate;
      const { provider, modelId } = model;
      return await readAnswer(opened.stream, { id, signal, onDelta, asked: { provider, modelId, tools } });
    },
  };

  function toCall(request: ModelRequest, abortSignal: AbortSignal): LanguageModelV4CallOptions {
    const { tools, settings, mayCallTools } = request;
    const { temperature, effort, outputSchema: schema, toolChoice } = settings;
    checkNames(settings.providerOptions);
    const call: LanguageModelV4CallOptions = { prompt: toPrompt(request), abortSignal };
    if (tools.length > 0) {
      call.tools = toTools(tools);
      call.toolChoice = mayCallTools ? toToolChoice(toolChoice) : { type: "none" };
    }
    const asked = { schema: schema ?? {}, hasTools: tools.length > 0, mayCallTools };
    const native = schema === undefined || isSchemaRefused ? undefined : nativeSchema(model, asked);
    if (native !== undefined) call.responseFormat = { type: "json", schema: native.schema };
    if (temperature !== undefined) call.temperature = temperature;
    const fixed = mergeProviderOptions(options.providerOptions, native?.providerOptions);
    const given = mergeProviderOptions(fixed, settings.providerOptions);
    const cap = settings.maxOutputTokens;
    const isForcedCall = mayCallTools && isForced(toolChoice);
    const thinking = thinkingFor(model, { effort, cap, providerOptions: given, isForced: isForcedCall });
    if (thinking.reasoning !== undefined) call.reasoning = thinking.reasoning;
    if (thinking.maxOutputTokens !== undefined) call.maxOutputTokens = thinking.maxOutputTokens;
    const merged = mergeProviderOptions(given, thinking.providerOptions);
    if (merged !== undefined) call.providerOptions = merged as NonNullable<AdapterOptions["providerOptions"]>;
    return call;
  }

  function checkNames(given: ProviderOptions | undefined): void {
    const wrong = given && misspelled(model.provider, given);
    if (wrong === undefined) return;
    const message = `providerOptions of the agent are for ${wrong.found}, which ${id} does not read; did you mean ${wrong.meant}?`;
    throw new ModelError("invalid_request", message);
  }

  /** The error for a call whose stream was not opened. */
  function refused(error: unknown, call: LanguageModelV4CallOptions, settings: ModelSettings): ModelError {
    const failure = classifyError(error, { id, phase: "request" });
    const { kind, status, message } = failure;
    if (call.responseFormat !== undefined && isSchemaRefusal(kind, error)) {
      isSchemaRefused = true;
      const words = `${message}. The call is made again without the schema of the output`;
      return new ModelError("output_schema", words, { cause: error, status, retryAfterMs: 0 });
    }
    const hint = optionHint(kind, error, settings);
    return hint === "" ? failure : new ModelError(kind, `${message}${hint}`, { cause: error, status });
  }
}

function toToolChoice(choice: ToolChoice | undefined): LanguageModelV4ToolChoice {
  return typeof choice === "object" ? { type: "tool", toolName: choice.tool } : { type: choice ?? "auto" };
}

/** Adapters that take the tools of another provider, because they speak its protocol. */
const SPEAKS: Readonly<Record<string, string>> = { azure: "openai" };

/** `provider` is as the adapter calls itself: `anthropic.messages`, `vertex.anthropic.messages`. A gateway asks whom it likes. */
function takesTool(provider: string, toolId: string): boolean {
  const [owner = ""] = toolId.split(".", 1);
  const names = provider.split(".");
  if (names[0] === "gateway") return true;
  // The chat protocol has no tools of the provider.
  if (owner === "openai" && (names.at(-1) === "chat" || names.at(-1) === "completion")) return false;
  return names.includes(owner) || names.some((name) => SPEAKS[name] === owner);
}

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
function isSchemaRefusal(kind: ModelErrorKind, error: unknown): boolean {
  if (kind !== "invalid_request") return false;
  const { text } = readErrorFacts(error);
  if (OUTPUT_FIELD.test(text)) return true;
  return !TOOL_FIELD.test(text) && (SCHEMA_WORDS.test(text) || NO_REASON.test(text));
}

/** The names that providers have for the options of agents. */
const OPTION_WORDS: readonly [option: "temperature" | "effort" | "toolChoice", words: RegExp][] = [
  ["temperature", /temperature/i],
  ["effort", /reasoning|effort|thinking/i],
  ["toolChoice", /tool_?choice|tool_?config|function_?calling/i],
];

/** Advice for a person about a request that was refused; none when the words say nothing of an option. */
function optionHint(kind: ModelErrorKind, error: unknown, settings: ModelSettings): string {
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
function misspelled(
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
