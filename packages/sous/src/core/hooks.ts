/** The two named points where a user's code may step in, and two where it may watch. */

import type { SousEvent } from "./event.ts";
import type { ToolResult } from "./tool.ts";

export type HookCall = {
  readonly callId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly path: string;
  readonly runId: string;
};

export type Hooks = {
  /** May refuse the call or answer it; returning nothing lets it run. A throw is a refusal with its message. */
  beforeToolCall?(call: HookCall): Promise<HookDecision | undefined> | HookDecision | undefined;
  /** May replace the result. */
  afterToolCall?(call: HookCall, result: ToolResult): Promise<ToolResult | undefined> | ToolResult | undefined;
  onEvent?(event: SousEvent): void;
  onError?(error: { message: string; path: string; runId: string }): void;
};

export type HookDecision = { refuse: string } | { result: ToolResult };

/** A child made up by a call works with its parent's tools, so what guards them there guards them here; nobody watches it. */
export function guardsOf(hooks: Hooks | undefined): Hooks | undefined {
  if (hooks?.beforeToolCall === undefined && hooks?.afterToolCall === undefined) return undefined;
  const guards: Hooks = {};
  if (hooks.beforeToolCall !== undefined) guards.beforeToolCall = (call) => hooks.beforeToolCall?.(call);
  if (hooks.afterToolCall !== undefined) guards.afterToolCall = (call, result) => hooks.afterToolCall?.(call, result);
  return guards;
}

/** Only for types: returns what it was given. */
export function defineHooks(hooks: Hooks): Hooks {
  return hooks;
}
