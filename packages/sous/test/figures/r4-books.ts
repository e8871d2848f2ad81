/** The books of a race: what the race itself counts for every limit, in whole units, to compare the ledger with. */

import type { Amount } from "../../src/core/amount.ts";
import type { Budget, CallNeed, LimitState } from "../../src/core/limits.ts";
import type { Price } from "../../src/core/usage.ts";

const UNITS = ["tokens", "nanoUsd"] as const;

/** One account of the race, with the limits above it. */
export class Book {
  /** As the ledger calls it in `limits()`. */
  readonly name: string;
  readonly price: Price | undefined;
  /** From the top down to this one. */
  readonly chain: readonly Book[];
  readonly runners = new Set<Runner>();
  readonly #limits: Amount & { executions: number };
  spent: Amount = NOTHING;
  #executions = 0;
  #mostOver = 0;

  constructor(name: string, budget: Budget, price: Price | undefined, above: Book | undefined) {
    this.name = name;
    this.price = price;
    this.chain = above === undefined ? [this] : [...above.chain, this];
    this.#limits = {
      tokens: budget.tokens ?? Number.POSITIVE_INFINITY,
      nanoUsd: budget.costUsd === undefined ? Number.POSITIVE_INFINITY : Math.round(budget.costUsd * 1e9),
      executions: budget.executions ?? Number.POSITIVE_INFINITY,
    };
  }

  addExecution(change: 1 | -1): void {
    for (const book of this.chain) {
      book.#executions += change;
      book.#mostOver = Math.max(book.#mostOver, book.#executions - book.#limits.executions);
    }
  }

  /** Compares what is spent and held with the limits. */
  check(): void {
    for (const book of this.chain) {
      for (const unit of UNITS) {
        let used = book.spent[unit];
        for (const { inFlight, kept } of book.runners) used += inFlight[unit] + kept[unit];
        book.#mostOver = Math.max(book.#mostOver, used - book.#limits[unit]);
      }
    }
  }

  /** Whether this limit could not pay for the least even if everything came back. */
  isNever(need: CallNeed): boolean {
    const least = bill(need, need.minOutput);
    return UNITS.some((unit) => least[unit] > this.#limits[unit] - this.spent[unit]);
  }

  overspent(): number {
    return this.#mostOver;
  }

  /** Units that the ledger holds although nobody does, or has spent and nobody has, or has not and somebody has. */
  leak(limits: readonly LimitState[]): number {
    let leak = 0;
    for (const { of, unit, spent, reserved } of limits) {
      if (of !== this.name) continue;
      const factor = unit === "costUsd" ? 1e9 : 1;
      const known = {
        tokens: this.spent.tokens,
        costUsd: this.spent.nanoUsd,
        executions: this.#executions,
        durationMs: 0,
      };
      leak += Math.abs(Math.round(spent * factor) - known[unit]) + Math.abs(Math.round(reserved * factor));
    }
    return leak;
  }
}

/** One run, or a child that waits to start, as the race knows it. */
export class Runner {
  readonly book: Book;
  isStart = true;
  isAsking = false;
  order = 0;
  inFlight: Amount = NOTHING;
  kept: Amount = NOTHING;
  #movesSince = 0;
  #asksSince = 0;

  constructor(book: Book) {
    this.book = book;
    for (const each of book.chain) each.runners.add(this);
  }

  asksFrom(turn: number): void {
    this.isAsking = true;
    this.#asksSince = turn;
  }

  /** Those who are refused in the same turn hear of it later, and it may have been served after them. */
  movesFrom(turn: number): void {
    this.isAsking = false;
    this.#movesSince = turn;
  }

  /** Of what it is given from now on, this much is in flight and that much kept. */
  holds(inFlight: Amount, kept: Amount): void {
    this.inFlight = inFlight;
    this.kept = kept;
    this.book.check();
  }

  spends(amount: Amount): void {
    for (const book of this.book.chain) book.spent = sum(book.spent, amount);
  }

  leave(): void {
    for (const book of this.book.chain) book.runners.delete(this);
  }

  /** A refusal is right where it could never be paid, or where nothing moves and it is the last in order. */
  mayBeRefused(need: CallNeed, turn: number, isOrderKnown: boolean): boolean {
    return this.book.chain.some((book) => {
      if (book.isNever(need)) return true;
      const others = [...book.runners].filter((other) => other !== this);
      // A refusal is heard of a moment later: one that asks since this turn may have come after it.
      const waits = others.filter((other) => other.isAsking && other.#asksSince < turn);
      const moves = others.some((other) => !other.isStart && !other.isAsking && other.#movesSince < turn);
      return !moves && (!isOrderKnown || !waits.some((other) => this.#comesBefore(other)));
    });
  }

  #comesBefore(other: Runner): boolean {
    return this.isStart === other.isStart ? this.order < other.order : other.isStart;
  }
}

export const NOTHING: Amount = { tokens: 0, nanoUsd: 0 };

/** What the provider asks for: a prompt is billed as written to the cache, where that has a price. */
export function bill({ price, promptTokens }: CallNeed, output: number): Amount {
  const nanoUsd =
    price === undefined
      ? 0
      : promptTokens * Math.round((price.cacheWrite ?? price.input) * 1000) + output * Math.round(price.output * 1000);
  return { tokens: promptTokens + output, nanoUsd };
}

export function sum(one: Amount, other: Amount): Amount {
  return { tokens: one.tokens + other.tokens, nanoUsd: one.nanoUsd + other.nanoUsd };
}

/** Unit by unit what `one` has more than `other`. */
export function more(one: Amount, other: Amount): Amount {
  return { tokens: Math.max(0, one.tokens - other.tokens), nanoUsd: Math.max(0, one.nanoUsd - other.nanoUsd) };
}

export function less(one: Amount, other: Amount): Amount {
  return { tokens: Math.min(one.tokens, other.tokens), nanoUsd: Math.min(one.nanoUsd, other.nanoUsd) };
}
