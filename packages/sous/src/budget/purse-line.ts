/**
 * How one process draws on a shared budget. What its runs have spent, hold and keep is added up here, and written into the
 * books together with what they ask for: one step at a time, and while one is on its way the next is gathered.
 */

import type { Clock } from "../core/clock.ts";
import type { LimitState } from "../core/limits.ts";
import type { PurseAnswer, PurseReply, PurseState } from "../core/purse.ts";
import type { SharedBudget } from "../core/shared-budget.ts";
import type { Line } from "./line.ts";
import { PurseAlarm, PurseNear, purseLimits, shorterFor } from "./purse-alarm.ts";
import { type Asked, isSame, isUnanswered, noneLeft, OwnRow, type Start, stepFor } from "./purse-own-row.ts";
import type { Waiter } from "./waiter.ts";

/** With more than this many at once, the rest would wait behind the first anyway. */
const MAX_ASKS = 32;

const lines = new WeakMap<SharedBudget, PurseLine>();

/** All trees of this process that were given the same object draw together. */
export function purseLineOf(shared: SharedBudget, clock: Clock): PurseLine {
  const line = lines.get(shared) ?? new PurseLine(shared, clock);
  lines.set(shared, line);
  return line;
}

export class PurseLine {
  readonly #of: string;
  readonly #shared: SharedBudget;
  /** The trees that have live runs or waiting ones. */
  readonly #trees = new Set<Line>();
  /** The trees that have not ended: a child of theirs that never starts gives its execution back. */
  readonly #counting = new Set<Line>();
  readonly #starts: Start[] = [];
  #state: PurseState | undefined;
  readonly #row: OwnRow;
  /** From the moment a step is sent until everything in its answer is done. */
  #isStepping = false;
  /** A run was refused, or lost its reserve: others may be served by their own trees now. */
  #mustServe = false;
  /** Set when the books may have changed elsewhere, or it is time to be heard of. */
  #isStale = false;
  /** The last step failed: what it had to say is said with the next one. */
  #isBroken = false;
  readonly #alarm: PurseAlarm;
  readonly #flushes: (() => void)[] = [];
  readonly #near = new PurseNear();

  constructor(shared: SharedBudget, clock: Clock) {
    this.#shared = shared;
    this.#of = `shared budget ${shared.name}`;
    this.#row = new OwnRow(shared.purse, clock, this.#of);
    this.#alarm = new PurseAlarm(shared.purse, clock, () => {
      this.#isStale = true;
      this.#isBroken = false;
      this.#goOn();
    });
  }

  get meters(): OwnRow["meters"] {
    return this.#row.meters;
  }

  /** While asks are on their way it is unknown whether anything moves. */
  get isAsking(): boolean {
    return this.#isStepping;
  }

  join(tree: Line): void {
    this.#trees.add(tree);
  }

  /** Throws `BudgetExceeded` when none is left. */
  startExecution(tree: Line): void | Promise<void> {
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

  /** As the books were when they were last looked at. */
  limits(): LimitState[] {
    return this.#state === undefined ? [] : purseLimits(this.#state, this.#of);
  }

  /** At the end of a tree. Undefined when everything has been written down. Never rejects. */
  flushed(tree: Line): Promise<void> | undefined {
    this.#counting.delete(tree);
    this.pump();
    if (!this.#isStepping) return undefined;
    return new Promise((resolve) => this.#flushes.push(resolve));
  }

  /** Writes down what has changed and asks for what is wanted; when a step is on its way, as soon as it is back. */
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
      if (replying instanceof Promise) void replying.then(() => this.#goOn());
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

  /** A process without live trees needs no row, and a program that lives for long would leave ever more of them. */
  get #isOver(): boolean {
    const isEmpty = (tree: Line) => tree.holders.size + tree.waiters.length === 0;
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
          .then(() => this.#goOn());
      else done();
    } catch {
      done();
    }
  }

  #goOn(): void {
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
    if (!isSame(share, this.#row.share()) || (moves && !this.#moves)) return true;
    // That it moves again, a call in flight shows.
    if (!moves && this.#moves && this.meters[0].inFlight === 0) return true;
    const asks = this.#nextAsks();
    // One that has left must not hold up others from its row in the books.
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
    const askers = ({ candidates, slots }: Line) => {
      let free = slots.free;
      return candidates.filter(({ isStart }) => !isStart || free-- > 0);
    };
    return this.#inOrder(askers).slice(0, MAX_ASKS);
  }

  #answered(reply: PurseReply, { asks, starts, flushes, moves, mayLower }: Asked): void {
    this.#state = reply.state;
    this.#row.executions += reply.starts;
    const first = asks.find((_, index) => reply.answers[index]?.kind === "wait");
    // What was granted and is not taken differs from what this process has: the next step gives it back.
    this.#row.written = { share: reply.share, moves, mayLower, first };
    for (const [index, start] of starts.entries()) {
      start.settle(index < reply.starts ? undefined : noneLeft(reply.state));
    }
    if (reply.wasLapsed) this.#clearReserves();
    // Who has lost its reserve needs more than it asked for, and has to ask again.
    else for (const [index, waiter] of asks.entries()) this.#answer(waiter, reply.answers[index], reply.since);
    if (reply.mustRefuse && !this.#moves && !this.#nextAsks().some(isUnanswered)) this.#refuseLast();
    this.#near.tell(this.#trees, this.limits());
    this.#isStepping = false;
    for (const tell of flushes) tell();
  }

  #answer(waiter: Waiter, answer: PurseAnswer | undefined, now: number): void {
    if (waiter.isSettled || answer === undefined) return;
    if (answer.kind === "granted") waiter.holder.line.grant(waiter, answer.output);
    else if (answer.kind === "never") this.#refuse(waiter, waiter.refusalAt(this.#shortOf(waiter)));
    else {
      waiter.since ??= now;
      waiter.tell(this.#shortOf(waiter));
    }
  }

  /** Nothing may be spent that is not in the books. What was to be written down is said with the next step. */
  #failed(error: unknown, { asks, starts, flushes }: Asked): void {
    this.#isBroken = true;
    for (const start of starts) start.settle(error);
    for (const waiter of asks) if (!waiter.isSettled) this.#refuse(waiter, error);
    this.#isStepping = false;
    for (const tell of flushes) tell();
  }

  #refuse(waiter: Waiter, error: unknown): void {
    this.#mustServe = true;
    waiter.holder.line.refuse(waiter, error);
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

  /** This process was taken for dead, and others may have what its runs kept. */
  #clearReserves(): void {
    this.#mustServe = true;
    for (const tree of this.#trees) for (const holder of tree.holders) holder.clearReserve();
  }

  /** Live runs by their starts, then children that wait to start. */
  #inOrder(of: (tree: Line) => readonly Waiter[]): Waiter[] {
    const all = [...this.#trees].flatMap(of);
    return all.sort((one, other) => Number(one.isStart) - Number(other.isStart) || one.order - other.order);
  }

  /** Until something changes: asks again after a while if something waits, and is heard of while anything is held. */
  #rest(): void {
    for (const tell of this.#flushes.splice(0)) tell();
    for (const tree of this.#trees) if (tree.holders.size + tree.waiters.length === 0) this.#trees.delete(tree);
    if (this.#trees.size === 0) this.#alarm.set(this.#isBroken ? "owing" : "idle");
    else this.#alarm.set(this.#nextAsks().length > 0 ? "waiting" : "holding");
  }
}
