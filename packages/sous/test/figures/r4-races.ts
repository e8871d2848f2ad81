/**
 * R4: many runs race for one budget. A fake provider charges fixed amounts, a seeded scheduler ends calls and tools in random
 * order, and books kept beside the ledger say whether it gave away too much, kept too much, refused wrongly or left a run waiting.
 */

import type { Random } from "../../src/core/clock.ts";
import { BudgetExceeded } from "../../src/core/errors.ts";
import type { Account, Budget, CallNeed, LimitState } from "../../src/core/limits.ts";
import { Scope } from "../../src/core/scope.ts";
import type { Price } from "../../src/core/usage.ts";
import { openLedger } from "../../src/runtime/budget/ledger.ts";
import { Slots } from "../../src/runtime/budget/run-slots.ts";
import { settleFailure } from "../../src/runtime/model/charge.ts";
import { between, chance, pick, seededRandom } from "../../src/testing/world.ts";
import { Book } from "./r4-books.ts";
import type { SettleCut } from "./r4-cut-call.ts";
import { RaceRun } from "./r4-race-run.ts";

export type RaceOptions = {
  seed: number;
  races: number;
  /** Runs at once in each race. */
  width: number;
  /** A ledger to race on instead of the real one: a mutant, or one on a shared budget. */
  open?: OpenRace | undefined;
  /** A mutant of the charge for a cut answer. */
  settleCut?: SettleCut | undefined;
};

/** The accounts of the trees that race, and what the ledger calls the limits at their top. */
export type Opened = {
  readonly name: string;
  readonly trees: readonly [Account, ...Account[]];
  /** The limits at the top as everybody sees them, where other processes change them too. */
  limits?(): Promise<LimitState[]>;
};
export type OpenRace = (budget: Budget, slots: () => Slots) => Opened | Promise<Opened>;

export type RaceFigures = {
  seed: number;
  races: number;
  width: number;
  /** Calls that got a lease, and how many of them had to wait for it. */
  granted: number;
  waited: number;
  refused: number;
  cancelled: number;
  lastWords: number;
  /** Calls whose answer broke off. */
  cut: number;
  /** Units that providers bill for them beyond what was charged. */
  unpaid: number;
  /** Units (tokens, nano-dollars, executions) reserved or spent beyond a limit. */
  overspent: number;
  /** Units that are still reserved when nobody holds anything. */
  leaked: number;
  /** Runs that nobody would ever have woken. */
  hung: number;
  /** Refusals of what could be paid, while something moved or others came later. */
  wrongRefusals: number;
};

export async function runLedgerRaces(options: RaceOptions): Promise<RaceFigures> {
  const { seed, races, width, open = openLocal, settleCut = settleFailure } = options;
  const figures: RaceFigures = {
    ...{ seed, races, width },
    ...{ granted: 0, waited: 0, refused: 0, cancelled: 0, lastWords: 0, cut: 0, unpaid: 0 },
    ...{ overspent: 0, leaked: 0, hung: 0, wrongRefusals: 0 },
  };
  // A third of all calls is refused, and the stack of each refusal would take longer than the race.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    for (let race = 0; race < races; race++) {
      const random = seededRandom(seed, `race ${race}`);
      await new Race(random, figures, await openBooks(random, open), settleCut).run(width);
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  return figures;
}

export function openLocal(budget: Budget, slots: () => Slots, open: typeof openLedger = openLedger): Opened {
  return { name: "tree", trees: [open(budget, { slots: slots() })] };
}

type Place = { readonly book: Book; readonly account: Account };
type Field = { readonly opened: Opened; readonly places: readonly [Place, ...Place[]] };

class Race {
  readonly #random: Random;
  readonly #figures: RaceFigures;
  readonly #field: Field;
  readonly #settleCut: SettleCut;
  /** Calls on the wire, tools at work and aborts to come; the scheduler picks one at a time. */
  readonly #pending: (() => void)[] = [];
  #running = 0;
  /** How often every promise could go on so far. */
  #turn = 0;

  constructor(random: Random, figures: RaceFigures, field: Field, settleCut: SettleCut) {
    this.#random = random;
    this.#settleCut = settleCut;
    this.#figures = figures;
    this.#field = field;
  }

  async run(width: number): Promise<void> {
    const hasLastWords = chance(this.#random, 0.5);
    const scopes: Scope[] = [];
    for (let runs = 0; runs < width; runs++) {
      const scope = new Scope();
      scopes.push(scope);
      const { book, account } = pick(this.#random, this.#field.places);
      const start = () => void this.#start(book, account, scope, hasLastWords);
      if (chance(this.#random, 0.1)) this.#pending.push(() => scope.abort(STOPPED));
      this.#running += 1;
      if (chance(this.#random, 0.5)) this.#pending.push(start);
      else start();
    }
    await this.#endEverything();
    this.#figures.hung += this.#running;
    if (this.#running === 0) await this.#findLeaks();
    for (const { book } of this.#field.places) this.#figures.overspent += book.overspent();
    for (const scope of scopes) scope.abort(STOPPED);
    await aMoment();
  }

  async #start(book: Book, account: Account, scope: Scope, hasLastWords: boolean): Promise<void> {
    const world = {
      random: this.#random,
      figures: this.#figures,
      settleCut: this.#settleCut,
      onWire: () => this.#onWire(),
      turn: () => this.#turn,
    };
    const isOrderKnown = this.#field.opened.limits === undefined;
    try {
      await new RaceRun(world, { book, account, scope, hasLastWords, isOrderKnown }).run();
    } catch (error) {
      if (error === STOPPED) this.#figures.cancelled += 1;
      else if (error instanceof BudgetExceeded) this.#figures.refused += 1;
      else throw error;
    } finally {
      this.#running -= 1;
    }
  }

  async #findLeaks(): Promise<void> {
    const { opened, places } = this.#field;
    const top = await opened.limits?.();
    for (const { book, account } of places) {
      const limits = top !== undefined && book.name === opened.name ? top : account.limits();
      this.#figures.leaked += book.leak(limits);
    }
  }

  async #nextTurn(): Promise<void> {
    await aMoment();
    this.#turn += 1;
  }

  #onWire(): Promise<void> {
    return new Promise((resolve) => this.#pending.push(resolve));
  }

  /** Ends calls in random order until none is left. Now and then several end before anybody can react. */
  async #endEverything(): Promise<void> {
    for (;;) {
      for (let turns = 0; this.#pending.length === 0 && turns < MAX_TURNS; turns++) await this.#nextTurn();
      if (this.#pending.length === 0) return;
      const index = Math.floor(this.#random() * this.#pending.length);
      const end = this.#pending[index];
      const last = this.#pending.pop();
      if (last !== undefined && index < this.#pending.length) this.#pending[index] = last;
      end?.();
      if (chance(this.#random, 0.5)) await this.#nextTurn();
    }
  }
}

/** A slow store answers one after another; when nothing has come after this many turns, nothing will. */
const MAX_TURNS = 400;

const STOPPED = new Error("stopped");

const PRICES: readonly [Price | undefined, ...(Price | undefined)[]] = [
  { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 },
  { input: 0.07, output: 0.57 },
  { input: 1.1, output: 4.4, cachedInput: 0.55 },
  undefined,
];

/** One or more trees and up to four accounts below, each with less than what is left above. */
async function openBooks(random: Random, open: OpenRace): Promise<Field> {
  const budget = budgetOf(random, between(random, 2_000, 100_000));
  const atOnce = chance(random, 0.3) ? between(random, 3, 20) : 1_000;
  const opened = await open(budget, () => new Slots(atOnce, "queue"));
  const { name, trees } = opened;
  const price = pick(random, PRICES);
  const top = new Book(name, budget, price, undefined);
  const places: [Place, ...Place[]] = [{ book: top, account: trees[0] }];
  for (const account of trees.slice(1)) places.push({ book: top, account });
  for (let count = between(random, 0, 4); count > 0; count--) {
    const above = pick(random, places);
    const path = `share ${count}`;
    const own = chance(random, 0.2) ? {} : budgetOf(random, between(random, 500, 30_000), above.account.left());
    const account = above.account.open(own, { path, above: undefined });
    places.push({ book: new Book(path, own, pick(random, PRICES), above.book), account });
  }
  return { opened, places };
}

function budgetOf(random: Random, size: number, left: Budget = {}): Budget {
  const kind = random();
  const budget: Budget = {};
  if (kind < 0.7) budget.tokens = Math.min(size, left.tokens ?? size);
  if (kind > 0.4) budget.costUsd = Math.min(size / 250_000, left.costUsd ?? 1);
  if (chance(random, 0.2)) budget.executions = Math.min(between(random, 10, 70), left.executions ?? 70);
  return budget;
}

export function needOf(random: Random, price: Price | undefined): CallNeed {
  const minOutput = between(random, 10, 200);
  return { promptTokens: between(random, 20, 1_000), minOutput, outputCap: minOutput + between(random, 0, 800), price };
}

/** Lets every promise that can go on do so. */
function aMoment(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
