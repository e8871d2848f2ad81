/** Decides what the runs of this process ask the rows of a store for, in the order of the ledger, and which of them is refused. */

import type { StoreError } from "../../core/errors.ts";
import { type BudgetStep, NO_FIGURES, unreachable } from "../../core/shared-budget.ts";
import type { BudgetQueue } from "./queue.ts";
import { linesOf, noneLeft, type RowMeter, type SharedRow, sumOf } from "./shared-budget-row.ts";
import { PlannedStep, type Start } from "./shared-budget-step.ts";
import type { Waiter } from "./waiter.ts";

/** Max calls that are asked for at once: the rest would wait behind the first anyway. */
const MAX_ASKS = 100;

type StepState = {
  readonly number: number;
  readonly lapses: number;
  /** The rows may have changed elsewhere, or a heartbeat is due. */
  readonly isStale: boolean;
  /** Other processes were faster too often: calls wait. */
  readonly isLosing: boolean;
  /** A row for a heartbeat. */
  anyRow(): readonly SharedRow[];
};

export class BudgetPlanner {
  /** The trees that have live runs or waiting ones. */
  readonly trees = new Set<BudgetQueue>();
  /** The rows that may have to be written. */
  readonly changed = new Set<SharedRow>();
  starts: Start[] = [];
  /** A run was refused, or lost its reserve: others may be served by their own trees now. */
  mustServe = false;
  /** The number of the plan: a call that is short in it lets no later one pass. */
  #round = 0;

  /** Decides what is asked for, and which run is refused. Without a step when there is nothing to write and nothing to ask. */
  plan(known: StepState): PlannedStep {
    for (;;) {
      this.#round += 1;
      const plan = new PlannedStep();
      for (const start of [...this.starts]) this.#planStart(start, plan);
      for (const waiter of this.nextAsks()) if (!plan.isFull) this.#planCall(waiter, plan, known.isLosing);
      if (!plan.hasRefused) this.#refuseIfStuck(plan);
      if (!plan.hasRefused) {
        this.#complete(plan, known);
        return plan;
      }
      plan.drop();
      this.serveTrees();
    }
  }

  #planStart(start: Start, plan: PlannedStep): void {
    const { rows } = start;
    const missing = missingIn(rows);
    const short = rows.find(({ executions }) => executions.free < 1);
    plan.names(rows);
    if (missing === undefined && short === undefined) {
      for (const { executions } of rows) executions.ask({ ...NO_FIGURES, spent: 1 });
      plan.starts.push(start);
    } else if (isFresh(rows)) {
      plan.hasRefused = true;
      this.starts = this.starts.filter((each) => each !== start);
      start.settle(missing ?? (short && noneLeft(short.executions)));
    } else plan.look(rows);
  }

  #planCall(waiter: Waiter, plan: PlannedStep, isLosing: boolean): void {
    const { holder, wanted } = waiter;
    const { shared } = holder.funds;
    if (waiter.isSettled || shared === undefined) return;
    const { rows } = shared;
    const never = shared.neverEnough(wanted, holder.above);
    const refusal = missingIn(rows) ?? (never && waiter.refusalAt(never.state()));
    plan.names(rows);
    if (refusal !== undefined) {
      if (isFresh(rows)) this.refuse(waiter, refusal, plan);
      else plan.look(rows);
      return;
    }
    const output = isLosing ? undefined : shared.affordable(wanted, this.#round);
    if (output !== undefined && (output >= wanted.need.enough || isFresh(rows))) {
      shared.ask(wanted, output);
      plan.calls.push([waiter, output]);
      return;
    }
    const short = output === undefined ? (shared.markShort(wanted, this.#round) as RowMeter[]) : [];
    for (const meter of short) plan.short.add(meter);
    if (isFresh(rows) || isLosing) {
      waiter.isTold = true;
      const [first] = short;
      if (first !== undefined) waiter.notify(first.state());
    } else if (!waiter.isTold || output !== undefined) plan.look(rows);
    // It may have less than all, as soon as that is certain: until then none behind it is served.
    plan.isFull = output !== undefined;
  }

  /** Nothing moves here, nothing is in flight anywhere, and the first cannot be served: the last of this process is refused. */
  #refuseIfStuck(plan: PlannedStep): void {
    for (const meter of plan.short) {
      if (!meter.isQuiet || meter.moving > 0) continue; // guard: shared-moves
      const draws = ({ holder, request }: Waiter) => request.need !== undefined && holder.funds.meters.includes(meter);
      const last = this.#inOrder(({ waiters }) => waiters).findLast(draws);
      if (last === undefined) continue;
      if (!meter.row.isFresh) {
        plan.look([meter.row]);
        return;
      }
      this.refuse(last, last.refusalAt(meter.state()), plan); // guard: refuse-the-last-shared
      return;
    }
  }

  #complete(plan: PlannedStep, { number, lapses, isStale, anyRow }: StepState): void {
    const givesOf = (rows: Iterable<SharedRow>) => linesOf(rows, ({ own, written }) => sumOf(own, written, -1));
    const changed = [...this.changed].filter((row) => givesOf([row]).length > 0);
    const hasAsks = plan.starts.length + plan.calls.length > 0;
    this.changed.clear();
    if (changed.length === 0 && !hasAsks && !plan.mustLook && !isStale) return;
    plan.names(changed);
    if (plan.rows.size === 0) plan.names(anyRow());
    if (plan.rows.size === 0) return;
    const rows = [...plan.rows];
    const step: BudgetStep = {
      number,
      lapses,
      made: rows.flatMap(({ toMake }) => toMake ?? []),
      gives: givesOf(changed),
      asks: linesOf(rows, ({ asked }) => asked),
      names: rows.map(({ link }) => link.name),
      waits: [...new Set([...plan.short].map(({ row }) => row.link.name))],
    };
    plan.send(step);
    this.starts = this.starts.filter((start) => !plan.starts.includes(start));
  }

  refuse(waiter: Waiter, error: unknown, plan?: PlannedStep): void {
    this.mustServe = true;
    if (plan !== undefined) plan.hasRefused = true;
    waiter.holder.queue.refuse(waiter, error);
  }

  serveTrees(): void {
    this.mustServe = false;
    for (const tree of [...this.trees]) tree.serve();
  }

  /** Children that wait for a slot ask for nothing yet. */
  nextAsks(): Waiter[] {
    const askers = ({ candidates, slots }: BudgetQueue) => {
      let free = slots.free;
      return candidates.filter(({ isStart }) => !isStart || free-- > 0);
    };
    return this.#inOrder(askers).slice(0, MAX_ASKS);
  }

  /** Live runs by their starts, then children that wait to start. */
  #inOrder(of: (tree: BudgetQueue) => readonly Waiter[]): Waiter[] {
    const all = [...this.trees].flatMap(of);
    return all.sort((one, other) => Number(one.isStart) - Number(other.isStart) || one.order - other.order);
  }
}

function isFresh(rows: readonly SharedRow[]): boolean {
  return rows.every((row) => row.isFresh);
}

function missingIn(rows: readonly SharedRow[]): StoreError | undefined {
  const missing = rows.find((row) => row.isMissing);
  return missing && unreachable(missing.link.name, undefined, "it is no longer in the store");
}
