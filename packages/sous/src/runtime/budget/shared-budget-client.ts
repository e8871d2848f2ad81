/**
 * Draws on the rows of a store for one process. What its runs give back and ask for is gathered while a step is on its way, and
 * goes into the next one. Runs of this process keep their order; against other processes only the rows decide.
 */

import type { Clock } from "../../core/clock.ts";
import type { LimitState } from "../../core/limits.ts";
import type {
  BudgetReply,
  BudgetRow,
  BudgetRows,
  BudgetStep,
  ChainLink,
  OpenedBudget,
} from "../../core/shared-budget.ts";
import type { BudgetQueue } from "./queue.ts";
import { SharedBudgetAlarm } from "./shared-budget-alarm.ts";
import { BudgetPlanner } from "./shared-budget-plan.ts";
import { SharedRow } from "./shared-budget-row.ts";
import { type PlannedStep, withPatience } from "./shared-budget-step.ts";

/** The rows that a ledger draws on, from the top down. */
export type SharedChain = { readonly client: SharedBudgetClient; readonly rows: readonly SharedRow[] };

const clients = new WeakMap<BudgetRows, SharedBudgetClient>();

/** All trees of this process that draw on one store do so together. */
export function sharedBudgetClientOf(rows: BudgetRows, clock: Clock): SharedBudgetClient {
  const client = clients.get(rows) ?? new SharedBudgetClient(rows, clock);
  clients.set(rows, client);
  return client;
}

export function chainOf(rows: BudgetRows, chain: readonly ChainLink[], clock: Clock): SharedChain {
  const client = sharedBudgetClientOf(rows, clock);
  return { client, rows: chain.map((link) => client.open(link)) };
}

export function sharedChainOf({ rows, name }: OpenedBudget, clock: Clock): SharedChain {
  return chainOf(rows, [{ name }], clock);
}

/** After losing to other processes this often in a row, a run waits. */
const MAX_LOSSES = 8;

export class SharedBudgetClient {
  readonly #port: BudgetRows;
  readonly #clock: Clock;
  readonly #alarm: SharedBudgetAlarm;
  readonly #rows = new Map<string, WeakRef<SharedRow>>();
  readonly #forget = new FinalizationRegistry<string>((name) => {
    if (this.#rows.get(name)?.deref() === undefined) this.#rows.delete(name);
  });
  readonly #planner = new BudgetPlanner();
  /** The rows of the last reply, until the next step or the end of the turn. */
  readonly #fresh = new Set<SharedRow>();
  #flushes: (() => void)[] = [];
  #number = 1;
  #lapses = 0;
  /** True while the rows are asked, or their answer is acted on. */
  #isBusy = false;
  /** The rows may have changed elsewhere, or a heartbeat is due. */
  #isStale = false;
  /** The last step failed, and it is unknown whether it was taken: it is repeated as it was. */
  #unsure: PlannedStep | undefined;
  #isBroken = false;
  /** The limits of which each tree was notified that most is spent. */
  readonly #notified = new WeakMap<BudgetQueue, Set<unknown>>();

  constructor(port: BudgetRows, clock: Clock) {
    this.#port = port;
    this.#clock = clock;
    this.#alarm = new SharedBudgetAlarm(port, clock, () => {
      this.#isStale = true;
      this.#planner.serveTrees();
      this.pump();
    });
  }

  /** While asks are on their way it is unknown whether anything moves. */
  get isAsking(): boolean {
    return this.#isBusy;
  }

  open(link: ChainLink, replaces = false): SharedRow {
    const known = this.#rows.get(link.name)?.deref();
    if (known !== undefined) {
      if (replaces) known.renew(link);
      return known;
    }
    const row = new SharedRow(link, replaces, (changed) => void this.#planner.changed.add(changed));
    this.#rows.set(link.name, new WeakRef(row));
    this.#forget.register(row, link.name);
    return row;
  }

  join(tree: BudgetQueue): void {
    this.#planner.trees.add(tree);
  }

  /** Throws `BudgetExceeded` when none is left. */
  startExecution(rows: readonly SharedRow[]): void | Promise<void> {
    // An execution that was not limited a moment ago is only counted: a child does not wait for that.
    if (rows.every(({ isKnown, executions }) => isKnown && executions.limit === Number.POSITIVE_INFINITY)) {
      this.#count(rows, 1);
      return;
    }
    const later = Promise.withResolvers<void>();
    let result: { readonly error: unknown } | undefined;
    const settle = (error: unknown) => {
      result = { error };
      if (error === undefined) later.resolve();
      else later.reject(error);
    };
    this.#planner.starts.push({ rows, settle });
    this.pump();
    if (result === undefined) return later.promise;
    later.promise.catch(() => {});
    if (result.error !== undefined) throw result.error;
  }

  undoExecution(rows: readonly SharedRow[]): void {
    this.#count(rows, -1);
    this.pump();
  }

  #count(rows: readonly SharedRow[], change: 1 | -1): void {
    for (const row of rows) {
      row.executions.spent += change;
      row.changed();
    }
  }

  limitsMoney(rows: readonly SharedRow[]): boolean | Promise<boolean> {
    const isLimited = () => rows.some(({ money }) => money.limit !== Number.POSITIVE_INFINITY);
    const unknown = rows.filter(({ isKnown, link }) => !isKnown && link.limits === undefined);
    if (isLimited() || unknown.length === 0) return isLimited();
    const looks = unknown.map(async ({ link }) => this.#learn(await this.#port.look(link.name)));
    return Promise.all(looks).then(isLimited);
  }

  /** Called at the end of a tree. Resolves when everything is written; undefined when it is. Never rejects. */
  flushed(): Promise<void> | undefined {
    this.pump();
    if (!this.#isBusy) return undefined;
    return new Promise((resolve) => this.#flushes.push(resolve));
  }

  /** Writes what has changed and asks for what is wanted. While a step is on its way, waits for its reply first. */
  pump(): void {
    this.#isBroken = false;
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#steps(0, false);
  }

  /** Steps until no more is to be done, or an answer is awaited. */
  #steps(losses: number, isLate: boolean): void {
    for (let lost = losses; ; ) {
      const plan = this.#isBroken ? undefined : (this.#unsure ?? this.#nextStep(lost));
      if (plan?.step === undefined) break;
      this.#isStale = false;
      const reply = this.#send(plan, plan.step);
      if (reply instanceof Promise) {
        void reply.then((isLost) => this.#steps(isLost ? lost + 1 : 0, true));
        return;
      }
      lost = reply === true ? lost + 1 : 0;
    }
    this.#setFresh([]);
    this.#isBusy = false;
    if (isLate || this.#planner.mustServe) this.#planner.serveTrees();
    if (!this.#isBusy) this.#rest();
  }

  #nextStep(lost: number): PlannedStep {
    const plan = this.#planner.plan({
      ...{ number: this.#number, lapses: this.#lapses, isStale: this.#isStale, isLosing: lost >= MAX_LOSSES },
      anyRow: () => this.#liveRows().slice(0, 1),
    });
    if (plan.step !== undefined) plan.flushes = this.#flushes.splice(0);
    return plan;
  }

  /** True when it asked for something that was not granted. */
  #send(plan: PlannedStep, step: BudgetStep): boolean | Promise<boolean> {
    const failed = (error: unknown) => this.#failed(error, plan);
    try {
      const reply = withPatience(() => this.#port.step(step), this.#clock);
      if (reply instanceof Promise) return reply.then((late) => this.#answered(late, plan)).catch(failed);
      return this.#answered(reply, plan);
    } catch (error) {
      return failed(error);
    }
  }

  #answered(reply: BudgetReply, plan: PlannedStep): boolean {
    this.#unsure = undefined;
    const isGranted = reply.isTaken && reply.isGranted;
    const hasAsks = plan.starts.length + plan.calls.length > 0 && !plan.isFailed;
    if (reply.isTaken) {
      this.#number += 1;
      plan.take(isGranted);
    }
    plan.drop();
    for (const row of plan.rows) row.changed();
    this.#learn(reply.rows);
    this.#setFresh(plan.rows);
    for (const row of plan.rows) row.isMissing = reply.rows.every(({ name }) => name !== row.link.name);
    if (hasAsks && isGranted) {
      for (const { rows, settle } of plan.starts) {
        this.#count(rows, 1);
        settle(undefined);
      }
      for (const [waiter, output] of plan.calls) if (!waiter.isSettled) waiter.holder.queue.grant(waiter, output);
    } else if (hasAsks) this.#planner.starts.unshift(...plan.starts);
    if (reply.lapses !== this.#lapses) this.#clearReserves(reply.lapses);
    this.#tellNear(plan.rows);
    for (const flushed of plan.flushes) flushed();
    if (this.#planner.mustServe) this.#planner.serveTrees();
    return hasAsks && !isGranted;
  }

  /** Refuses all asks: nothing may be spent that is not in the rows. */
  #failed(error: unknown, plan: PlannedStep): boolean {
    this.#unsure = plan;
    plan.drop();
    if (!plan.isFailed) for (const { settle } of plan.starts) settle(error);
    for (const { settle } of this.#planner.starts.splice(0)) settle(error);
    plan.isFailed = true;
    for (const waiter of this.#planner.nextAsks()) this.#planner.refuse(waiter, error);
    for (const flushed of [...plan.flushes, ...this.#flushes.splice(0)]) flushed();
    plan.flushes = [];
    this.#isBroken = true;
    return false;
  }

  #learn(found: readonly BudgetRow[]): void {
    for (const each of found) this.#rows.get(each.name)?.deref()?.learn(each);
  }

  #setFresh(rows: Iterable<SharedRow>): void {
    for (const row of this.#fresh) row.isFresh = false;
    this.#fresh.clear();
    for (const row of rows) {
      row.isFresh = true;
      this.#fresh.add(row);
    }
  }

  #liveRows(): SharedRow[] {
    return [...this.#rows.values()].flatMap((ref) => ref.deref() ?? []);
  }

  /** This process counted as dead, and others may have what its runs kept. */
  #clearReserves(lapses: number): void {
    this.#lapses = lapses;
    this.#planner.mustServe = true;
    for (const { all } of this.#liveRows()) for (const meter of all) meter.written = { ...meter.written, kept: 0 };
    for (const tree of this.#planner.trees) for (const holder of tree.holders) holder.clearReserve();
  }

  #tellNear(rows: Iterable<SharedRow>): void {
    for (const row of rows) {
      for (const limit of row.nearLimits()) {
        for (const tree of this.#planner.trees)
          if (row.tree === tree || tree.rows.includes(row)) this.#tellOnce(tree, row, limit);
      }
    }
  }

  #tellOnce(tree: BudgetQueue, { link }: SharedRow, limit: LimitState): void {
    const notified = this.#notified.get(tree) ?? new Set();
    this.#notified.set(tree, notified);
    const about = `${limit.unit} ${link.name}`;
    if (!notified.has(about)) tree.onNear(limit, undefined);
    notified.add(about);
  }

  /** Sets the alarm: asks again after a while if a run waits, and sends heartbeats while anything is held. */
  #rest(): void {
    for (const flushed of this.#flushes.splice(0)) flushed();
    for (const tree of this.#planner.trees)
      if (tree.holders.size + tree.waiters.length === 0) this.#planner.trees.delete(tree);
    if (this.#planner.trees.size === 0) this.#alarm.set(this.#isBroken ? "owing" : "idle");
    else this.#alarm.set(this.#planner.nextAsks().length > 0 ? "waiting" : "holding");
  }
}
