/** What a tree may spend: a tree of accounts in which no run can take what another has reserved. */

import { NO_AMOUNT, toNanoUsd, toUsd } from "../core/amount.ts";
import { BudgetExceeded } from "../core/errors.ts";
import {
  type Budget,
  checkBudget,
  type Holding,
  type HoldingState,
  type Lease,
  type Ledger,
  type LimitState,
  type Spent,
  type StartAsk,
  type Started,
} from "../core/limits.ts";
import { cannotShare, Funds } from "./funds.ts";
import { Holder } from "./holder.ts";
import { Line, type OnNear } from "./line.ts";
import { exceededAt, isNear, Meter } from "./meter.ts";
import type { PurseLine } from "./purse-line.ts";
import type { Slots } from "./run-slots.ts";

/** What the accounts of a tree have in common. */
type LedgerParts = {
  readonly slots: Slots;
  /** What the tree shares with others. */
  readonly purse?: PurseLine | undefined;
  /** Told once for each limit that most of is spent, with the run that came near it. */
  readonly onNear?: OnNear | undefined;
};

/** The account of a root. Time is not kept here but by the deadlines of the tree. */
export function openLedger(budget: Budget, parts: LedgerParts): Ledger {
  const line = new Line(parts.slots, parts.purse, parts.onNear ?? (() => {}));
  const shared = parts.purse && new Funds(parts.purse.meters);
  const root = new LedgerAccount({ line, purse: parts.purse }, shared, []);
  return root.openAs("tree", budget, undefined, true);
}

/** How many children may start. */
type Executions = {
  readonly of: string;
  readonly limit: number;
  /** Those that are set aside included. */
  started: number;
  /** For children that wait to start. */
  aside: number;
  /** People know that most of them have started. */
  isTold: boolean;
};

type Common = { readonly line: Line; readonly purse: PurseLine | undefined };

class LedgerAccount implements Ledger {
  /** Undefined when neither tokens nor money are limited here or above. */
  readonly #funds: Funds | undefined;
  readonly #executions: readonly Executions[];
  readonly #common: Common;
  readonly isMetered: boolean;

  constructor(common: Common, funds: Funds | undefined, executions: readonly Executions[]) {
    this.#common = common;
    this.#funds = funds;
    this.#executions = executions;
    this.isMetered = funds !== undefined;
  }

  open(budget: Budget, { path, above }: { path: string; above: Holding | undefined }): Ledger {
    return this.openAs(path, budget, above instanceof Holder ? above : undefined);
  }

  openAs(of: string, budget: Budget, above?: Holder, isOfAll = false): Ledger {
    checkBudget(budget);
    const meters = metersOf(budget, of);
    for (const own of meters) {
      own.isOfAll = isOfAll;
      for (const [index, meter] of (this.#funds?.meters ?? []).entries()) {
        if (meter.unit === own.unit && cannotShare(meter, index, own.limit, above))
          throw exceededAt(meter.state(), { ...NO_AMOUNT, [own.unit]: own.limit }, true);
      }
    }
    const executions = isLimited(budget.executions)
      ? [{ of, limit: budget.executions, started: 0, aside: 0, isTold: false }]
      : [];
    for (const { limit } of executions) this.#checkExecutions(limit);
    // A child without limits of its own is its parent's account: a wide tree costs nothing.
    if (meters.length + executions.length === 0) return this;
    const funds = meters.length === 0 ? this.#funds : new Funds(meters, this.#funds);
    return new LedgerAccount(this.#common, funds, [...this.#executions, ...executions]);
  }

  startExecution(): void | Promise<void> {
    for (const { limit, started } of this.#executions) {
      if (started >= limit) throw new BudgetExceeded("executions", started, limit);
    }
    this.#setAside(1);
    return this.#common.purse === undefined ? undefined : this.#startShared(this.#common.purse);
  }

  #startShared(purse: PurseLine): void | Promise<void> {
    const undo = (error: unknown): never => {
      this.#setAside(-1);
      throw error;
    };
    try {
      const starting = purse.startExecution(this.#common.line);
      return starting instanceof Promise ? starting.catch(undo) : starting;
    } catch (error) {
      return undo(error);
    }
  }

  useExecution(): void {
    for (const executions of this.#executions) {
      executions.aside -= 1;
      const state = stateOf(executions);
      // When none is left, the next refusal says so.
      if (executions.isTold || !isNear(state) || state.spent >= state.limit) continue;
      executions.isTold = true;
      this.#common.line.onNear(state, undefined);
    }
  }

  undoExecution(): void {
    this.#setAside(-1);
    this.#common.purse?.undoExecution();
  }

  countExecution(): void {
    for (const executions of this.#executions) executions.started += 1;
  }

  #setAside(change: 1 | -1): void {
    for (const executions of this.#executions) {
      executions.started += change;
      executions.aside += change;
    }
  }

  enter(path: string): Holding {
    if (this.#funds === undefined) return FREE_HOLDING;
    const holder = new Holder(path, this.#funds, this.#common.line, undefined);
    holder.enter();
    return holder;
  }

  start(ask: StartAsk): Started | Promise<Started> {
    ask.scope.throwIfAborted();
    const { line } = this.#common;
    const above = ask.above instanceof Holder ? ask.above : undefined;
    if (this.#funds !== undefined) return line.start(new Holder(ask.path, this.#funds, line, above), ask);
    if (line.slots.free > 0 && line.waitsToStart === 0)
      return { holding: FREE_HOLDING, slot: line.slots.take(), first: undefined };
    const waiting = line.start(new Holder(ask.path, NO_FUNDS, line, undefined), { ...ask, need: undefined });
    return waiting instanceof Promise ? waiting.then(withoutCounting) : withoutCounting(waiting);
  }

  charge({ tokens, costUsd }: Spent): void {
    for (const meter of this.#funds?.meters ?? []) {
      // What a tree had spent before a restart, the purse has counted then.
      if (this.#common.purse?.meters.includes(meter)) continue;
      meter.spent += meter.unit === "tokens" ? tokens : toNanoUsd(costUsd);
    }
    this.#common.line.changed();
  }

  limitsMoney(): boolean | Promise<boolean> {
    const isLimitedHere = this.#limited().some(({ unit }) => unit === "nanoUsd");
    return isLimitedHere || (this.#common.purse?.limitsMoney() ?? false);
  }

  /** What is neither spent nor reserved; a limit that is not set is not mentioned. */
  left(): Budget {
    const left: Budget = {};
    for (const { unit, free } of this.#limited()) {
      const [name, amount] = unit === "tokens" ? (["tokens", free] as const) : (["costUsd", toUsd(free)] as const);
      left[name] = Math.max(0, Math.min(left[name] ?? amount, amount));
    }
    for (const { limit, started } of this.#executions) {
      left.executions = Math.max(0, Math.min(left.executions ?? limit, limit - started));
    }
    return left;
  }

  limits(): LimitState[] {
    const money = this.#limited().map((meter) => meter.state());
    return [...money, ...this.#executions.map(stateOf), ...(this.#common.purse?.limits() ?? [])];
  }

  holdings(): HoldingState[] {
    return [...this.#common.line.holders].map((holder) => holder.state());
  }

  flushed(): Promise<void> | undefined {
    return this.#common.purse?.flushed(this.#common.line);
  }

  #limited(): Meter[] {
    return this.#funds?.meters.filter(({ limit }) => limit !== Number.POSITIVE_INFINITY) ?? [];
  }

  #checkExecutions(asked: number): void {
    for (const { limit, started } of this.#executions) {
      if (started + asked > limit) throw new BudgetExceeded("executions", started + asked, limit);
    }
  }
}

function stateOf({ of, limit, started, aside }: Executions): LimitState {
  return { of, unit: "executions", limit, spent: started - aside, reserved: aside };
}

/** Of a child without limits that had to wait for its slot: from then on it is counted nowhere. */
function withoutCounting({ holding, slot }: Started): Started {
  holding[Symbol.dispose]();
  return { holding: FREE_HOLDING, slot, first: undefined };
}

const NO_FUNDS = new Funds([]);

/** Shared by all runs that need not count: it covers any output. */
const FREE_LEASE: Lease = Object.freeze({
  outputCap: Number.POSITIVE_INFINITY,
  settle: () => {},
  [Symbol.dispose]: () => {},
});

const NOTHING_HELD: Disposable = Object.freeze({ [Symbol.dispose]: () => {} });

const FREE_HOLDING: Holding = Object.freeze({
  reserve: () => FREE_LEASE,
  keep: () => {},
  takeStep: () => {},
  runCall: () => NOTHING_HELD,
  wait: () => NOTHING_HELD,
  [Symbol.dispose]: () => {},
});

function metersOf({ tokens, costUsd }: Budget, of: string): Meter[] {
  const meters: Meter[] = [];
  if (isLimited(tokens)) meters.push(new Meter("tokens", Math.floor(tokens), of));
  if (isLimited(costUsd)) meters.push(new Meter("nanoUsd", toNanoUsd(costUsd), of));
  return meters;
}

function isLimited(limit: number | undefined): limit is number {
  return limit !== undefined && limit !== Number.POSITIVE_INFINITY;
}

/** A limit for children that is wider than the whole budget says nothing: the budget rules. */
export function withinBudget(children: Budget, whole: Budget): Budget {
  return {
    tokens: ifNarrower(children.tokens, whole.tokens),
    costUsd: ifNarrower(children.costUsd, whole.costUsd),
    executions: ifNarrower(children.executions, whole.executions),
  };
}

function ifNarrower(limit: number | undefined, whole: number | undefined): number | undefined {
  return limit !== undefined && whole !== undefined && limit > whole ? undefined : limit;
}
