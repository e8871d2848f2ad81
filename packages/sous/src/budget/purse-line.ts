/** How one process draws on a shared budget: its calls wait in one line, and what could not be written down is tried again. */

import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { NO_AMOUNT, type PurseAmount, type PurseNeed } from "../core/purse.ts";
import type { Scope } from "../core/scope.ts";
import { NEW_PLACE, type PurseAsk, type PursePort, type PurseReply, type SharedBudget } from "../core/shared-budget.ts";
import { type Waiter, WaitingLine } from "./waiting-line.ts";

type Granted = Extract<PurseReply, { kind: "granted" }>;
type Eventually<T> = T | Promise<T>;
type Waiting = { readonly need: PurseNeed; readonly clock: Clock };

const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 100;
const MAX_RETRIES = 4;
const FIRST_RETRY_MS = 50;

const lines = new WeakMap<SharedBudget, PurseLine>();

/** All trees of this process that were given the same object stand in the same line. */
export function purseLineOf(shared: SharedBudget): PurseLine {
  const line = lines.get(shared) ?? new PurseLine(shared.purse);
  lines.set(shared, line);
  return line;
}

export class PurseLine {
  readonly #purse: PursePort;
  readonly #line = new WaitingLine<Waiting, Granted>();
  /** Where this process stands among all who wait; only the first of its own line asks. */
  #place: string | undefined;
  /** True while somebody waits, and until the last who left has given up its place. */
  #isServing = false;
  #isPoked = false;
  #wake: (() => void) | undefined;
  readonly #pending = new Set<Promise<void>>();
  /** What was spent on reservations that the store would not let us end. Until it does, they count as they are. */
  readonly #unsettled = new Map<string, PurseAmount>();

  constructor(purse: PursePort) {
    this.#purse = purse;
  }

  /** Waits while calls in flight anywhere could release enough; then throws `BudgetExceeded`. */
  reserve(need: PurseNeed, scope: Scope, clock: Clock): Eventually<Granted> {
    scope.throwIfAborted();
    if (this.#unsettled.size > 0) this.#settleAgain(clock);
    if (this.#isServing) return this.#join(need, scope, clock);
    const reply = this.ask({ kind: "call", need, place: NEW_PLACE }, clock);
    if (reply instanceof Promise) return reply.then((late) => this.#afterFirstTry(late, need, scope, clock));
    return this.#afterFirstTry(reply, need, scope, clock);
  }

  /** One question that does not wait, unless the store itself has to be asked again. */
  ask(ask: PurseAsk, clock: Clock): Eventually<PurseReply> {
    return withPatience(() => this.#purse.reserve(ask), clock);
  }

  /** Ends a reservation. Does not fail: a store that is gone for long leaves it reserved, which is never too little. */
  settle(leaseId: string, spent: PurseAmount, clock: Clock): void {
    const keep = () => void this.#unsettled.set(leaseId, spent);
    this.#inBackground(() => withPatience(() => this.#purse.settle(leaseId, spent), clock), keep);
  }

  /** Throws `BudgetExceeded` when none is left. */
  startExecution(clock: Clock): Eventually<void> {
    const refusal = withPatience(() => this.#purse.startExecution(), clock);
    return refusal instanceof Promise ? refusal.then(throwIfAny) : throwIfAny(refusal);
  }

  /** Tried once: nobody could say whether a second try takes back a second one. What fails stays counted. */
  undoExecution(): void {
    this.#inBackground(
      () => this.#purse.undoExecution(),
      () => {},
    );
  }

  /** Undefined when everything has been written down. Never rejects. */
  flushed(clock: Clock): Promise<void> | undefined {
    return this.#pending.size + this.#unsettled.size === 0 ? undefined : this.#flush(clock);
  }

  async #flush(clock: Clock): Promise<void> {
    await Promise.all(this.#pending);
    this.#settleAgain(clock);
    await Promise.all(this.#pending);
  }

  #settleAgain(clock: Clock): void {
    const again = [...this.#unsettled];
    this.#unsettled.clear();
    for (const [leaseId, spent] of again) this.settle(leaseId, spent, clock);
  }

  #afterFirstTry(reply: PurseReply, need: PurseNeed, scope: Scope, clock: Clock): Eventually<Granted> {
    if (reply.kind === "refused") throw reply.error;
    if (reply.kind === "granted") {
      if (!scope.aborted) return reply;
      this.settle(reply.leaseId, NO_AMOUNT, clock);
      throw scope.reason;
    }
    if (this.#isServing) this.#leave(reply.place);
    else this.#place = reply.place;
    return this.#join(need, scope, clock);
  }

  #join(need: PurseNeed, scope: Scope, clock: Clock): Promise<Granted> {
    const waiter = this.#line.join({ need, clock }, scope, () => this.#poke());
    if (!this.#isServing) void this.#serve();
    return waiter.promise;
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    for (let first = this.#line.first; first !== undefined; first = this.#line.first) await this.#serveFirst(first);
    this.#isServing = false;
  }

  /** Asks again and again, less and less often, until it is served, refused or gone. */
  async #serveFirst(waiter: Waiter<Waiting, Granted>): Promise<void> {
    const { need, clock } = waiter.subject;
    let pauseMs = SHORTEST_PAUSE_MS;
    while (this.#line.first === waiter) {
      // Whoever has a place has just been told to wait.
      if (this.#place !== undefined) await this.#pause(pauseMs, clock);
      if (this.#line.first !== waiter) break;
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      try {
        const reply = await this.ask({ kind: "call", need, place: this.#place ?? NEW_PLACE }, clock);
        this.#answer(waiter, reply);
      } catch (error) {
        if (this.#line.first === waiter) waiter.reject(error);
      }
    }
    // The next one here comes after those who wait elsewhere by now.
    if (this.#place !== undefined) this.#leave(this.#place);
    this.#place = undefined;
  }

  #answer(waiter: Waiter<Waiting, Granted>, reply: PurseReply): void {
    const isThere = this.#line.first === waiter;
    this.#place = reply.kind === "wait" ? reply.place : undefined;
    if (reply.kind === "granted" && !isThere) this.settle(reply.leaseId, NO_AMOUNT, waiter.subject.clock);
    if (reply.kind === "granted" && isThere) waiter.resolve(reply);
    if (reply.kind === "refused" && isThere) waiter.reject(reply.error);
  }

  #leave(place: string): void {
    this.#inBackground(
      () => this.#purse.leaveLine(place),
      () => {},
    );
  }

  /** Until the time is over, or something has changed in this process. */
  async #pause(milliseconds: number, clock: Clock): Promise<void> {
    if (!this.#isPoked) {
      using timer = new DisposableStack();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        timer.use(clock.timer(milliseconds, resolve));
      });
    }
    this.#wake = undefined;
    this.#isPoked = false;
  }

  #poke(): void {
    this.#isPoked = this.#line.first !== undefined;
    this.#wake?.();
  }

  #inBackground(step: () => Eventually<void>, onFailure: () => void): void {
    const done = () => this.#poke();
    try {
      const running = step();
      if (running instanceof Promise) {
        const ended: Promise<void> = running.then(done, onFailure).finally(() => this.#pending.delete(ended));
        this.#pending.add(ended);
      } else done();
    } catch {
      onFailure();
    }
  }
}

/** A store that is busy for a moment is asked again; one that stays away is a `StoreError`, and nothing may be spent. */
function withPatience<T>(step: () => Eventually<T>, clock: Clock, attempt = 0): Eventually<T> {
  const again = async (error: unknown): Promise<T> => {
    if (!(error instanceof StoreError) || attempt === MAX_RETRIES) throw error;
    await new Promise<void>((resolve) => void clock.timer(FIRST_RETRY_MS * 2 ** attempt, resolve));
    return withPatience(step, clock, attempt + 1);
  };
  try {
    const result = step();
    return result instanceof Promise ? result.catch(again) : result;
  } catch (error) {
    if (error instanceof StoreError) return again(error);
    throw error;
  }
}

function throwIfAny(error: Error | undefined): void {
  if (error !== undefined) throw error;
}
