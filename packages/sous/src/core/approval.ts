/** Who decides about a tool call before it runs: rules, the person at the root, and the hooks of an agent. */

import type { SousEvent } from "./event.ts";
import type { ToolOrigin, ToolResult } from "./tool.ts";

/** One call before it runs, the same for the rules and for the person. */
export type ApprovalRequest = {
  readonly runId: string;
  /** Which run asks: the full path from the root. */
  readonly path: string;
  /** The name of the definition that it follows; `subagent` for a child made up by a call. */
  readonly agent: string;
  /** The same of every run above it, from the root down: what binds one of them binds this call. */
  readonly above: readonly string[];
  readonly callId: string;
  readonly toolName: string;
  /** Where the tool comes from, when it is a server's. */
  readonly origin?: ToolOrigin | undefined;
  /** The parsed input: exactly what would run. */
  readonly input: unknown;
  /** The working directory where it would run. */
  readonly cwd: string;
  /** Why the person is asked, where a rule or the tool says so; shown with the action. */
  readonly reason?: string | undefined;
  /** The tool itself asks, for this reason: a rule that allows is no answer to it, one that denies is. */
  readonly isFromTool?: true | undefined;
};

/**
 * The person's answer; `reason` is shown to the model. `later` leaves the question open: the tree stops once nothing else in
 * it is at work, its result lists the question, and `resume` of any process takes the answer.
 */
export type ApprovalAnswer = GivenAnswer | "later";

/** An answer that decides. */
export type GivenAnswer = { allow: true } | { allow: false; reason?: string | undefined };

/** An answer that `resume` was given; `toolReason` is what the tool itself had asked about. */
export type LateAnswer = { readonly answer: GivenAnswer; readonly toolReason: string | undefined };

/** A question without an answer in a stored tree. */
export type OpenQuestion = {
  /** Unique in its tree, and the same for as long as the question is open. */
  id: string;
  /** Which run asks. */
  path: string;
  toolName: string;
  /** What would run, without secrets. */
  input: unknown;
  /** The same in one line, for a person. */
  action: string;
};

/** Asks the person. Aborting `signal` withdraws the question. */
export type Approve = (request: ApprovalRequest, signal: AbortSignal) => Promise<ApprovalAnswer> | ApprovalAnswer;

/** What the rules of the user say about a call. */
export type RuleAnswer =
  | { effect: "allow" }
  /** `reason` names the rule; without it the action speaks for itself. `advice` is for the model, when no one can be asked. */
  | { effect: "ask"; reason?: string | undefined; advice?: string | undefined }
  | { effect: "deny"; reason: string };

/** Deny wins over ask, and ask over allow. */
export function stricter(one: RuleAnswer | undefined, other: RuleAnswer | undefined): RuleAnswer | undefined {
  for (const effect of ["deny", "ask", "allow"] as const) {
    if (one?.effect === effect) return one;
    if (other?.effect === effect) return other;
  }
  return undefined;
}

/** Rules before the person. Undefined leaves a call to the tier of its tool. */
export type ApprovalPolicy = {
  decide(request: ApprovalRequest): RuleAnswer | undefined;
  /** Without it the answer is no. */
  ask?: Approve | undefined;
  /**
   * After a restart, the person is asked again about a call that the store says was allowed: for stores that may come from
   * others. When unset, a call is asked about once.
   */
  asksAgain?: boolean | undefined;
};

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

/** Instead of the call: a refusal that the model reads, or a result. */
export type HookDecision = { refuse: string } | { result: ToolResult };

/** A child made up by a call works with its parent's tools, so the guards of the parent apply here; the watching hooks do not. */
export function guardsOf(hooks: Hooks | undefined): Hooks | undefined {
  if (hooks?.beforeToolCall === undefined && hooks?.afterToolCall === undefined) return undefined;
  const guards: Hooks = {};
  if (hooks.beforeToolCall !== undefined) guards.beforeToolCall = (call) => hooks.beforeToolCall?.(call);
  if (hooks.afterToolCall !== undefined) guards.afterToolCall = (call, result) => hooks.afterToolCall?.(call, result);
  return guards;
}
