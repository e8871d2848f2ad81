/**
 * Draws on a shared budget for one process. Adds up what its runs have spent, hold and keep, and writes it into
 * the books together with what they ask for: one step at a time; while one is on its way the next is gathered.
 */

import type { Clock } from "../../core/clock.ts";
import type { LimitState } from "../../core/limits.ts";
import type { OpenedBudget } from "../../core/shared-budget.ts";
import type { SharedBudgetAnswer, SharedBudgetReply, SharedBudgetState } from "../../core/shared-budget-books.ts";
import type { BudgetQueue } from "./queue.ts";
import { limitsOf, NearNotices, SharedBudgetAlarm, shorterFor } from "./shared-budget-alarm.ts";
import { type Asked, isSame, isUnanswered, noneLeft, OwnRow, type Start, stepFor } from "./shared-budget-row.ts";
import type { Waiter } from "./waiter.ts";

/** Max asks at once: the rest would wait behind the first anyway. */
const MAX_ASKS = 32;

const clients = new WeakMap<OpenedBudget, SharedBudgetClient>();

/** All trees of this process that were given the same object draw together. */
export function sharedBudgetClientOf(shared: OpenedBudget, clock: Clock): SharedBudgetClient {
  const client = clients.get(shared) ?? new SharedBudgetClient(shared, clock);
  clients.set(shared, client);
  return client;
}

export class SharedBudgetClient {
  readonly #of: string;
  readonly #shared: OpenedBudget;
  /** The trees that have live runs or waiting ones. */
  readonly #trees = new Set<BudgetQueue>();
  /** The trees that have not ended: a child that never starts gives its execution back. */
  readonly #counting = new Set<BudgetQueue>();
  readonly #starts: Start[] = [];
  #state: SharedBudgetState | undefined;
  readonly #row: OwnRow;
  /** True from the moment a step is sent until everything in its answer is done. */
  #isStepping = false;
  /** A run was refused, or lost its reserve: others may be served by their own trees now. */
  #mustServe = false;
  /** Set when the books may have changed elsewhere, or a heartbeat is due. */
  #isStale = false;
  /** The last step failed: the next one repeats what it reported. */
  #isBroken = false;
  readonly #alarm: SharedBudgetAlarm;
  readonly #flushes: (() => void)[] = [];
  readonly #near = new NearNotices();

  constructor(shared: OpenedBudget, clock: Clock) {
    this.#shared = shared;
    this.#of = `shared budget ${shared.name}`;
    this.#row = new OwnRow(shared.books, clock, this.#of);
    this.#alarm = new SharedBudgetAlarm(shared.books, clock, () => {
      this.#isStale = true;
      this.#isBroken = false;
      this.#continue();
    });
  }

  get meters(): OwnRow["meters"] {
    return this.#row.meters;
  }

  /** While asks are on their way it is unknown whether anything moves. */
  get isAsking(): boolean {
    return this.#isStepping;
  }

  join(tree: BudgetQueue): void {
    this.#trees.add(tree);
  }

  /** Throws `BudgetExceeded` when none is left. */
  startExecution(tree: BudgetQueue): void | Promise<void> {
    this.#counting.add(tree);
    const later = Promise.withResolvers<void>();
    let result: { readonly error: unknown } | undefined;
    const settle = (error: unknown) => {
      result = { error };
      if (error === undefined) later.resolve();
      else later.reject(error);
    };
    this.#starts.push({ settle });
    this.pump();
    if (result === undefined) return later.promise;
    later.promise.catch(() => {});
    if (result.error !== undefined) throw result.error;
  }

  undoExecution(): void {
    this.#row.executions -= 1;
    this.pump();
  }

  limitsMoney(): boolean | Promise<boolean> {
    if (this.#state !== undefined) return this.#state.limits.nanoUsd !== undefined;
    return this.#shared.left().then(({ costUsd }) => costUsd !== undefined);
  }

  /** Returns the limits as the books last read say. */
  limits(): LimitState[] {
    return this.#state === undefined ? [] : limitsOf(this.#state, this.#of);
  }

  /** Called at the end of a tree. Resolves when everything is written; undefined when it is. Never rejects. */
  flushed(tree: BudgetQueue): Promise<void> | undefined {
    this.#counting.delete(tree);
    this.pump();
    if (!this.#isStepping) return undefined;
    return new Promise((resolve) => this.#flushes.push(resolve));
  }

  /** Writes what has changed and asks for what is wanted. While a step is on its way, waits for its reply first. */
  pump(): void {
    this.#isBroken = false;
    while (!this.#isStepping && !this.#isBroken) {
      const hasNews = this.#hasNews();
      if (this.#row.isLeaving || (!hasNews && this.#isOver)) {
        this.#leave();
        continue;
      }
      if (!hasNews) break;
      const asked: Asked = {
        asks: this.#nextAsks(),
        starts: this.#starts.splice(0),
        flushes: this.#flushes.splice(0),
        moves: this.#moves,
        mayLower: this.#mayLower,
      };
      this.#isStale = false;
      this.#isStepping = true;
      const replying = this.#ask(stepFor(asked, this.#row.share()), asked);
      if (replying instanceof Promise) void replying.then(() => this.#continue());
      else if (this.#mustServe) this.#serveTrees();
    }
    if (!this.#isStepping) this.#rest();
  }

  #ask(step: ReturnType<typeof stepFor>, asked: Asked): void | Promise<void> {
    const failed = (error: unknown) => this.#failed(error, asked);
    try {
      const reply = this.#row.step(step);
      if (reply instanceof Promise) return reply.then((late) => this.#answered(late, asked)).catch(failed);
      this.#answered(reply, asked);
    } catch (error) {
      failed(error);
    }
  }

  /** A process without live trees leaves the books, so that rows do not pile up. */
  get #isOver(): boolean {
    const isEmpty = (tree: BudgetQueue) => tree.holders.size + tree.waiters.length === 0;
    return this.#row.isThere && !this.#row.isHolding && this.#counting.size === 0 && [...this.#trees].every(isEmpty);
  }

  #leave(): void {
    this.#isStepping = true;
    const done = () => {
      this.#isStepping = false;
      this.#isBroken = this.#row.isLeaving;
    };
    try {
      const leaving = this.#row.leave();
      if (leaving instanceof Promise)
        void leaving
          .catch(() => {})
          .then(done)
          .then(() => this.#continue());
      else done();
    } catch {
      done();
    }
  }

  #continue(): void {
    const isBroken = this.#isBroken;
    this.#serveTrees();
    if (!isBroken) this.pump();
    else if (!this.#isStepping) this.#rest();
  }

  #serveTrees(): void {
    this.#mustServe = false;
    for (const tree of [...this.#trees]) tree.serve();
  }

  #hasNews(): boolean {
    if (this.#starts.length > 0 || this.#isStale) return true;
    const { share, moves, mayLower, first } = this.#row.written;
    if (!isSame(share, this.#row.share()) || (moves && !this.#moves)) return true; // guard: tell-when-stopped
    // A call in flight already shows that it moves again.
    if (!moves && this.#moves && this.meters[0].inFlight === 0) return true;
    const asks = this.#nextAsks();
    // A waiter that has left must not hold up others from its row in the books.
    if (first !== undefined && !asks.includes(first)) return true;
    return asks.some(isUnanswered) || (asks.length > 0 && !mayLower && this.#mayLower);
  }

  get #moves(): boolean {
    return this.meters[0].moving > 0;
  }

  get #mayLower(): boolean {
    return this.meters[0].lastSettled === undefined;
  }

  /** Children that wait for a slot ask for nothing yet. */
  #nextAsks(): Waiter[] {
    const askers = ({ candidates, slots }: BudgetQueue) => {
      let free = slots.free;
      return candidates.filter(({ isStart }) => !isStart || free-- > 0);
    };
    return this.#inOrder(askers).slice(0, MAX_ASKS);
  }

  #answered(reply: SharedBudgetReply, { asks, starts, flushes, moves, mayLower }: Asked): void {
    this.#state = reply.state;
    this.#row.executions += reply.starts;
    const first = asks.find((_, index) => reply.answers[index]?.kind === "wait");
    // The next step gives back what was granted and not taken.
    this.#row.written = { share: reply.share, moves, mayLower, first };
    for (const [index, start] of starts.entries()) {
      start.settle(index < reply.starts ? undefined : noneLeft(reply.state));
    }
    if (reply.wasLapsed) this.#clearReserves();
    // A run that lost its reserve needs more than it asked for, and must ask again.
    else for (const [index, waiter] of asks.entries()) this.#answer(waiter, reply.answers[index], reply.since);
    // guard: refuse-the-last-shared
    if (reply.mustRefuse && !this.#moves && !this.#nextAsks().some(isUnanswered)) this.#refuseLast();
    this.#near.notify(this.#trees, this.limits());
    this.#isStepping = false;
    for (const flushed of flushes) flushed();
  }

  #answer(waiter: Waiter, answer: SharedBudgetAnswer | undefined, now: number): void {
    if (waiter.isSettled || answer === undefined) return;
    if (answer.kind === "granted") waiter.holder.queue.grant(waiter, answer.output);
    else if (answer.kind === "never") this.#refuse(waiter, waiter.refusalAt(this.#shortOf(waiter)));
    else {
      waiter.since ??= now;
      waiter.notify(this.#shortOf(waiter));
    }
  }

  /** Refuses all asks: nothing may be spent that is not in the books. The next step repeats what was to be written. */
  #failed(error: unknown, { asks, starts, flushes }: Asked): void {
    this.#isBroken = true;
    for (const start of starts) start.settle(error);
    for (const waiter of asks) if (!waiter.isSettled) this.#refuse(waiter, error);
    this.#isStepping = false;
    for (const flushed of flushes) flushed();
  }

  #refuse(waiter: Waiter, error: unknown): void {
    this.#mustServe = true;
    waiter.holder.queue.refuse(waiter, error);
  }

  /** Children that wait to start first, then the youngest run that waits. */
  #refuseLast(): void {
    const last = this.#inOrder(({ waiters }) => waiters).at(-1);
    if (last === undefined) return;
    this.#isStale = true;
    this.#refuse(last, last.refusalAt(this.#shortOf(last)));
  }

  #shortOf(waiter: Waiter): LimitState {
    return shorterFor(waiter.wanted, this.limits(), this.#of);
  }

  /** This process counted as dead, and others may have what its runs kept. */
  #clearReserves(): void {
    this.#mustServe = true;
    for (const tree of this.#trees) for (const holder of tree.holders) holder.clearReserve();
  }

  /** Live runs by their starts, then children that wait to start. */
  #inOrder(of: (tree: BudgetQueue) => readonly Waiter[]): Waiter[] {
    const all = [...this.#trees].flatMap(of);
    return all.sort((one, other) => Number(one.isStart) - Number(other.isStart) || one.order - other.order);
  }

  /** Sets the alarm: asks again after a while if a run waits, and sends heartbeats while anything is held. */
  #rest(): void {
    for (const flushed of this.#flushes.splice(0)) flushed();
    for (const tree of this.#trees) if (tree.holders.size + tree.waiters.length === 0) this.#trees.delete(tree);
    if (this.#trees.size === 0) this.#alarm.set(this.#isBroken ? "owing" : "idle");
    else this.#alarm.set(this.#nextAsks().length > 0 ? "waiting" : "holding");
  }
}
