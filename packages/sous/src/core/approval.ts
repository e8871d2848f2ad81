/**
 * Approval of a tool call before it runs, by rules, the person at the root and the hooks of an agent; and the questions of a tree
 * that have no answer, a fold over its events. A tree with one waits, also when its process was killed.
 */

import type { EventOf, SousEvent, StoredBody, StoredEvent } from "./event.ts";
import { isExternalModel } from "./model.ts";
import type { ToolOrigin, ToolResult } from "./tool.ts";

/** One call before it runs, the same for the rules and for the person. */
export type ApprovalRequest = {
  readonly runId: string;
  /** The run that asks: its full path from the root. */
  readonly path: string;
  /** The name of the definition that it follows; `subagent` for a child made up by a call. */
  readonly agent: string;
  /** The same of every run above it, from the root down: what binds one of them binds this call. */
  readonly above: readonly string[];
  readonly callId: string;
  readonly toolName: string;
  /** The origin of the tool, when it is a server's. */
  readonly origin?: ToolOrigin | undefined;
  /** The parsed input: exactly what would run. */
  readonly input: unknown;
  /** The files that it leads to, looked up before the person is asked; undefined before that, and for a call about none. */
  readonly target?: CallTarget | undefined;
  /**
   * The real paths of `cwd`, and of the file or folder of the call, where they have been looked up: once for each question of an
   * external agent.
   */
  readonly real?: { readonly cwd: string; readonly path?: string | undefined } | undefined;
  /** Eight hexadecimal digits over all that the person is asked to allow; set when the person is asked. */
  readonly digest?: string | undefined;
  /** The working directory where it would run. */
  readonly cwd: string;
  /** The reason why the person is asked, where a rule or the tool gives one; shown with the action. */
  readonly reason?: string | undefined;
  /** An external agent asks, and acts by itself: no tool of ours stands behind the call. */
  readonly isExternal?: true | undefined;
  /**
   * The tool itself asks, for this reason, or it is not known what an external agent would do: a rule that allows is no answer to
   * it, one that denies is.
   */
  readonly isFromTool?: true | undefined;
};

/**
 * The files that a call of a file tool or a command leads to at one moment. An answer counts for the target it was given for: another one is
 * another question.
 */
export type CallTarget = {
  /**
   * Real paths, absolute and without links: the file or folder; of a command its folder, the files that it opens, and the paths of its
   * words that lead through a link.
   */
  readonly paths: readonly string[];
  /** The hash of the file that an edit changes; undefined when there is none. */
  readonly sha256?: string | undefined;
};

/** The reason why a call is asked about again. */
export const HAS_CHANGED = "what it leads to has changed since you were asked";

/**
 * The person's answer; `reason` is shown to the model. `later` leaves the question open: the tree stops once nothing else in
 * it is at work, its result lists the question, and `resume` of any process takes the answer.
 */
export type ApprovalAnswer = { allow: true } | { allow: false; reason?: string | undefined } | "later";

/** An answer that decides. */
export type GivenAnswer = Exclude<ApprovalAnswer, "later">;

/** An answer that `resume` was given; `toolReason` is what the tool itself had asked about. */
export type LateAnswer = { readonly answer: GivenAnswer; readonly toolReason: string | undefined };

/** A question without an answer in a stored tree. */
export type OpenQuestion = {
  /** Unique in its tree, and the same for as long as the question is open. */
  id: string;
  /**
   * Eight hexadecimal digits over the run, the call, its input and what it leads to. A yes to a question whose `action` has several
   * lines is given as `id:digest`, which stands behind its last line; to any other one as `id`.
   */
  digest: string;
  /** The run that asks. */
  path: string;
  toolName: string;
  /** The call that would run, without secrets. */
  input: unknown;
  /** The whole of it for a person: one line of up to 400 characters, or several. */
  action: string;
};

/** The key of an answer in `resume`: the id of the question, or `id:digest`. */
export type AnswerKey = { readonly id: string; readonly digest: string | undefined };

export function toAnswerKey(text: string): AnswerKey {
  const [, id = text, digest] = /^(.*):([0-9a-fA-F]{8})$/.exec(text) ?? [];
  return { id, digest: digest?.toLowerCase() };
}

/** True for a question that a person has read whole when they have seen it at all: its id alone answers it. */
export function isShort({ action }: Pick<OpenQuestion, "action">): boolean {
  return !action.includes("\n");
}

/** Asks the person. Aborting `signal` withdraws the question. */
export type Approve = (request: ApprovalRequest, signal: AbortSignal) => Promise<ApprovalAnswer> | ApprovalAnswer;

/** The answer of the user's rules to a call. */
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
  /** Called again right before the person is asked: by then it may know the answer to an earlier question. */
  decide(request: ApprovalRequest): RuleAnswer | undefined;
  /** The function that asks the person; without it the answer is no. */
  ask?: Approve | undefined;
  /**
   * True: the person is asked again after a restart about a call that the store says was allowed, for stores that may come from
   * others. A call is asked about once when unset.
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

/** The answer of a hook instead of the call: a refusal that the model reads, or a result. */
export type HookDecision = { refuse: string } | { result: ToolResult };

/** A child made up by a call works with its parent's tools, so the guards of the parent apply here; the watching hooks do not. */
export function guardsOf(hooks: Hooks | undefined): Hooks | undefined {
  if (hooks?.beforeToolCall === undefined && hooks?.afterToolCall === undefined) return undefined;
  const guards: Hooks = {};
  if (hooks.beforeToolCall !== undefined) guards.beforeToolCall = (call) => hooks.beforeToolCall?.(call);
  if (hooks.afterToolCall !== undefined) guards.afterToolCall = (call, result) => hooks.afterToolCall?.(call, result);
  return guards;
}

/** A question as it is stored, and the run that asks. */
export type AskedCall = Extract<StoredBody, { type: "approval-request" }> & { readonly runId: string };

/** The target of a question that waits for its answer. */
export type WatchedTarget = Disposable & {
  readonly target: CallTarget | undefined;
  /** True when the call would no longer do what was asked. */
  hasChanged(): boolean;
};

/** The reason against a call. `refuse`: the call is never made. `unclear`: only a person can tell what is meant. */
export type TargetProblem = { readonly effect: "refuse" | "unclear"; readonly reason: string };

/** Questions to a person, and what the calls that they are about lead to. */
export type QuestionPorts = {
  /** The digest of a question; undefined for one that is too long for a person. */
  digest(asked: AskedCall): string | undefined;
  watch(request: ApprovalRequest): WatchedTarget;
  /**
   * Called before a tool runs. Call the result once the tool has run: edits of the same file that wait for an answer then expect
   * what it has written.
   */
  followWrite(request: () => ApprovalRequest): (() => void) | undefined;
  /** The request of an external agent with the paths that it leads to now. */
  located(request: ApprovalRequest): ApprovalRequest;
  /** True when the call leads there now; so does every call for a target that is not known. */
  leadsTo(target: CallTarget | undefined, request: ApprovalRequest): boolean;
  /** The reason against an action of an external agent, whatever rules and people allow. `others` are paths that its path may be, too. */
  externalProblem(request: ApprovalRequest, others?: readonly string[]): TargetProblem | undefined;
  /** The same action for each other path that programs may take its path for: the rules that deny and ask hold for them. */
  otherReadings(request: ApprovalRequest, others?: readonly string[]): ApprovalRequest[];
};

/** The run that asks, and the call it asks about. The path is there for the end of a run above it. */
export type UnansweredQuestion = { readonly runId: string; readonly path: string; readonly callId: string };

/** Open questions by run and call: a question that is asked again after a restart is still one question. */
export type OpenQuestions<Kept extends UnansweredQuestion = UnansweredQuestion> = Map<string, Kept>;

/**
 * Adds the next event of the tree, in place. True when that opened or closed a question. `toKept` makes what is kept of a
 * question that is asked, or asked again; undefined for one that is not kept.
 */
export function addToQuestions<Kept extends UnansweredQuestion>(
  open: OpenQuestions<Kept>,
  event: StoredEvent,
  toKept: (asked: EventOf<"approval-request">, before: Kept | undefined) => Kept | undefined,
): boolean {
  switch (event.type) {
    case "approval-request": {
      const key = keyOfQuestion(event);
      const before = open.get(key);
      const kept = toKept(event, before);
      if (kept !== undefined) open.set(key, kept);
      return kept !== undefined && before === undefined;
    }
    case "approval-end":
      return open.delete(keyOfQuestion(event));
    case "tool-call-end":
      // External agents that a call handed tasks to were asked about as `call_1/0`.
      return close(open, ({ runId, callId }) => runId === event.runId && isWithin(callId, event.callId));
    case "run-end":
      return close(open, ({ runId, path }) => runId === event.runId || path.startsWith(`${event.path}/`));
    default:
      return false;
  }
}

/** A question as a store keeps it. An external agent asks again by itself, so its questions wait for no answer. */
export function toQuestion(
  { runId, path, callId }: EventOf<"approval-request">,
  model: string,
): UnansweredQuestion | undefined {
  return isExternalModel(model) ? undefined : { runId, path, callId };
}

/** True when the tree with these events has a question without an answer. `events` are all of the tree, in order. */
export function hasOpenQuestion(events: Iterable<StoredEvent>): boolean {
  const models = new Map<string, string>();
  const open: OpenQuestions = new Map();
  for (const event of events) {
    if (event.type === "run-start") models.set(event.runId, event.model);
    addToQuestions(open, event, (asked) => toQuestion(asked, models.get(asked.runId) ?? ""));
  }
  return open.size > 0;
}

export function keyOfQuestion({ runId, callId }: Pick<UnansweredQuestion, "runId" | "callId">): string {
  return `${runId}\n${callId}`;
}

function isWithin(callId: string, call: string): boolean {
  return callId === call || callId.startsWith(`${call}/`);
}

function close<Kept extends UnansweredQuestion>(
  open: OpenQuestions<Kept>,
  isClosed: (question: Kept) => boolean,
): boolean {
  const before = open.size;
  for (const [key, question] of open) if (isClosed(question)) open.delete(key);
  return open.size < before;
}
