/** The options with which an agent asks its model: temperature, effort, the choice of tools, and options of the provider. */

import { UserError } from "./errors.ts";
import { foundValue, kindOf, numberWithin, type OptionKinds, wordOf } from "./option-kinds.ts";
import { isPlainRecord, isRecord } from "./schema.ts";

/** Effort of a model before it answers. An adapter takes the nearest level that its model has. */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** Says whether the model must call a tool. `required` and a named tool hold until the run has made its first call. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** JSON, by the name that the provider's adapter has for its options: `{ anthropic: { speed: "fast" } }`. */
export type ProviderOptions = { readonly [provider: string]: { readonly [option: string]: unknown } };

/** The options that go with the model: who inherits the model of its parent inherits these where it has none. */
export type AskingOptions = {
  temperature?: number | undefined;
  effort?: Effort | undefined;
  providerOptions?: ProviderOptions | undefined;
};

const ALL_EFFORTS: Readonly<Record<Effort, true>> = {
  none: true,
  minimal: true,
  low: true,
  medium: true,
  high: true,
  xhigh: true,
  max: true,
};

/** Every `Effort`, from the least to the most. */
export const EFFORTS = Object.keys(ALL_EFFORTS) as readonly Effort[];

export const MAX_TEMPERATURE = 2;

const PROVIDER_OPTIONS = "an object by provider, such as { openai: { … } }";

export function isTemperature(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= MAX_TEMPERATURE;
}

function isToolChoice(value: unknown): value is ToolChoice {
  if (value === "auto" || value === "none" || value === "required") return true;
  return isRecord(value) && typeof value.tool === "string" && Object.keys(value).length === 1;
}

/** True when the model is made to call a tool. */
export function isForced(choice: ToolChoice | undefined): boolean {
  return choice === "required" || typeof choice === "object";
}

/** The options with which a definition asks its model. */
export const ASKING_OPTIONS: OptionKinds<AskingOptions & { toolChoice?: ToolChoice | undefined }> = {
  temperature: numberWithin(0, MAX_TEMPERATURE),
  effort: wordOf(...EFFORTS),
  toolChoice: kindOf('"auto", "none", "required" or { tool: "name" }', isToolChoice, foundValue),
  providerOptions: kindOf(PROVIDER_OPTIONS, isPlainRecord),
};

/** Throws a `UserError` that begins with `where`. */
export function checkProviderOptions(given: unknown, where: string): asserts given is ProviderOptions {
  if (!isPlainRecord(given)) throw new UserError(`${where} must be ${PROVIDER_OPTIONS}`);
  const budget = { values: MAX_VALUES };
  for (const [provider, options] of Object.entries(given)) {
    if (!isPlainRecord(options)) throw new UserError(`${where}: ${provider} must be an object of options`);
    // The values are not shown: one of them may be a secret.
    for (const [option, value] of Object.entries(options))
      if (!isJsonValue(value, 0, budget)) throw new UserError(`${where}: ${provider}.${option} must be a JSON value`);
  }
}

const MAX_DEPTH = 50;
/** An object that is in many places counts in each, because it is sent in each. */
const MAX_VALUES = 100_000;

/** True for what JSON keeps as it is, within bounds. */
function isJsonValue(value: unknown, depth: number, budget: { values: number }): boolean {
  budget.values -= 1;
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || depth > MAX_DEPTH || budget.values < 0) return false;
  if (Array.isArray(value)) return value.every((each) => isJsonValue(each, depth + 1, budget));
  if (!isPlainRecord(value)) return false;
  return Object.values(value).every((each) => each === undefined || isJsonValue(each, depth + 1, budget));
}

/** One over the other, option by option. */
export function mergeProviderOptions(
  base: ProviderOptions | undefined,
  over: ProviderOptions | undefined,
): ProviderOptions | undefined {
  if (base === undefined || over === undefined) return over ?? base;
  const merged = new Map(Object.entries(base));
  for (const [provider, options] of Object.entries(over)) merged.set(provider, { ...merged.get(provider), ...options });
  return Object.fromEntries(merged);
}

/** The options that an agent asks with: its own options, over those of the agent whose model it has. */
export function inheritAsking(own: AskingOptions, inherited: AskingOptions | undefined): AskingOptions {
  return {
    temperature: own.temperature ?? inherited?.temperature,
    effort: own.effort ?? inherited?.effort,
    providerOptions: mergeProviderOptions(inherited?.providerOptions, own.providerOptions),
  };
}
