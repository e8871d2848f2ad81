/** The payment of a child before it may start: time, an execution, a slot and its first call. All of it or nothing. */

import type { Clock, Deadline, Deadlines } from "../../core/clock.ts";
import { BudgetExceeded, Refused, UncappedAgent, UnpricedModel, UnpricedTool } from "../../core/errors.ts";
import type { Account, LimitState, StartAsk, Started } from "../../core/limits.ts";
import type { RunProfile } from "../../core/run.ts";
import { NEAR } from "./funds.ts";

export type Fee = StartAsk & {
  /** Counts the start. A child's own account counts only what is below it. */
  readonly counting: Counting;
  readonly account: Account;
  readonly childTime: ChildTime;
  /** Called when the child is queued, or has started. */
  onAsked(): void;
};

/** Sets an execution aside for a child, and takes it back when the child never starts. */
export type Counting = Pick<Account, "startExecution" | "undoExecution">;

/** Throws `BudgetExceeded`, or a `ToolFailure` when the tree is full; then nothing was spent. A promise only if it must wait. */
export function pay(fee: Fee): Started | Promise<Started> {
  fee.childTime.check();
  const starting = fee.isCounted ? undefined : fee.counting.startExecution();
  return starting instanceof Promise ? starting.then(() => start(fee)) : start(fee);
}

/** The start alone, of a child that works elsewhere and pays for its calls there. */
export async function payForStart(fee: Fee, isNew: boolean): Promise<void> {
  fee.childTime.check();
  if (isNew) await fee.counting.startExecution();
  fee.onAsked();
}

function start(fee: Fee): Started | Promise<Started> {
  const giveUp = (error: unknown): never => {
    if (!fee.isCounted) fee.counting.undoExecution();
    throw error;
  };
  try {
    const started = fee.account.start(fee);
    fee.onAsked();
    return started instanceof Promise ? started.catch(giveUp) : started;
  } catch (error) {
    return giveUp(error);
  }
}

/** The number of children that calls of models may start for one message, and how a person raises it. */
export type MessageLimit = { readonly children: number; readonly advice: string };

/** Counts the children of one message after the other: a message is one run of the root, with everything below it. */
export class MessageStarts {
  readonly #limit: MessageLimit;
  #message: string | undefined;
  #started = 0;

  constructor(limit: MessageLimit) {
    this.#limit = limit;
  }

  /** Counts a child of this message, besides the account that counts it. */
  with(account: Counting, message: string): Counting {
    return {
      startExecution: () => {
        this.#start(message);
        try {
          const starting = account.startExecution();
          return starting instanceof Promise ? starting.catch((error) => this.#giveUp(error)) : starting;
        } catch (error) {
          return this.#giveUp(error);
        }
      },
      undoExecution: () => {
        this.#started -= 1;
        account.undoExecution();
      },
    };
  }

  /** One that was started before a restart. */
  restore(message: string): void {
    if (message !== this.#message) this.#started = 0;
    this.#message = message;
    this.#started += 1;
  }

  #start(message: string): void {
    if (message !== this.#message) this.#started = 0;
    this.#message = message;
    const { children, advice } = this.#limit;
    if (this.#started >= children)
      throw new Refused(
        "quota",
        `Execution limit reached: ${this.#started}/${children} for one message. Do the rest yourself and say what is missing. ${advice}`,
      );
    this.#started += 1;
  }

  #giveUp(error: unknown): never {
    this.#started -= 1;
    throw error;
  }
}

/** Throws an `UnpricedModel`, or an `UnpricedTool`. A promise only if the account is shared. */
export function checkPrice(profile: RunProfile, account: Account): void | Promise<void> {
  const unknown = unpriced(profile);
  if (unknown === undefined) return;
  const isLimited = account.limitsMoney();
  if (isLimited instanceof Promise) return isLimited.then((is) => refuse(is, unknown));
  refuse(isLimited, unknown);
}

/** Makes the error for what could cost anything. */
function unpriced({ model, price, tools }: RunProfile): (() => Error) | undefined {
  const { id, external } = model;
  if (external !== undefined)
    return price === undefined && external.maxCostUsd === undefined
      ? () => new UncappedAgent(external.serverName)
      : undefined;
  if (price === undefined) return () => new UnpricedModel(id);
  for (const { name, provider } of tools.definitions) {
    if (provider?.runsThere === true && price.calls?.[provider.id] === undefined)
      return () => new UnpricedTool(name, provider.id);
  }
  return undefined;
}

function refuse(isLimited: boolean, toError: () => Error): void {
  if (isLimited) throw toError();
}

type ChildTimeListeners = {
  onExceeded(reason: BudgetExceeded): void;
  /** Called once, when most of the time is used. */
  onNear(limit: LimitState): void;
};

export class ChildTime {
  readonly #limitMs: number | undefined;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #listeners: ChildTimeListeners;
  readonly #paused = new Map<object, number>();
  #running = 0;
  #usedMs = 0;
  #since = 0;
  #deadline: Deadline | undefined;
  #near: Deadline | undefined;
  #isNearTold = false;

  constructor(limitMs: number | undefined, clock: Clock, deadlines: Deadlines, listeners: ChildTimeListeners) {
    this.#limitMs = limitMs;
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#listeners = listeners;
  }

  /** Time that was used before a restart. */
  restore(usedMs: number): void {
    this.#usedMs = usedMs;
  }

  /** Throws `BudgetExceeded` when there is no time left. */
  check(): void {
    if (this.#limitMs !== undefined && this.#usedTime() >= this.#limitMs) throw this.#exceeded(this.#limitMs);
  }

  /** The limit and what is used of it; undefined without a limit. */
  state(): LimitState | undefined {
    const limit = this.#limitMs;
    return limit === undefined
      ? undefined
      : { of: "children", unit: "durationMs", limit, spent: this.#usedTime(), reserved: 0 };
  }

  start(): void {
    this.#running += 1;
    if (this.#limitMs === undefined || this.#running > 1) return;
    const limit = this.#limitMs;
    this.#since = this.#clock.monotonic();
    this.#deadline = this.#deadlines.add(limit - this.#usedMs, () => this.#listeners.onExceeded(this.#exceeded(limit)));
    if (this.#isNearTold) return;
    this.#near = this.#deadlines.add(limit * NEAR - this.#usedMs, () => {
      this.#isNearTold = true;
      const state = this.state();
      if (state !== undefined) this.#listeners.onNear(state);
    });
  }

  end(): void {
    this.#running -= 1;
    if (this.#limitMs === undefined || this.#running > 0) return;
    this.#usedMs += this.#clock.monotonic() - this.#since;
    this.#deadline?.[Symbol.dispose]();
    this.#deadline = undefined;
    this.#near?.[Symbol.dispose]();
    this.#near = undefined;
  }

  /** A run that waits for a person, or for a run below it that does, is not at work. Pauses are counted. */
  pause(child: object): void {
    const pauses = (this.#paused.get(child) ?? 0) + 1;
    this.#paused.set(child, pauses);
    if (pauses === 1) this.end();
  }

  resume(child: object): void {
    const pauses = (this.#paused.get(child) ?? 0) - 1;
    if (pauses > 0) {
      this.#paused.set(child, pauses);
      return;
    }
    this.#paused.delete(child);
    this.start();
  }

  #usedTime(): number {
    const now = this.#running > 0 ? this.#clock.monotonic() - this.#since : 0;
    return this.#usedMs + now;
  }

  #exceeded(limit: number): BudgetExceeded {
    return new BudgetExceeded("durationMs", this.#usedTime(), limit);
  }
}
