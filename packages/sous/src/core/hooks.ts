/** The two named points where a user's code may step in, and two where it may watch. */

import type { SousEvent } from "./event.ts";
import type { ToolResult } from "./tool.ts";

/** The tool call that a hook is called for. */
export type HookCall = {
  readonly callId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly path: string;
  readonly runId: string;
};

/** Your code around the tool calls of an agent. */
export type Hooks = {
  /** May refuse the call or answer it; returning nothing lets it run. A throw is a refusal with its message. */
  beforeToolCall?(call: HookCall): Promise<HookDecision | undefined> | HookDecision | undefined;
  /** May replace the result. */
  afterToolCall?(call: HookCall, result: ToolResult): Promise<ToolResult | undefined> | ToolResult | undefined;
  onEvent?(event: SousEvent): void;
  onError?(error: { message: string; path: string; runId: string }): void;
};

/** In place of the call: a refusal that the model reads, or a result. */
export type HookDecision = { refuse: string } | { result: ToolResult };

/** A child made up by a call works with its parent's tools, so the guards of the parent apply here; the watching hooks do not. */
export function guardsOf(hooks: Hooks | undefined): Hooks | undefined {
  if (hooks?.beforeToolCall === undefined && hooks?.afterToolCall === undefined) return undefined;
  const guards: Hooks = {};
  if (hooks.beforeToolCall !== undefined) guards.beforeToolCall = (call) => hooks.beforeToolCall?.(call);
  if (hooks.afterToolCall !== undefined) guards.afterToolCall = (call, result) => hooks.afterToolCall?.(call, result);
  return guards;
}
