/** The port to a language model: one request, text as it comes, one answer. `runtime/model/` adapts the AI SDK to it. */

import { UserError } from "./errors.ts";
import type { ExternalAgent } from "./external-agent.ts";
import type { AssistantMessage, Message } from "./message.ts";
import type { Effort, ProviderOptions, ToolChoice } from "./model-options.ts";
import type { JsonSchema } from "./schema.ts";
import type { ProviderTool } from "./tool.ts";
import type { Price, Usage } from "./usage.ts";

/**
 * The reason why the model stopped. After `length` and `content-filter` no tool call of the answer may run. `paused`: its
 * provider runs tools of its own and wants to be asked once more to continue.
 */
export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter" | "paused" | "other";

/** A tool as a model is shown it. `provider` is set for one that the provider of the model defines. */
export type ToolDefinition = {
  name: string;
  description: string;
  inputSchema: JsonSchema;
  provider?: ProviderTool | undefined;
};

/** The run that asks, for models that answer by it (the scripted one) and for logs. */
export type ModelCaller = { runId: string; agentId: string; path: string; depth: number; turn: number };

/** One question to a model. */
export type ModelRequest = {
  instructions: string | undefined;
  /** Append-only from call to call of one run, so an adapter may convert only what is new; a pruned history is a new array. */
  messages: readonly Message[];
  /** The same array in every call of a run. */
  tools: readonly ToolDefinition[];
  /** False in a closing turn, and where the agent says so: the definitions stay (the prompt cache), but the model must answer in text. */
  mayCallTools: boolean;
  settings: ModelSettings;
  caller: ModelCaller;
  /** The signal is made on first use: read it only if you hand it on. A spread of the request leaves it out, so name it there. */
  readonly signal: AbortSignal;
  /** Set it when the provider has begun to answer: from then on it bills the prompt, also when nothing arrives. */
  isAccepted?: boolean | undefined;
  /** Set it when the provider says how much of its limit is left: calls are spaced by it. */
  rate?: RateReport | undefined;
};

/** The calls that a provider takes: at most `limit` in a row, of which `left` are left, and all of them again in `resetMs`. */
export type RateReport = { readonly limit: number; readonly left: number; readonly resetMs: number };

/** The settings of a question. A model may ignore those that it does not have. */
export type ModelSettings = {
  maxOutputTokens: number | undefined;
  /**
   * The answer is to be JSON of this shape. The instructions ask for it too and the answer is checked, so use it where the
   * provider takes a schema, and ignore it elsewhere. A `ModelError` of the kind `output_schema` has the call made again
   * without it.
   */
  outputSchema: JsonSchema | undefined;
  temperature?: number | undefined;
  effort?: Effort | undefined;
  /** The choice of this turn; `auto` when unset. A closing turn is said by `mayCallTools`. */
  toolChoice?: ToolChoice | undefined;
  providerOptions?: ProviderOptions | undefined;
};

/** One whole answer of a model, with what it used. */
export type ModelAnswer = {
  message: AssistantMessage;
  finish: FinishReason;
  /** Undefined when the provider did not say. */
  usage: Usage | undefined;
  /** Calls of tools that the provider ran itself, counted by their ids: it bills them besides the tokens. */
  providerCalls?: ProviderCalls | undefined;
};

/** Calls by the id of the tool: `{ "anthropic.web_search_20250305": 2 }`. */
export type ProviderCalls = Readonly<Record<string, number>>;

/**
 * Called for every piece that arrives, directly and often: do little. `text` and `reasoning` are shown. `tool-input` is the name of
 * a call or a piece of its arguments. `hidden`, with an empty text, says that the model writes something whose size does not show, such as
 * encrypted thinking. When an answer breaks off, pieces are charged by their size and one with a hidden part with its whole output
 * cap. What a model of your own does not call this for, is not charged then.
 */
export type OnDelta = (kind: "text" | "reasoning" | "tool-input" | "hidden", text: string) => void;

/** A model that runs can ask. Wrap a provider of your own in one. */
export type Model = {
  /** `provider/model`, for people, prices and telemetry. */
  readonly id: string;
  readonly price?: Price | undefined;
  /** Tokens the model can read and write in one call, when known. */
  readonly contextWindow?: number | undefined;
  /** Set for an external agent: runs prompt it in a session and never call `answer`. */
  readonly external?: ExternalAgent | undefined;
  /** The longest that one call may take; as long as it likes when unset. */
  readonly callTimeoutMs?: number | undefined;
  /** The number of times that a call which failed for a passing reason is made again; 4 when unset. */
  readonly maxRetries?: number | undefined;
  /** Plays a recording: a failed attempt is repeated at once, however often it was. */
  readonly isRecorded?: true | undefined;
  /** The longest that a call may be refused for the rate of the provider; 10 minutes when unset. */
  readonly maxRateWaitMs?: number | undefined;
  /** True when requests may have this tool of a provider; by default the tools of the provider in `id`. */
  takesProviderTool?(toolId: string): boolean;
  /**
   * One attempt. Throws a `ModelError` when the provider fails or the stream ends without a proper finish; a tool call is
   * in the answer only when it arrived whole.
   */
  answer(request: ModelRequest, onDelta: OnDelta): Promise<ModelAnswer>;
};

/** A segment that began with a dot, or was empty, could lead elsewhere where a provider has the name in its address. */
const NAME = /^[a-z][a-z0-9-]*(?:\/[A-Za-z0-9][\w.:@+-]*)+$/;
/** An entry of `models.allow`: a model, or all of a provider. */
const ALLOWED = /^[a-z][a-z0-9-]*(?:\/\*|(?:\/[A-Za-z0-9][\w.:@+-]*)+)$/;
const MAX_LENGTH = 200;

/** The part in front of the first slash; all of a name without one. */
export function providerOf(name: string): string {
  return name.split("/", 1)[0] ?? "";
}

const VERSION = /(?:-\d{8}|-\d{4}-\d{2}-\d{2}|-\d{3})$/;

/** `name@20250101` and `name-2025-01-01` are `name`. */
export function withoutVersion(name: string): string {
  const at = name.indexOf("@");
  return at === -1 ? name.replace(VERSION, "") : name.slice(0, at);
}

/** True when a model can be given this tool that a provider defines. */
export function takesProviderTool(model: Pick<Model, "id" | "takesProviderTool">, toolId: string): boolean {
  return model.takesProviderTool?.(toolId) ?? toolId.startsWith(`${providerOf(model.id)}.`);
}

/** The prefix of the name of a server: `external/claude` in an agent file. */
export const EXTERNAL_PROVIDER = "external";

/** `external/claude`: an external agent. Definitions may name one; a call may not, whatever is allowed. */
export function isExternalModel(name: string): boolean {
  return providerOf(name) === EXTERNAL_PROVIDER;
}

/** `claude-code` for the model `external/claude-code`; undefined for a model that is none of an external agent. */
export function externalNameIn(model: string): string | undefined {
  return isExternalModel(model) ? model.slice(EXTERNAL_PROVIDER.length + 1) : undefined;
}

/** No entry allows an external agent. */
export function isAllowEntry(entry: unknown): entry is string {
  return typeof entry === "string" && entry.length <= MAX_LENGTH && ALLOWED.test(entry) && !isExternalModel(entry);
}

/** Throws a `UserError` for an entry that is neither `provider/model` nor `provider/*`, or that names an external agent. */
export function checkAllowEntries(allow: readonly string[]): void {
  const wrong = allow.find((entry): boolean => !isAllowEntry(entry));
  if (wrong === undefined) return;
  if (isExternalModel(String(wrong)))
    throw new UserError(
      `models.allow cannot have ${JSON.stringify(wrong.slice(0, MAX_LENGTH))}: an external agent is named by a definition or by subagent_delegate, never as the model of a call`,
    );
  throw new UserError(`models.allow has "provider/model" or "provider/*"; found ${JSON.stringify(wrong)}`);
}

/**
 * Says why a call or a project may not have this model; undefined when it may. The name of a model says whose server gets a
 * task and which key pays for it. `own` is the provider of the run, undefined when it has none that a name leads to.
 */
export function whyNotNamed(name: string, own: string | undefined, allow: readonly string[]): string | undefined {
  if (name.length > MAX_LENGTH || !NAME.test(name))
    return `${JSON.stringify(name.slice(0, MAX_LENGTH))} is not a model: write provider/model, or leave model out for your own`;
  if (isExternalModel(name))
    return `${name} is an external agent, and no call may name it as a model. Use subagent_delegate, or call an agent whose definition names it`;
  const provider = providerOf(name);
  if (provider === own || allow.includes(name) || allow.includes(`${provider}/*`)) return undefined;
  // The same words for every run: a rerun has the models of its recording by their names, however they were given.
  return `The model ${name} is of the provider "${provider}", and a call may name only models of its run's own provider and those that models.allow lists. Leave model out to use your own`;
}
