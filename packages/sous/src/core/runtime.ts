/** The library as its users see it: what a runtime is made of, what a run takes and what comes back. */

import { type AgentDefinition, DEFINITION, DEFINITIONS } from "./agent.ts";
import type { ApprovalAnswer, ApprovalPolicy, Approve, OpenQuestion } from "./approval.ts";
import type { Host } from "./clock.ts";
import type { ConversationLimits } from "./conversation.ts";
import type { Engine } from "./engine.ts";
import type { ErrorType } from "./errors.ts";
import type { EventListener, SousEvent } from "./event.ts";
import type { ExternalAgents } from "./external-agent.ts";
import type { Budget, OnExhausted, SpendingState } from "./limits.ts";
import { USER_INPUT, type UserInput } from "./message.ts";
import {
  eitherOf,
  FLAG,
  functionOf,
  listOf,
  type OptionKind,
  type OptionKinds,
  objectOf,
  recordOf,
  SIGNAL,
  TEXT,
  TEXTS,
  wholeNumber,
  withFunctions,
  wordOf,
} from "./option-kinds.ts";
import type { RunStatus, StopReason } from "./outcome.ts";
import type { RootBudget, SharedBudget } from "./shared-budget.ts";
import type { CancelMode } from "./spawn.ts";
import type { Store } from "./store.ts";
import { noUsage, PRICE, type Price, type Usage } from "./usage.ts";
import { type DelegationLimits, SHARED } from "./words/limits.ts";
import type { ModelErrorKind } from "./words/model-errors.ts";

/** The models that calls may name, and the prices of models. */
export type ModelOptions = {
  /**
   * Models that a call may name besides those of its run's own provider: `provider/model`, or `provider/*` for all of one. A run
   * on a model object has no provider that a name leads to. Definitions are not calls: they name what they like.
   */
  allow?: readonly string[] | undefined;
  /** US dollars per million tokens, by `provider/model`. Goes before the price of a model object and before the shipped table. */
  prices?: Readonly<Record<string, Price>> | undefined;
  /** External agents, for definitions with `model: "external/NAME"`: a client of `sous/acp`. */
  external?: ExternalAgents | undefined;
};

/** The parts that all runs of a runtime share. None is needed to begin. */
export type RuntimeOptions = {
  /** The store; in memory when unset, where everything stays as long as the runtime exists: some 2 KB for each turn. */
  store?: Store | undefined;
  /** A store that fails ends the run as `failed`; when unset the run continues and is marked as not stored. */
  requireStore?: boolean | undefined;
  /** Answers for `confirm` tools: a function that asks, or rules and a function. When unset the answer is no. */
  approve?: Approve | ApprovalPolicy | undefined;
  /** Depth, width, turns and reports of children. */
  limits?: Partial<DelegationLimits> | undefined;
  /** Definitions that calls, `resume` and `fork` may name; none when unset. */
  agents?: readonly AgentDefinition[] | undefined;
  models?: ModelOptions | undefined;
  /** Model calls at once, per model; 16 when unset. */
  maxConcurrentCalls?: number | undefined;
  /** Called with every event of every tree of the runtime, before the `onEvent` of the call: for logs, traces, metrics. */
  onEvent?: RunOptions["onEvent"];
  /** Places children whose agent asks for it, and roots that are submitted, on workers: `storeEngine(store)` of `sous/engine`. */
  engine?: Engine | undefined;
  /** Clock, randomness, working directory, variables: a test's own, or the machine's. */
  host?: Partial<Host> | undefined;
};

/** The options of one run. */
export type RunOptions = {
  /** Aborting it cancels the run. */
  signal?: AbortSignal | undefined;
  /** The budget of the whole tree, the root included; unlimited when unset. */
  budget?: RootBudget | undefined;
  /** The ending of a run whose budget is spent; `wrap-up` when unset. */
  onExhausted?: OnExhausted | undefined;
  /** Called with every event of the tree; several in their order. One that throws or rejects changes nothing. */
  onEvent?: EventListener | readonly EventListener[] | undefined;
  /** Limits on the length of the conversation of each run. */
  conversation?: Partial<ConversationLimits> | undefined;
  /** The treatment of background children when their parent has nothing more to do; `wait` when unset. */
  onLiveChildren?: "wait" | "cancel" | undefined;
  /** True: the run fails when a child below it fails, whatever its own answer is. One that was cancelled is no failure. */
  requireAll?: boolean | undefined;
  /** The limits that replace the runtime's own `limits`, value by value, for this run. */
  limits?: Partial<DelegationLimits> | undefined;
};

/** An id that was given away before the run began, such as that of a session of an editor. */
export type ReservedId = {
  /** The id of the root: a ULID that no run has yet; made when unset. */
  rootId?: string | undefined;
};

/** The options of a stored run that is continued. Limits, budget, rights and depth of its tree are those from before. */
export type ResumeOptions = Pick<RunOptions, "signal" | "onEvent"> & {
  /** The definition of the root, when it is not among the `agents` of the runtime. */
  agent?: AgentDefinition | undefined;
  /** The message for a run that had ended; one that was interrupted continues without a message. */
  message?: UserInput | undefined;
  /** Raises each limit that the tree has. */
  addBudget?: Budget | undefined;
  /** The answers by the ids of the questions. Open questions without an answer here are put to `approve` again. */
  answers?: Readonly<Record<string, Exclude<ApprovalAnswer, "later">>> | undefined;
  /** The budget that the tree shares with others; one that drew on a shared budget continues only with one. */
  sharedBudget?: SharedBudget | undefined;
  /** The message asks for a summary: what is said afterwards continues from the answer alone. */
  summarizes?: boolean | undefined;
};

/** The options of a new tree that branches off a stored run. */
export type ForkOptions = Pick<RunOptions, "signal" | "onEvent" | "budget" | "limits"> &
  Pick<ResumeOptions, "agent" | "message" | "summarizes"> & {
    /** The last turn of the run that the new one remembers; all of them when unset. */
    afterTurn?: number | undefined;
  };

const LISTENER: OptionKind<EventListener> = functionOf();
const LISTENERS = eitherOf(LISTENER, listOf("functions", LISTENER));

/** The options with their kinds, for the check of what is given. */
export const MODEL_OPTIONS: OptionKinds<ModelOptions> = {
  allow: TEXTS,
  prices: recordOf("prices (input and output, each 0 or more)", PRICE),
  external: withFunctions("externalAgent"),
};
export const RUNTIME_OPTIONS: OptionKinds<RuntimeOptions> = {
  store: withFunctions("append", "read", "run"),
  requireStore: FLAG,
  approve: eitherOf(functionOf<Approve>(), withFunctions<ApprovalPolicy>("decide")),
  limits: objectOf(),
  agents: DEFINITIONS,
  models: objectOf(),
  maxConcurrentCalls: wholeNumber(1),
  onEvent: LISTENERS,
  engine: withFunctions("continueRun"),
  host: objectOf(),
};
export const RUN_OPTIONS: OptionKinds<RunOptions & ReservedId> = {
  signal: SIGNAL,
  budget: objectOf(),
  onExhausted: wordOf("wrap-up", "stop"),
  onEvent: LISTENERS,
  conversation: objectOf(),
  onLiveChildren: wordOf("wait", "cancel"),
  requireAll: FLAG,
  limits: objectOf(),
  rootId: TEXT,
};
export const RESUME_OPTIONS: OptionKinds<ResumeOptions> = {
  signal: SIGNAL,
  onEvent: LISTENERS,
  agent: DEFINITION,
  message: USER_INPUT,
  addBudget: objectOf(),
  answers: objectOf("an object: the id of each question, with its answer"),
  summarizes: FLAG,
  sharedBudget: SHARED,
};
export const FORK_OPTIONS: OptionKinds<ForkOptions> = {
  signal: SIGNAL,
  onEvent: LISTENERS,
  budget: objectOf(),
  limits: objectOf(),
  afterTurn: wholeNumber(0),
  agent: DEFINITION,
  message: USER_INPUT,
  summarizes: FLAG,
};

/** One agent of a finished tree; the sum over all of them is the usage of the tree. */
export type AgentSummary = {
  id: string;
  parentId: string | null;
  path: string;
  label: string;
  depth: number;
  status: RunStatus | "running";
  turns: number;
  toolCount: number;
  usage: Usage;
  costUsd: number | null;
  durationMs: number;
  /** The reason why its last run gave no usable result. */
  error?: { type: ErrorType; message: string; kind?: ModelErrorKind | undefined } | undefined;
};

/** The result of a run. */
export type RunResult<Output = unknown> = {
  status: RunStatus;
  stopReason: StopReason | undefined;
  text: string;
  output: Output | undefined;
  /** The whole tree. */
  usage: Usage;
  /** The whole tree; null when a price is unknown. */
  costUsd: number | null;
  turns: number;
  durationMs: number;
  runId: string;
  agents: AgentSummary[];
  /** Actions that needed approval when no one could be asked; `toolReason` is why the tool itself asked, whatever rules allow. */
  denied: { path: string; toolName: string; input: unknown; toolReason?: string | undefined }[];
  /** The calls that wait for an answer which comes later: `resume` takes it. Only of a run that stopped for that. */
  questions: OpenQuestion[];
  /** `kind` is the failure of the provider, or `taken_over` when another process continues the same run. */
  error: { type: ErrorType; message: string; kind?: ModelErrorKind | "taken_over" | undefined } | undefined;
  /** The reason why not everything that happened was kept; such a tree cannot be continued. */
  lost: string | undefined;
};

/** The result of a run that never began, or did not report its end. */
export function withoutRun(status: RunStatus, error: NonNullable<RunResult["error"]>): RunResult<never> {
  return {
    status,
    stopReason: undefined,
    text: "",
    output: undefined,
    usage: noUsage(),
    costUsd: 0,
    turns: 0,
    durationMs: 0,
    runId: "",
    agents: [],
    denied: [],
    questions: [],
    error,
    lost: undefined,
  };
}

/** Rejection of a run that ended as `failed`; it carries the result all the same. */
export class RunError extends Error {
  override name = "RunError";
  readonly result: RunResult;

  constructor(message: string, result: RunResult, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.result = result;
  }
}

/**
 * A live run: await it, iterate it, talk to it. The first iteration begins with the first event of the run, also when the
 * run is over by then: earlier events are read from the store. Deltas are not stored, so it has those from its own
 * beginning on; the whole text is in `message-end`. Further iterations begin with the next event. All end with the run's
 * `run-end`, or with its `park`. A run that cannot begin ends the loop at once without an event, and awaiting it rejects.
 * Leaving the loop does not stop the run. What is said cannot be empty.
 */
export type RunHandle<Output = unknown> = PromiseLike<RunResult<Output>> &
  AsyncIterable<SousEvent> & {
    readonly id: string;
    /** Resolves with the result of a run that began, whatever its ending. Rejects when it could not begin. */
    readonly result: Promise<RunResult<Output>>;
    catch<T>(onRejected: (error: unknown) => T): Promise<RunResult<Output> | T>;
    finally(onFinally: () => void): Promise<RunResult<Output>>;
    /** Says something to a live run; it reads it before its next turn. False when there is no such run. */
    steer(path: string, text: string): boolean;
    /** Stops the run at `path`, or the whole tree. */
    cancel(path?: string, options?: { mode?: CancelMode }): boolean;
    /** A further message to a child. Resolves with the whole answer of one that had finished; a live one reads it, and "" comes back. */
    send(path: string, message: string): Promise<string>;
    /** Every limit that holds in the tree, what is used and reserved of it, and which run holds what. */
    spending(): SpendingState;
    /** Continues the same conversation after the end. One that waits for an answer is continued by `resume`. */
    followUp(message: UserInput, options?: Pick<ResumeOptions, "summarizes">): RunHandle<Output>;
  };
