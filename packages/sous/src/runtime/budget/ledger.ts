/** The ledger of a tree: a tree of accounts in which no run can take what another has reserved. */

import { NO_AMOUNT, toNanoUsd, toUsd } from "../../core/amount.ts";
import { BudgetExceeded } from "../../core/errors.ts";
import type {
  Budget,
  Holding,
  HoldingState,
  Lease,
  Ledger,
  LimitState,
  Spent,
  StartAsk,
  Started,
} from "../../core/limits.ts";
import { checkBudget } from "../../core/words/limits.ts";
import { cannotShare, exceededAt, Funds, isNear, LimitMeter } from "./funds.ts";
import { Holder } from "./holder.ts";
import { BudgetQueue, type OnNear } from "./queue.ts";
import type { Slots } from "./run-slots.ts";
import type { SharedBudgetClient } from "./shared-budget-client.ts";

/** The parts that the accounts of a tree have in common. */
type LedgerParts = {
  readonly slots: Slots;
  /** The budget that the tree shares with others. */
  readonly shared?: SharedBudgetClient | undefined;
  /** Called once for each limit when most of it is spent, with the run that came near it. */
  readonly onNear?: OnNear | undefined;
};

/** The account of a root. Time is kept by the deadlines of the tree, not here. */
export function openLedger(budget: Budget, parts: LedgerParts): Ledger {
  const queue = new BudgetQueue(parts.slots, parts.shared, parts.onNear ?? (() => {}));
  const shared = parts.shared && new Funds(parts.shared.meters);
  const root = new LedgerAccount({ queue, shared: parts.shared }, shared, []);
  return root.openAs("tree", budget, undefined, true);
}

/** The number of children that may start. */
type Executions = {
  readonly of: string;
  readonly limit: number;
  /** Includes those set aside. */
  started: number;
  /** The number set aside for children that wait to start. */
  aside: number;
  /** People were notified that most of them have started. */
  isNotified: boolean;
};

type Common = { readonly queue: BudgetQueue; readonly shared: SharedBudgetClient | undefined };

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
      ? [{ of, limit: budget.executions, started: 0, aside: 0, isNotified: false }]
      : [];
    for (const { limit } of executions) this.#checkExecutions(limit);
    // A child without limits of its own is its parent's account: a wide tree costs nothing.
    if (meters.length + executions.length === 0) return this;
    const funds = meters.length === 0 ? this.#funds : new Funds(meters, this.#funds);
    return new LedgerAccount(this.#common, funds, [...this.#executions, ...executions]);
  }

  startExecution(): void | Promise<void> {
    for (const { limit, started } of this.#executions) {
      if (started >= limit) throw new BudgetExceeded("executions", started, limit); // guard: execution-limit
    }
    this.#setAside(1);
    return this.#common.shared === undefined ? undefined : this.#startShared(this.#common.shared);
  }

  #startShared(shared: SharedBudgetClient): void | Promise<void> {
    const undo = (error: unknown): never => {
      this.#setAside(-1);
      throw error;
    };
    try {
      const starting = shared.startExecution(this.#common.queue);
      return starting instanceof Promise ? starting.catch(undo) : starting;
    } catch (error) {
      return undo(error);
    }
  }

  useExecution(): void {
    for (const executions of this.#executions) {
      executions.aside -= 1;
      const state = stateOf(executions);
      // The next refusal reports it when none is left.
      if (executions.isNotified || !isNear(state) || state.spent >= state.limit) continue;
      executions.isNotified = true;
      this.#common.queue.onNear(state, undefined);
    }
  }

  undoExecution(): void {
    this.#setAside(-1);
    this.#common.shared?.undoExecution();
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
    const holder = new Holder(path, this.#funds, this.#common.queue, undefined);
    holder.enter();
    return holder;
  }

  start(ask: StartAsk): Started | Promise<Started> {
    ask.scope.throwIfAborted();
    const { queue } = this.#common;
    const above = ask.above instanceof Holder ? ask.above : undefined;
    if (this.#funds !== undefined) return queue.start(new Holder(ask.path, this.#funds, queue, above), ask);
    if (queue.slots.free > 0 && queue.waitsToStart === 0)
      return { holding: FREE_HOLDING, slot: queue.slots.take(), first: undefined };
    const waiting = queue.start(new Holder(ask.path, NO_FUNDS, queue, undefined), { ...ask, need: undefined });
    return waiting instanceof Promise ? waiting.then(withoutCounting) : withoutCounting(waiting);
  }

  charge({ tokens, costUsd }: Spent): void {
    for (const meter of this.#funds?.meters ?? []) {
      // The shared budget has already counted what a tree spent before a restart.
      if (this.#common.shared?.meters.includes(meter)) continue;
      meter.spent += meter.unit === "tokens" ? tokens : toNanoUsd(costUsd);
    }
    this.#common.queue.changed();
  }

  limitsMoney(): boolean | Promise<boolean> {
    const isLimitedHere = this.#limited().some(({ unit }) => unit === "nanoUsd");
    return isLimitedHere || (this.#common.shared?.limitsMoney() ?? false);
  }

  /** The rest that is neither spent nor reserved, without limits that are not set. */
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
    return [...money, ...this.#executions.map(stateOf), ...(this.#common.shared?.limits() ?? [])];
  }

  holdings(): HoldingState[] {
    return [...this.#common.queue.holders].map((holder) => holder.state());
  }

  flushed(): Promise<void> | undefined {
    return this.#common.shared?.flushed(this.#common.queue);
  }

  #limited(): LimitMeter[] {
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

/** Stops counting a child without limits that had to wait for its slot. */
function withoutCounting({ holding, slot }: Started): Started {
  holding[Symbol.dispose]();
  return { holding: FREE_HOLDING, slot, first: undefined };
}

const NO_FUNDS = new Funds([]);

/** Shared by all runs without limits: it covers any output. */
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

function metersOf({ tokens, costUsd }: Budget, of: string): LimitMeter[] {
  const meters: LimitMeter[] = [];
  if (isLimited(tokens)) meters.push(new LimitMeter("tokens", Math.floor(tokens), of));
  if (isLimited(costUsd)) meters.push(new LimitMeter("nanoUsd", toNanoUsd(costUsd), of));
  return meters;
}

function isLimited(limit: number | undefined): limit is number {
  return limit !== undefined && limit !== Number.POSITIVE_INFINITY;
}

/** Drops limits for children that are wider than the whole budget. */
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
