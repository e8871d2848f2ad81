/** A shared budget over any store that can change one record safely: the rules are those of `core/shared-budget-books.ts`. */

import { wholeUnits } from "../../core/amount.ts";
import { checkWord, messageOf, StoreError, UserError } from "../../core/errors.ts";
import {
  checkSharedName,
  type OpenedBudget,
  type SharedBudgetOptions,
  type SharedBudgetPort,
  type SharedLimits,
  toBookLimits,
  toSharedLimits,
  unreachable,
} from "../../core/shared-budget.ts";
import {
  emptyBooks,
  lapseInBooks,
  leaveBooks,
  type SharedBudgetBooks,
  type SharedBudgetLimits,
  type SharedBudgetReply,
  type SharedBudgetShare,
  type SharedBudgetState,
  stateOf,
  stepInBooks,
} from "../../core/shared-budget-books.ts";
import { isNews, livenessAt } from "./shared-budget-row.ts";

type Eventually<T> = T | Promise<T>;

export type SharedBudgetChange<T> = {
  /** The new books; undefined when they stay as they are. */
  readonly books: SharedBudgetBooks | undefined;
  readonly result: T;
  /** The row that has changed so that others may be served now. Listeners are notified. */
  readonly newsFrom?: string | undefined;
};

/** The interface that a store has to offer. */
export type SharedBudgetTables = {
  /**
   * Changes the books of one shared budget; undefined when there is none. They are stored whole or not at all, and no other process changes
   * them meanwhile. `change` may be called again with newer books: it must do nothing but return what it is to become.
   */
  update<T>(name: string, change: (books: SharedBudgetBooks | undefined) => SharedBudgetChange<T>): Eventually<T>;
  /** The process, as `owner.ts` writes it. Rows of this owner never lapse here. */
  readonly owner: string;
  /** The clock that all users of these tables share. */
  now(): number;
  /** Unique among all users of these tables. */
  newId(): string;
  /** Calls with the row that changed, or with nothing when something may have been missed. Undefined without notifications. */
  listen?(name: string, onNews: (from: string | undefined) => void): Disposable | undefined;
};

export async function openSharedBudget(
  tables: SharedBudgetTables,
  name: string,
  limits?: SharedLimits,
  { existing = "join" }: SharedBudgetOptions = {},
): Promise<OpenedBudget> {
  checkSharedName(name);
  checkWord("existing", existing, ["join", "replace"]);
  const wanted = limits === undefined ? undefined : toBookLimits(limits);
  const desk = new Desk(tables, name);
  await desk.open(wanted, existing);
  return { name, left: () => desk.left(), spent: () => desk.spent(), books: desk };
}

class Desk implements SharedBudgetPort {
  readonly #tables: SharedBudgetTables;
  readonly #name: string;
  readonly #id: string;

  constructor(tables: SharedBudgetTables, name: string) {
    this.#tables = tables;
    this.#name = name;
    this.#id = tables.newId();
  }

  async open(wanted: SharedBudgetLimits | undefined, existing: "join" | "replace"): Promise<void> {
    const name = this.#name;
    const refusal = await this.#update((books): SharedBudgetChange<UserError | undefined> => {
      if (books === undefined && wanted === undefined) {
        const sentence = `There is no shared budget ${JSON.stringify(name)}: give its limits to make it`;
        return { books: undefined, result: new UserError(sentence) };
      }
      if (books === undefined) return { books: wanted && emptyBooks(wanted), result: undefined };
      if (wanted === undefined || areSame(books.limits, wanted)) {
        // Otherwise rows of dead processes pile up.
        const next = this.#lapse(books);
        return { books: next === books ? undefined : next, result: undefined, newsFrom: this.#newsIn(books, next) };
      }
      if (existing === "join") return { books: undefined, result: otherLimits(name, books.limits) };
      return { books: { ...books, limits: wanted }, result: undefined, newsFrom: this.#id };
    });
    if (refusal !== undefined) throw refusal;
  }

  step(given: Parameters<SharedBudgetPort["step"]>[0]): Eventually<SharedBudgetReply> {
    return this.#change((books) => {
      const { owner, now } = this.#tables;
      const step = { ...given, share: inWholeUnits(given.share), id: this.#id, owner, now: now() };
      let { books: next, reply } = stepInBooks(books, step);
      if (isHeldUp(reply)) {
        // Amounts that a dead process holds will never come back, so no run should wait for it.
        const lapsed = this.#lapse(books);
        if (lapsed !== books) ({ books: next, reply } = stepInBooks(lapsed, step));
      }
      return { books: next, result: reply, newsFrom: this.#newsIn(books, next) };
    });
  }

  leave(): Eventually<void> {
    return this.#update((books) => {
      const next = books && leaveBooks(books, this.#id);
      if (books === undefined || next === undefined || next === books) return { books: undefined, result: undefined };
      return { books: next, result: undefined, newsFrom: this.#newsIn(books, next) };
    });
  }

  listen(onNews: () => void): Disposable | undefined {
    return this.#tables.listen?.(this.#name, (from) => {
      if (from !== this.#id) onNews();
    });
  }

  async left(): Promise<SharedLimits> {
    const { limits, spent, reserved, executions } = await this.#look();
    const rest = (limit: number | undefined, used: number) =>
      limit === undefined ? undefined : Math.max(0, limit - used);
    return toSharedLimits({
      tokens: rest(limits.tokens, spent.tokens + reserved.tokens),
      nanoUsd: rest(limits.nanoUsd, spent.nanoUsd + reserved.nanoUsd),
      executions: rest(limits.executions, executions),
    });
  }

  async spent(): Promise<Required<SharedLimits>> {
    const { spent, executions } = await this.#look();
    return { tokens: spent.tokens, costUsd: spent.nanoUsd / 1e9, executions };
  }

  #look(): Eventually<SharedBudgetState> {
    return this.#change((books) => {
      const next = this.#lapse(books);
      if (next === books) return { books: undefined, result: stateOf(books) };
      return { books: next, result: stateOf(next), newsFrom: this.#newsIn(books, next) };
    });
  }

  #lapse(books: SharedBudgetBooks): SharedBudgetBooks {
    const { owner, now } = this.#tables;
    return lapseInBooks(books, livenessAt(now(), owner));
  }

  #newsIn(before: SharedBudgetBooks, after: SharedBudgetBooks): string | undefined {
    return isNews(before, after, this.#id) ? this.#id : undefined;
  }

  #change<T>(change: (books: SharedBudgetBooks) => SharedBudgetChange<T>): Eventually<T> {
    return this.#update((books) => {
      if (books === undefined) throw new StoreError("it is no longer in the store");
      return change(books);
    });
  }

  #update<T>(change: (books: SharedBudgetBooks | undefined) => SharedBudgetChange<T>): Eventually<T> {
    const explain = (error: unknown): never => {
      throw error instanceof StoreError ? unreachable(this.#name, error, messageOf(error)) : error;
    };
    try {
      const result = this.#tables.update(this.#name, change);
      return result instanceof Promise ? result.catch(explain) : result;
    } catch (error) {
      return explain(error);
    }
  }
}

/** Dead processes do not hold back a child: what they started stays counted. */
function isHeldUp({ answers }: SharedBudgetReply): boolean {
  return answers.some(({ kind }) => kind !== "granted");
}

/** The books stay whole numbers, whatever a process sends. Its next step corrects a number that was not whole. */
function inWholeUnits({ spent, inFlight, kept, executions }: SharedBudgetShare): SharedBudgetShare {
  const whole = (figure: number) => wholeUnits(figure, Number.MAX_SAFE_INTEGER);
  const amount = ({ tokens, nanoUsd }: SharedBudgetShare["spent"]) => ({
    tokens: whole(tokens),
    nanoUsd: whole(nanoUsd),
  });
  return { spent: amount(spent), inFlight: amount(inFlight), kept: amount(kept), executions: whole(executions) };
}

function otherLimits(name: string, limits: SharedBudgetLimits): UserError {
  const { tokens, costUsd, executions } = toSharedLimits(limits);
  const words = [
    tokens === undefined ? [] : `${tokens} tokens`,
    costUsd === undefined ? [] : `$${costUsd}`,
    executions === undefined ? [] : `${executions} executions`,
  ];
  return new UserError(
    `The shared budget ${JSON.stringify(name)} has other limits (${words.flat().join(", ")}): join it without limits, or set them for all users with { existing: "replace" }`,
  );
}

function areSame(one: SharedBudgetLimits, other: SharedBudgetLimits): boolean {
  return one.tokens === other.tokens && one.nanoUsd === other.nanoUsd && one.executions === other.executions;
}
