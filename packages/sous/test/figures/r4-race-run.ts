/** One run of a race for a budget: it starts, calls, uses tools, has last words and ends, and keeps the books of what it does. */

import { type Amount, toNanoUsd } from "../../src/core/amount.ts";
import type { Random } from "../../src/core/clock.ts";
import { BudgetExceeded } from "../../src/core/errors.ts";
import type { Account, CallNeed, Holding, Lease, Started } from "../../src/core/limits.ts";
import type { Scope } from "../../src/core/scope.ts";
import { between, chance } from "../../src/testing/world.ts";
import { type Book, bill, less, more, NOTHING, Runner, sum } from "./r4-books.ts";
import { cutCall, type SettleCut } from "./r4-cut-call.ts";
import { needOf, type RaceFigures } from "./r4-races.ts";

type World = {
  readonly random: Random;
  readonly figures: RaceFigures;
  readonly settleCut: SettleCut;
  onWire(): Promise<void>;
  turn(): number;
};

type RunOptions = {
  readonly book: Book;
  readonly account: Account;
  readonly scope: Scope;
  readonly hasLastWords: boolean;
  /** False where processes share a budget: between them the order is that of their waiting. */
  readonly isOrderKnown: boolean;
};

let orders = 0;

export class RaceRun {
  readonly #world: World;
  readonly #options: RunOptions;
  readonly #runner: Runner;
  /** Nothing is kept for last words before the first answer. */
  #hasAnswered = false;

  constructor(world: World, options: RunOptions) {
    this.#world = world;
    this.#options = options;
    this.#runner = new Runner(options.book);
  }

  /** Throws what ended it before its time. */
  async run(): Promise<void> {
    try {
      const { account, book } = this.#options;
      await account.startExecution();
      book.addExecution(1);
      const need = this.#need();
      const { holding, slot, first } = await this.#start(need);
      account.useExecution();
      try {
        if (first === undefined) throw new Error("It started without its first call");
        await this.#work(holding, need, first);
      } finally {
        this.#runner.leave();
        holding[Symbol.dispose]();
        slot[Symbol.dispose]();
      }
    } finally {
      this.#runner.leave();
    }
  }

  async #start(need: CallNeed): Promise<Started> {
    const { account, book, scope } = this.#options;
    this.#runner.asksFrom(this.#world.turn());
    this.#runner.order = ++orders;
    const onRefused = () => {
      if (!scope.aborted) this.#checkRefusal(need);
      this.#runner.leave();
    };
    try {
      const path = `lead/${this.#runner.order}`;
      const started = await this.#watch(account.start({ path, above: undefined, need, scope, onWait, onRefused }));
      this.#runner.isStart = false;
      // Of those who start in one turn, the race does not hear which the ledger served first.
      this.#runner.order = this.#world.turn();
      this.#runner.movesFrom(this.#world.turn());
      return started;
    } catch (error) {
      this.#runner.leave();
      account.undoExecution();
      book.addExecution(-1);
      throw error;
    }
  }

  async #work(holding: Holding, need: CallNeed, first: Lease): Promise<void> {
    const { random } = this.#world;
    let lease: Lease | undefined = first;
    let next = need;
    // One that keeps something for last words goes on for longer, so that it comes to need them.
    for (let calls = between(random, 1, this.#options.hasLastWords ? 8 : 2); calls > 0; calls--) {
      lease ??= await this.#reserve(holding, next);
      await this.#call(next, lease);
      lease = undefined;
      next = this.#need();
      if (calls > 1 && chance(random, 0.4)) await this.#useTool(holding);
    }
  }

  async #useTool(holding: Holding): Promise<void> {
    using _call = holding.runCall();
    await this.#world.onWire();
    this.#options.scope.throwIfAborted();
  }

  async #reserve(holding: Holding, need: CallNeed): Promise<Lease> {
    const lastWords = this.#options.hasLastWords && this.#hasAnswered ? this.#lastWords() : NOTHING;
    try {
      const lease = await this.#ask(holding, need, lastWords, undefined);
      this.#runner.holds(bill(need, lease.outputCap), sum(this.#runner.kept, more(lastWords, this.#runner.kept)));
      return lease;
    } catch (error) {
      if (!(error instanceof BudgetExceeded) || this.#runner.kept.tokens === 0) throw error;
      await this.#close(holding);
      throw error;
    }
  }

  /** Spends its reserve on a last call; it may ask for more than it has kept, and then waits like any other. */
  async #close(holding: Holding): Promise<void> {
    const need = { ...this.#need(), outputCap: 500 };
    const lease = await this.#ask(holding, need, NOTHING, { enoughOutput: need.minOutput });
    this.#world.figures.lastWords += 1;
    this.#runner.holds(bill(need, lease.outputCap), NOTHING);
    await this.#call(need, lease);
  }

  async #ask(
    holding: Holding,
    need: CallNeed,
    lastWords: Amount,
    closing: { enoughOutput: number } | undefined,
  ): Promise<Lease> {
    const { scope } = this.#options;
    this.#runner.asksFrom(this.#world.turn());
    try {
      return await this.#watch(holding.reserve({ need, lastWords, closing, onWait }, scope));
    } catch (error) {
      if (error instanceof BudgetExceeded) this.#checkRefusal(need);
      throw error;
    } finally {
      this.#runner.movesFrom(this.#world.turn());
    }
  }

  async #call(need: CallNeed, lease: Lease): Promise<void> {
    const { random, figures } = this.#world;
    const { scope, hasLastWords } = this.#options;
    figures.granted += 1;
    const runner = this.#runner;
    const held = bill(need, lease.outputCap);
    runner.holds(held, runner.kept);
    await this.#world.onWire();
    // Refused before the first byte, or stopped: nothing was spent.
    if (scope.aborted || chance(random, 0.1)) {
      runner.holds(NOTHING, runner.kept);
      lease[Symbol.dispose]();
      scope.throwIfAborted();
      return;
    }
    if (chance(random, 0.2)) {
      this.#cut(need, lease);
      return;
    }
    this.#hasAnswered = true;
    const spent = bill(need, Math.floor(random() * (lease.outputCap + 1)));
    const lastWords = hasLastWords ? this.#lastWords() : NOTHING;
    const keeps = less(more(lastWords, runner.kept), more(held, spent));
    runner.spends(spent);
    runner.holds(NOTHING, sum(runner.kept, keeps));
    lease.settle({ tokens: spent.tokens, costUsd: need.price === undefined ? null : spent.nanoUsd / 1e9 }, lastWords);
    if (chance(random, 0.1)) lease[Symbol.dispose]();
  }

  /** The answer breaks off: what was left of the lease is free, and nothing is kept of it. */
  #cut(need: CallNeed, lease: Lease): void {
    const { random, figures, settleCut } = this.#world;
    const runner = this.#runner;
    const settle: Lease["settle"] = (spent, lastWords) => {
      // The ledger serves others at once, and the books are to be right by then.
      runner.spends({ tokens: spent.tokens, nanoUsd: toNanoUsd(spent.costUsd) });
      runner.holds(NOTHING, runner.kept);
      lease.settle(spent, lastWords);
    };
    const { outputCap } = lease;
    const booked: Lease = { outputCap, settle, [Symbol.dispose]: () => lease[Symbol.dispose]() };
    const unpaid = cutCall(random, { need, lease: booked, scope: this.#options.scope, settleCut });
    figures.cut += 1;
    figures.unpaid += unpaid.tokens + unpaid.nanoUsd;
  }

  #need(): CallNeed {
    return needOf(this.#world.random, this.#options.book.price);
  }

  #lastWords(): Amount {
    const need = this.#need();
    return bill(need, need.minOutput);
  }

  #checkRefusal(need: CallNeed): void {
    if (!this.#runner.mayBeRefused(need, this.#world.turn(), this.#options.isOrderKnown))
      this.#world.figures.wrongRefusals += 1;
  }

  #watch<T>(given: T | Promise<T>): T | Promise<T> {
    if (given instanceof Promise) this.#world.figures.waited += 1;
    return given;
  }
}

function onWait(): void {}
