/**
 * R4: many callers race for one budget. A fake provider charges fixed amounts, a seeded scheduler ends calls in random order,
 * and books kept beside the ledger say whether it gave away too much, kept too much or left somebody waiting.
 */

import { type Ledger, openLedger } from "../../src/budget/ledger.ts";
import type { Random } from "../../src/core/clock.ts";
import { BudgetExceeded } from "../../src/core/errors.ts";
import type { Budget, CallNeed, Lease } from "../../src/core/limits.ts";
import { Scope } from "../../src/core/scope.ts";
import type { Price } from "../../src/core/usage.ts";
import { between, chance, pick, seededRandom } from "../../src/testing/seeded-random.ts";
import { Book, Holding, Reserve } from "./r4-books.ts";

export type RaceOptions = {
  seed: number;
  races: number;
  /** Callers at once in each race. */
  width: number;
  /** A ledger to race on instead of the real one: a mutant. */
  openLedger?: OpenLedger | undefined;
};

type OpenLedger = (budget: Budget) => Ledger | Promise<Ledger>;

export type RaceFigures = {
  seed: number;
  races: number;
  width: number;
  /** Attempts that got a lease, and how many of them had to wait for it. */
  granted: number;
  waited: number;
  refused: number;
  cancelled: number;
  lastWords: number;
  /** Units (tokens, nano-dollars, executions) reserved or spent beyond a limit. */
  overspent: number;
  /** Units that are still reserved when nobody holds anything. */
  leaked: number;
  /** Callers that nobody would ever have woken. */
  hung: number;
  /** Refusals although enough was in reach. */
  wrongRefusals: number;
};

export async function runLedgerRaces(options: RaceOptions): Promise<RaceFigures> {
  const { seed, races, width } = options;
  const figures: RaceFigures = {
    ...{ seed, races, width },
    ...{ granted: 0, waited: 0, refused: 0, cancelled: 0, lastWords: 0 },
    ...{ overspent: 0, leaked: 0, hung: 0, wrongRefusals: 0 },
  };
  // A third of all calls is refused, and the stack of each refusal would take longer than the race.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    for (let race = 0; race < races; race++) {
      const random = seededRandom(seed, `race ${race}`);
      const hasLastWords = chance(random, 0.3);
      const books = await openBooks(random, options.openLedger ?? openLedger);
      await new Race(random, figures, books, hasLastWords).run(width);
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  return figures;
}

class Race {
  readonly #random: Random;
  readonly #figures: RaceFigures;
  readonly #books: [Book, ...Book[]];
  readonly #hasLastWords: boolean;
  /** Calls on the wire and aborts to come; the scheduler picks one at a time. */
  readonly #pending: (() => void)[] = [];
  #running = 0;

  constructor(random: Random, figures: RaceFigures, books: [Book, ...Book[]], hasLastWords: boolean) {
    this.#random = random;
    this.#figures = figures;
    this.#books = books;
    this.#hasLastWords = hasLastWords;
  }

  async run(width: number): Promise<void> {
    const scopes: Scope[] = [];
    for (let caller = 0; caller < width; caller++) {
      const scope = new Scope();
      scopes.push(scope);
      this.#running += 1;
      const start = (): void =>
        void this.#callerWith(pick(this.#random, this.#books), scope).finally(() => (this.#running -= 1));
      if (chance(this.#random, 0.1)) this.#pending.push(() => scope.abort(STOPPED));
      if (chance(this.#random, 0.5)) this.#pending.push(start);
      else start();
    }
    await this.#endEverything();
    this.#figures.hung += this.#running;
    if (this.#running === 0) for (const book of this.#books) this.#figures.leaked += book.leak();
    for (const book of this.#books) this.#figures.overspent += book.overspent();
    for (const scope of scopes) scope.abort(STOPPED);
    await aMoment();
  }

  /** Ends calls in random order until none is left. Now and then several end before anybody can react. */
  async #endEverything(): Promise<void> {
    for (;;) {
      if (this.#pending.length === 0) await aMoment();
      if (this.#pending.length === 0) return;
      const index = Math.floor(this.#random() * this.#pending.length);
      const end = this.#pending[index];
      const last = this.#pending.pop();
      if (last !== undefined && index < this.#pending.length) this.#pending[index] = last;
      end?.();
      if (chance(this.#random, 0.5)) await undefined;
    }
  }

  async #callerWith(book: Book, scope: Scope): Promise<void> {
    using reserve = new Reserve(book);
    try {
      book.startExecution();
      if (this.#hasLastWords && chance(this.#random, 0.5)) reserve.open(needOf(this.#random, book.price));
      // Whoever keeps something for last words goes on for longer, so that it comes to need them.
      const calls = between(this.#random, 1, reserve.need === undefined ? 2 : 8);
      for (let call = 0; call < calls; call++) {
        const need = needOf(this.#random, book.price);
        await this.#call(book, need, await this.#reserve(book, need, scope), scope);
        reserve.resize(needOf(this.#random, book.price));
      }
    } catch (error) {
      if (error === STOPPED) this.#figures.cancelled += 1;
      else if (error instanceof BudgetExceeded) await this.#refuse(book, reserve, scope);
      else throw error;
    }
  }

  async #refuse(book: Book, reserve: Reserve, scope: Scope): Promise<void> {
    this.#figures.refused += 1;
    const need = chance(this.#random, 0.1) ? needOf(this.#random, book.price) : reserve.need;
    const lease = need === undefined ? undefined : reserve.take(need);
    if (need === undefined || lease === undefined) return;
    this.#figures.lastWords += 1;
    await this.#call(book, need, lease, scope).catch(() => {});
  }

  async #reserve(book: Book, need: CallNeed, scope: Scope): Promise<Lease> {
    let isSure = true;
    try {
      const lease = book.account.reserve(need, scope);
      if (!(lease instanceof Promise)) return lease;
      this.#figures.waited += 1;
      // Until the refusal is read here, somebody's last words may have been given back.
      isSure = !this.#hasLastWords;
      return await lease;
    } catch (error) {
      if (isSure && error instanceof BudgetExceeded && book.couldGive(need)) this.#figures.wrongRefusals += 1;
      throw error;
    }
  }

  async #call(book: Book, need: CallNeed, lease: Lease, scope: Scope): Promise<void> {
    this.#figures.granted += 1;
    const holding = new Holding(book, "inFlight", need, lease.outputCap);
    await new Promise<void>((resolve) => this.#pending.push(resolve));
    holding.end();
    // Refused before the first byte, or stopped: nothing was spent.
    if (scope.aborted || chance(this.#random, 0.1)) {
      lease[Symbol.dispose]();
      scope.throwIfAborted();
      return;
    }
    const output = Math.floor(this.#random() * (lease.outputCap + 1));
    const spent = new Holding(book, "spent", need, output);
    lease.settle({ tokens: spent.tokens, costUsd: book.price === undefined ? null : spent.nanoUsd / 1e9 });
    if (chance(this.#random, 0.1)) lease[Symbol.dispose]();
  }
}

const STOPPED = new Error("stopped");

const PRICES: readonly [Price | undefined, ...(Price | undefined)[]] = [
  { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 },
  { input: 0.07, output: 0.57 },
  { input: 1.1, output: 4.4, cachedInput: 0.55 },
  undefined,
];

/** A root and up to four accounts somewhere below it, each with less than what is left above. */
async function openBooks(random: Random, open: OpenLedger): Promise<[Book, ...Book[]]> {
  const rootBudget = budgetOf(random, between(random, 2_000, 100_000));
  const root = new Book(await open(rootBudget), rootBudget, pick(random, PRICES), undefined);
  const books: [Book, ...Book[]] = [root];
  for (let count = between(random, 0, 4); count > 0; count--) {
    const above = pick(random, books);
    const budget = chance(random, 0.2) ? {} : budgetOf(random, between(random, 500, 30_000), above.account.left());
    books.push(new Book(above.account.open(budget), budget, pick(random, PRICES), above));
  }
  return books;
}

function budgetOf(random: Random, size: number, left: Budget = {}): Budget {
  const kind = random();
  const budget: Budget = {};
  if (kind < 0.7) budget.tokens = Math.min(size, left.tokens ?? size);
  if (kind > 0.4) budget.costUsd = Math.min(size / 250_000, left.costUsd ?? 1);
  if (chance(random, 0.2)) budget.executions = Math.min(between(random, 10, 70), left.executions ?? 70);
  return budget;
}

function needOf(random: Random, price: Price | undefined): CallNeed {
  const minOutput = between(random, 10, 200);
  return { promptTokens: between(random, 20, 1_000), minOutput, outputCap: minOutput + between(random, 0, 800), price };
}

/** Lets every promise that can go on do so. */
function aMoment(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
