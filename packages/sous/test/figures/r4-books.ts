/** The books of a race: what the race itself counts for every account, in whole units, to compare the ledger with. */

import type { Ledger } from "../../src/budget/ledger.ts";
import type { Budget, CallNeed, Lease } from "../../src/core/limits.ts";
import type { Price } from "../../src/core/usage.ts";

/** One account of the race. */
export class Book {
  readonly account: Ledger;
  readonly price: Price | undefined;
  readonly chain: Book[];
  readonly #limits: { tokens: number; nanoUsd: number; executions: number };
  readonly tokens = { spent: 0, inFlight: 0, kept: 0 };
  readonly nanoUsd = { spent: 0, inFlight: 0, kept: 0 };
  #executions = 0;
  #mostOver = 0;

  constructor(account: Ledger, budget: Budget, price: Price | undefined, above: Book | undefined) {
    this.account = account;
    this.price = price;
    this.chain = above === undefined ? [this] : [...above.chain, this];
    this.#limits = {
      tokens: budget.tokens ?? Number.POSITIVE_INFINITY,
      nanoUsd: budget.costUsd === undefined ? Number.POSITIVE_INFINITY : Math.round(budget.costUsd * 1e9),
      executions: budget.executions ?? Number.POSITIVE_INFINITY,
    };
  }

  startExecution(): void {
    this.account.startExecution();
    for (const book of this.chain) {
      book.#executions += 1;
      book.#mostOver = Math.max(book.#mostOver, book.#executions - book.#limits.executions);
    }
  }

  change(kind: "spent" | "inFlight" | "kept", tokens: number, nanoUsd: number): void {
    for (const book of this.chain) {
      book.tokens[kind] += tokens;
      book.nanoUsd[kind] += nanoUsd;
      const tokensOver = book.tokens.spent + book.tokens.inFlight + book.tokens.kept - book.#limits.tokens;
      const nanoUsdOver = book.nanoUsd.spent + book.nanoUsd.inFlight + book.nanoUsd.kept - book.#limits.nanoUsd;
      book.#mostOver = Math.max(book.#mostOver, tokensOver, nanoUsdOver);
    }
  }

  /** Whether every account above would have enough if the calls on the wire cost nothing. */
  couldGive(need: CallNeed): boolean {
    const [tokens, nanoUsd] = bill(need, need.minOutput);
    return this.chain.every(
      (book) =>
        tokens <= book.#limits.tokens - book.tokens.spent - book.tokens.kept &&
        nanoUsd <= book.#limits.nanoUsd - book.nanoUsd.spent - book.nanoUsd.kept,
    );
  }

  overspent(): number {
    return this.#mostOver;
  }

  /** Units the ledger does not have left although nobody holds them, or has left although they are spent. */
  leak(): number {
    const left = this.account.left();
    const tokens = Math.min(...this.chain.map((book) => book.#limits.tokens - book.tokens.spent));
    const nanoUsd = Math.min(...this.chain.map((book) => book.#limits.nanoUsd - book.nanoUsd.spent));
    return (
      (left.tokens === undefined ? 0 : Math.abs(tokens - left.tokens)) +
      (left.costUsd === undefined ? 0 : Math.abs(nanoUsd - Math.round(left.costUsd * 1e9)))
    );
  }
}

/** An amount in the books until its end. */
export class Holding {
  readonly tokens: number;
  readonly nanoUsd: number;
  readonly #book: Book;
  readonly #kind: "spent" | "inFlight" | "kept";
  #isOpen = true;

  constructor(book: Book, kind: "spent" | "inFlight" | "kept", need: CallNeed, output: number) {
    [this.tokens, this.nanoUsd] = bill(need, output);
    this.#book = book;
    this.#kind = kind;
    book.change(kind, this.tokens, this.nanoUsd);
  }

  end(): void {
    if (this.#isOpen) this.#book.change(this.#kind, -this.tokens, -this.nanoUsd);
    this.#isOpen = false;
  }
}

/** What a caller keeps for its last words, in the ledger and in the books. */
export class Reserve implements Disposable {
  need: CallNeed | undefined;
  readonly #book: Book;
  #lease: ReturnType<Ledger["reserveWrapUp"]> | undefined;
  #holding: Holding | undefined;

  constructor(book: Book) {
    this.#book = book;
  }

  open(need: CallNeed): void {
    this.#lease = this.#book.account.reserveWrapUp(need);
    this.#hold(need);
  }

  resize(need: CallNeed): void {
    if (this.#lease?.resize(need)) this.#hold(need);
  }

  take(need: CallNeed): Lease | undefined {
    const lease = this.#lease?.take(need);
    if (lease !== undefined) this.#holding?.end();
    return lease;
  }

  [Symbol.dispose](): void {
    this.#lease?.[Symbol.dispose]();
    this.#holding?.end();
  }

  #hold(need: CallNeed): void {
    this.need = need;
    this.#holding?.end();
    this.#holding = new Holding(this.#book, "kept", need, need.minOutput);
  }
}

/** What the provider asks for: a prompt is billed as written to the cache, where that has a price. */
function bill(need: CallNeed, output: number): [tokens: number, nanoUsd: number] {
  const { price, promptTokens } = need;
  const nanoUsd =
    price === undefined
      ? 0
      : promptTokens * Math.round((price.cacheWrite ?? price.input) * 1000) + output * Math.round(price.output * 1000);
  return [promptTokens + output, nanoUsd];
}
