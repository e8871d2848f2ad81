/** The ledger of a tree: a tree of accounts in which no run can take what another has reserved. */

import { NO_AMOUNT, toNanoUsd, toUsd } from "../../core/amount.ts";
import type { Clock } from "../../core/clock.ts";
import { BudgetExceeded, UserError } from "../../core/errors.ts";
import type { Budget, Holding, HoldingState, Ledger, LimitState, Spent, StartAsk, Started } from "../../core/limits.ts";
import type { BudgetRows, ChainLink } from "../../core/shared-budget.ts";
import { checkBudget } from "../../core/words/limits.ts";
import { FREE_HOLDING } from "./free-holding.ts";
import { cannotShare, exceededAt, Funds, isNear, LimitMeter } from "./funds.ts";
import { Holder } from "./holder.ts";
import { BudgetQueue, type OnNear } from "./queue.ts";
import type { Slots } from "./run-slots.ts";
import { type SharedBudgetClient, type SharedChain, sharedBudgetClientOf } from "./shared-budget-client.ts";
import { RowFunds, RowMeter, type SharedRow } from "./shared-budget-row.ts";

/** The parts that the accounts of a tree have in common. */
type LedgerParts = {
  readonly slots: Slots;
  /** The rows of a store that the tree draws on besides its own budget. */
  readonly shared?: SharedChain | undefined;
  /** Keeps the budget of the tree, and each share of it, as rows of a store: `ID`, and `ID/path` for a share. */
  readonly stored?: { readonly rows: BudgetRows; readonly id: string; readonly clock: Clock } | undefined;
  /** Called once for each limit when most of it is spent, with the run that came near it, if that is known. */
  readonly onNear?: OnNear | undefined;
};

/** The account of a root. Time is kept by the deadlines of the tree, not here. */
export function openLedger(budget: Budget, parts: LedgerParts): Ledger {
  const { slots, stored, onNear = () => {} } = parts;
  const client = stored && sharedBudgetClientOf(stored.rows, stored.clock);
  if (client !== undefined && parts.shared !== undefined && parts.shared.client !== client)
    throw new UserError("A shared budget must be in the store of the tree that draws on it from several processes");
  const shared = parts.shared ?? (client && { client, rows: [] });
  const common = { queue: new BudgetQueue(slots, shared, onNear), client: shared?.client, storedAs: stored?.id };
  return new LedgerAccount(common, undefined, [], NO_ROWS)
    .within(shared?.rows ?? NO_ROWS)
    .openAs("tree", budget, undefined, true);
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

type Common = {
  readonly queue: BudgetQueue;
  readonly client: SharedBudgetClient | undefined;
  /** The id of the tree; set when its budget and its shares are rows of a store. */
  readonly storedAs: string | undefined;
};

const NO_ROWS: readonly SharedRow[] = [];

class LedgerAccount implements Ledger {
  /** Undefined when neither tokens nor money are limited here or above. */
  readonly #funds: Funds | undefined;
  readonly #executions: readonly Executions[];
  /** The rows of a store that it draws on, from the top down. */
  readonly #rows: readonly SharedRow[];
  readonly #common: Common;
  readonly isMetered: boolean;

  constructor(common: Common, funds: Funds | undefined, executions: readonly Executions[], rows: readonly SharedRow[]) {
    this.#common = common;
    this.#funds = funds;
    this.#executions = executions;
    this.#rows = rows;
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
      this.#checkShare(own, this.#funds?.local ?? [], above);
      this.#checkShare(own, this.#funds?.shared?.local ?? [], above);
    }
    const executions = isLimited(budget.executions)
      ? [{ of, limit: budget.executions, started: 0, aside: 0, isNotified: false }]
      : [];
    for (const { limit } of executions) this.#checkExecutions(limit);
    // A child without limits of its own is its parent's account: a wide tree costs nothing.
    if (meters.length + executions.length === 0) return this;
    const { client, storedAs } = this.#common;
    if (client !== undefined && storedAs !== undefined)
      return this.within([this.#openRow(client, storedAs, of, budget)]);
    const funds = meters.length === 0 ? this.#funds : new Funds(meters, this.#funds);
    return new LedgerAccount(this.#common, funds, [...this.#executions, ...executions], this.#rows);
  }

  #checkShare(own: LimitMeter, meters: readonly LimitMeter[], above: Holder | undefined): void {
    for (const [index, meter] of meters.entries()) {
      // The rest of a shared budget changes at any time: calls find out.
      if (meter instanceof RowMeter && meter.row.link.limits === undefined) continue;
      if (meter.unit === own.unit && cannotShare(meter, index, own.limit, above))
        throw exceededAt(meter.state(), { ...NO_AMOUNT, [own.unit]: own.limit }, true);
    }
  }

  /** An account that draws on these rows as well. */
  within(more: readonly SharedRow[]): LedgerAccount {
    if (more.length === 0) return this;
    const rows = [...this.#rows, ...more];
    const metered = rows.filter(({ ofCalls }) => ofCalls.length > 0);
    const shared = metered.length === 0 ? undefined : new RowFunds(metered);
    const funds = shared === undefined ? this.#funds : new Funds([], this.#funds, shared);
    return new LedgerAccount(this.#common, funds, this.#executions, rows);
  }

  #openRow(client: SharedBudgetClient, id: string, of: string, { tokens, costUsd, executions }: Budget): SharedRow {
    const isRoot = of === "tree";
    const row = client.open({ name: isRoot ? id : `${id}/${of}`, limits: { tokens, costUsd, executions } }, isRoot);
    row.tree = this.#common.queue;
    return row;
  }

  startExecution(): void | Promise<void> {
    for (const { limit, started } of this.#executions) {
      if (started >= limit) throw new BudgetExceeded("executions", started, limit); // guard: execution-limit
    }
    this.#setAside(1);
    return this.#common.client === undefined ? undefined : this.#startShared(this.#common.client);
  }

  #startShared(client: SharedBudgetClient): void | Promise<void> {
    const undo = (error: unknown): never => {
      this.#setAside(-1);
      throw error;
    };
    try {
      return client.startExecution(this.#rows)?.catch(undo);
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
    this.#common.client?.undoExecution(this.#rows);
  }

  countExecution(): void {
    for (const executions of this.#executions) executions.started += 1;
    for (const row of this.#rows) row.charge({ executions: 1 });
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
    const nanoUsd = toNanoUsd(costUsd);
    for (const meter of this.#funds?.local ?? []) meter.spent += meter.unit === "tokens" ? tokens : nanoUsd;
    for (const row of this.#rows) row.charge({ tokens, nanoUsd });
    this.#common.queue.changed();
  }

  limitsMoney(): boolean | Promise<boolean> {
    const isLimitedHere = this.#limited().some(({ unit }) => unit === "nanoUsd");
    return isLimitedHere || (this.#common.client?.limitsMoney(this.#rows) ?? false);
  }

  chain(): readonly ChainLink[] {
    return this.#rows.map(({ link }) => link);
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
    for (const { executions, link } of this.#rows) {
      if (link.limits?.executions === undefined) continue;
      left.executions = Math.max(0, Math.min(left.executions ?? executions.free, executions.free));
    }
    return left;
  }

  limits(): LimitState[] {
    const money = (this.#funds?.local ?? []).map((meter) => meter.state());
    return [...money, ...this.#executions.map(stateOf), ...this.#rows.flatMap((row) => row.limits())];
  }

  holdings(): HoldingState[] {
    return [...this.#common.queue.holders].map((holder) => holder.state());
  }

  flushed(): Promise<void> | undefined {
    return this.#common.client?.flushed();
  }

  /** The limits of the tree, its own and those of its rows. What a shared budget has left is not its own. */
  #limited(): LimitMeter[] {
    const ofRows = this.#rows.flatMap(({ link, ofCalls }) => (link.limits === undefined ? [] : ofCalls));
    return [...(this.#funds?.local ?? []), ...ofRows];
  }

  #checkExecutions(asked: number): void {
    for (const { limit, started } of this.#executions) {
      if (started + asked > limit) throw new BudgetExceeded("executions", started + asked, limit);
    }
    for (const { executions, link } of this.#rows) {
      const { free, limit } = executions;
      if (link.limits !== undefined && free < asked)
        throw new BudgetExceeded("executions", limit - free + asked, limit);
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
