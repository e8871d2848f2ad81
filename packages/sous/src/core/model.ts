/** The port to a language model: one request, text as it comes, one answer. `model/` adapts the AI SDK to it. */

import type { AssistantMessage, Message } from "./message.ts";
import type { JsonSchema } from "./schema.ts";
import type { Price, Usage } from "./usage.ts";

/** Why the model stopped. After `length` and `content-filter` no tool call of the answer may run. */
export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter" | "other";

export type ToolDefinition = { name: string; description: string; inputSchema: JsonSchema };

/** Which run asks, for models that answer by it (the scripted one) and for logs. */
export type ModelCaller = { runId: string; agentId: string; path: string; depth: number; turn: number };

export type ModelRequest = {
  instructions: string | undefined;
  /** Append-only from call to call of one run, so an adapter may convert only what is new; a pruned history is a new array. */
  messages: readonly Message[];
  /** The same array in every call of a run. */
  tools: readonly ToolDefinition[];
  /** False in a closing turn: the definitions stay (the prompt cache), but the model must answer in text. */
  mayCallTools: boolean;
  settings: ModelSettings;
  caller: ModelCaller;
  /** Made on first use: read it only if you hand it on. A spread of the request leaves it out, so name it there. */
  readonly signal: AbortSignal;
};

export type ModelSettings = {
  maxOutputTokens: number | undefined;
  /** Ask for JSON of this shape, where the provider can. */
  outputSchema: JsonSchema | undefined;
};

export type ModelAnswer = {
  message: AssistantMessage;
  finish: FinishReason;
  /** Undefined when the provider did not say. */
  usage: Usage | undefined;
};

/** Called for every piece of text, directly and often: do little. */
export type OnDelta = (kind: "text" | "reasoning", text: string) => void;

export type Model = {
  /** `provider/model`, for people, prices and telemetry. */
  readonly id: string;
  readonly price?: Price | undefined;
  /** Tokens the model can read and write in one call, when known. */
  readonly contextWindow?: number | undefined;
  /** How often a call that failed for a passing reason is made again; 4 times when unset. */
  readonly maxRetries?: number | undefined;
  /**
   * One attempt. Throws a `ModelError` when the provider fails or the stream ends without a proper finish; a tool call is
   * in the answer only when it arrived whole.
   */
  answer(request: ModelRequest, onDelta: OnDelta): Promise<ModelAnswer>;
};
