/** Budgets as people give them, and the port of the ledger that keeps them. The limits of delegation are in `words/limits.ts`. */

import type { Amount } from "./amount.ts";
import type { Scope } from "./scope.ts";
import type { ChainLink } from "./shared-budget.ts";
import type { Price } from "./usage.ts";

/** Unset = unlimited. A child may be given less than what is left, never more. */
export type Budget = {
  /** Input and output tokens together. */
  tokens?: number | undefined;
  costUsd?: number | undefined;
  /** Wall time. For a root this is its deadline. */
  durationMs?: number | undefined;
  /** The number of children that may start. */
  executions?: number | undefined;
};

/** The ending when a budget is spent: `wrap-up` spends a kept reserve on one last turn without tools, `stop` ends at once. */
export type OnExhausted = "wrap-up" | "stop";

/** Output cap of a call when tokens or money are limited and its agent does not say. */
export const METERED_OUTPUT = 4096;

/** The need of one model call: its prompt, and as much output as can be had between the two bounds. */
export type CallNeed = {
  promptTokens: number;
  /** The most that is wanted. */
  outputCap: number;
  /** Output below this is not worth the call. */
  minOutput: number;
  price: Price | undefined;
  /** The most that the whole call may cost, where it is not counted by tokens. */
  wholeUsd?: number | undefined;
};

/** One request of a run: a call, and what it must keep for its last words from then on. */
export type CallAsk = {
  readonly need: CallNeed;
  /** The reserve of the run grows to this much together with the call. */
  readonly lastWords: Amount;
  /** Set for its last turn: the reserve is spent on it, and with this much output it does not wait for more. */
  readonly closing: { readonly enoughOutput: number } | undefined;
  /** The reservation that it gives back for this one: no later run gets it in between. */
  readonly replaces?: Lease | undefined;
  /** Called once, when it has to wait. */
  onWait(limit: LimitState): void;
};

/** The amounts that a call really took; `tokens` includes input and output. */
export type Spent = { tokens: number; costUsd: number | null };

/** A reservation. Settling returns the rest; disposing it unsettled returns all of it. */
export type Lease = Disposable & {
  /** Tokens of output that the reservation covers. */
  readonly outputCap: number;
  /** Keeps `lastWords` for the run out of what comes back, or as much of them as there is. */
  settle(spent: Spent, lastWords?: Amount): void;
};

/**
 * The part of its account that one run holds, and whether it moves or waits: only while nothing moves that draws on a limit may a
 * run be refused. Disposed at the end of the run.
 */
export type Holding = Disposable & {
  /** Waits in the order of the ledger; throws `BudgetExceeded`. */
  reserve(ask: CallAsk, scope: Scope): Lease | Promise<Lease>;
  /**
   * Keeps as much of this for the last words as is free, when a run continues after a restart. What others share in has to be
   * asked for, together with its next call.
   */
  keep(lastWords: Amount): void;
  /** The run does something else than ask: it runs a tool, or pauses before another attempt. */
  takeStep(): void;
  /** A tool call runs until it is disposed. From then on it waits for none of the children it has started. */
  runCall(callId?: string): Disposable;
  /** The run waits for children or for a slot until it is disposed; with a call, that call of it does. */
  wait(callId?: string): Disposable;
};

/** One limit as it stands. */
export type LimitState = {
  /** The owner of the limit: `tree`, `children`, the path of a run, or `shared budget NAME`. */
  readonly of: string;
  readonly unit: keyof Budget;
  readonly limit: number;
  readonly spent: number;
  /** The amount held by calls in flight and kept for last words; of executions, set aside for children that wait to start. */
  readonly reserved: number;
};

/** The amounts that one run holds now. */
export type HoldingState = {
  readonly path: string;
  /** The amounts reserved by its call in flight. */
  readonly inCall: { readonly tokens: number; readonly costUsd: number };
  /** The amounts reserved for its last words. */
  readonly kept: { readonly tokens: number; readonly costUsd: number };
  /** The limit it waits for. */
  readonly waitsFor: LimitState | undefined;
};

/** Every limit of a tree, and who holds what of it. Runs without a limit in tokens or money are not listed. */
export type SpendingState = { readonly limits: LimitState[]; readonly runs: HoldingState[] };

/** The request to start a child: all of it in one step. */
export type StartAsk = {
  readonly path: string;
  /** The parent of the run. */
  readonly above: Holding | undefined;
  /** The call of its parent that waits for it from now on, until it ends or is refused. Undefined in the background. */
  readonly callId?: string | undefined;
  /** The first call of the run. One that continues after a restart need not begin with one. */
  readonly need: CallNeed | undefined;
  /** It had started before a restart: its start is counted already, and it had its slot. */
  readonly isCounted?: boolean | undefined;
  readonly scope: Scope;
  /** Called once, when it has to wait for its budget. */
  onWait(limit: LimitState): void;
  /** Called at once when it will never start, before its parent hears of it. */
  onRefused(): void;
};

export type Started = { readonly holding: Holding; readonly slot: RunSlot; readonly first: Lease | undefined };

/**
 * One node of the ledger: what this part of the tree may spend. Taking from it takes from every ancestor, or from none. Only
 * where other processes share in it does it answer with promises, and then it can throw a `StoreError`.
 */
export type Account = {
  /** False when neither tokens nor money are limited here or above: reservations are then free and immediate. */
  readonly isMetered: boolean;
  /** The account of a child with its own, smaller budget. Throws `BudgetExceeded` when it could never have as much. */
  open(budget: Budget, child: { path: string; above: Holding | undefined }): Account;
  /** Sets an execution aside for one child. Throws `BudgetExceeded` when none is left. */
  startExecution(): void | Promise<void>;
  /** The child has started: the execution that was set aside for it is spent. */
  useExecution(): void;
  /** Takes it back for a child that never started, such as one cancelled while it waited. */
  undoExecution(): void;
  /** Counts a child that had started before a restart, whatever is left. Who shares in the account knows of it already. */
  countExecution(): void;
  /** A run that need not wait to start: a root. */
  enter(path: string): Holding;
  /**
   * A child starts when a slot and its first call can be had in one step. Throws `BudgetExceeded` when it could never be
   * paid, or when nothing moves and it came last.
   */
  start(ask: StartAsk): Started | Promise<Started>;
  /**
   * Counts what was spent without a reservation, such as a call found unsettled after a crash. Who shares in the account
   * knows of it already.
   */
  charge(spent: Spent): void;
  /** True when money is limited here, above, or by a budget that is shared: then nothing may be asked whose price is unknown. */
  limitsMoney(): boolean | Promise<boolean>;
  /** The budget that is left, without what others have who share in it. */
  left(): Budget;
  /** Every limit that holds here, from the top down. */
  limits(): LimitState[];
  /** The rows of a store that it draws on, from the top down: an account on these rows can be opened in another process. */
  chain(): readonly ChainLink[];
  /** Undefined when everything spent and given back so far is known to the processes that share it. Never rejects. */
  flushed(): Promise<void> | undefined;
};

/** The account of a root: with what only the tree itself does. */
export type Ledger = Account & {
  /** The account of all children together. */
  openAs(of: string, budget: Budget): Ledger;
  /** Lists which run holds what now. */
  holdings(): HoldingState[];
};

/** The right of one run to be at work. Disposing it gives it back. */
export type RunSlot = Disposable & {
  /** Gives the slot back while the run waits for a descendant or for an approval. Rests are counted: each needs its `wake`. */
  rest(): void;
  /**
   * Ends one rest. The last one takes a slot again, before runs that have not started; until then `holding` waits, or only
   * this call of it.
   */
  wake(scope: Scope, holding?: Holding, callId?: string): void | Promise<void>;
};

/** The number of agents above which one tool names them all: a tool each would fill the prompt. */
export const MAX_AGENT_TOOLS = 15;
