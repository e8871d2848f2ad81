/** A shared budget over any store that has transactions: loads the books, changes them by the rules of `core/purse.ts`, keeps them. */

import { type BudgetExceeded, messageOf, StoreError, UserError } from "../core/errors.ts";
import { type Steps, wait } from "../core/now-or-later.ts";
import { checkWord } from "../core/options.ts";
import {
  emptyPurse,
  lapseInPurse,
  leavePurseLine,
  type Purse,
  type PurseAmount,
  type PurseAnswer,
  type PurseLease,
  type PurseLimits,
  settleInPurse,
  startInPurse,
  takeFromPurse,
} from "../core/purse.ts";
import {
  checkSharedName,
  NEW_PLACE,
  type PurseAsk,
  type PurseReply,
  type SharedBudget,
  type SharedBudgetOptions,
  type SharedLimits,
  toPurseLimits,
  toSharedLimits,
  unreachable,
} from "../core/shared-budget.ts";

/** A reservation as it is kept, with whoever made it. */
export type LeaseRow = PurseLease & { readonly id: string; readonly owner: string };

export type AbandonedLease = LeaseRow & { readonly isOrphan: boolean };

type Eventually<T> = T | Promise<T>;

/** The rows of one purse inside a transaction. */
export type PurseRows = {
  load(): Eventually<Purse | undefined>;
  /** Inserts or replaces. */
  save(purse: Purse): Eventually<void>;
  lease(id: string): Eventually<LeaseRow | undefined>;
  /** Reservations that are not lapsed and whose owner seems to be dead, or is so for certain. */
  abandoned(): Eventually<readonly AbandonedLease[]>;
  putLease(lease: LeaseRow): Eventually<void>;
  deleteLease(id: string): Eventually<void>;
};

/** What a store has to offer. */
export type PurseTables = {
  /** Runs the steps as one transaction: all of it is kept or nothing, and nobody else changes this purse meanwhile. */
  transact<T>(name: string, steps: (rows: PurseRows) => Steps<T>): Eventually<T>;
  /** Who reserves. */
  readonly owner: string;
  now(): number;
  /** Unique among everybody who uses these tables. */
  newId(): string;
};

export async function openSharedBudget(
  tables: PurseTables,
  name: string,
  limits?: SharedLimits,
  { existing = "join" }: SharedBudgetOptions = {},
): Promise<SharedBudget> {
  checkSharedName(name);
  checkWord("existing", existing, ["join", "replace"]);
  const wanted = limits === undefined ? undefined : toPurseLimits(limits);
  const desk = new Desk(tables, name);
  await desk.open(wanted, existing);
  return { name, left: () => desk.left(), spent: () => desk.spent(), purse: desk };
}

class Desk {
  readonly #tables: PurseTables;
  readonly #name: string;

  constructor(tables: PurseTables, name: string) {
    this.#tables = tables;
    this.#name = name;
  }

  open(wanted: PurseLimits | undefined, existing: "join" | "replace"): Eventually<void> {
    const name = this.#name;
    return this.#transact(function* (rows) {
      const purse = yield* wait(rows.load());
      if (wanted === undefined && purse === undefined)
        throw new UserError(`There is no shared budget ${JSON.stringify(name)}: give its limits to make it`);
      if (wanted === undefined || (purse !== undefined && areSame(purse.limits, wanted))) return;
      if (purse !== undefined && existing === "join") throw otherLimits(name, purse.limits);
      yield* wait(rows.save(purse === undefined ? emptyPurse(wanted) : { ...purse, limits: wanted }));
    });
  }

  reserve(ask: PurseAsk): Eventually<PurseReply> {
    const { kind, need } = ask;
    const { owner, now, newId } = this.#tables;
    const place = ask.place === NEW_PLACE ? newId() : ask.place;
    return this.#change(function* (purse, rows) {
      const instead = ask.instead === undefined ? undefined : yield* wait(rows.lease(ask.instead));
      const request = { kind, need, instead, place, now: now() };
      let answer = takeFromPurse(purse, request);
      // What a dead process reserved will never come back, so nobody should wait for it.
      if (answer.kind === "wait" && (yield* lapseAbandoned(purse, rows))) answer = takeFromPurse(purse, request);
      if (answer.kind !== "granted") return toReply(answer, place);
      if (instead !== undefined) yield* wait(rows.deleteLease(instead.id));
      const row = { ...answer.lease, id: newId(), owner };
      yield* wait(rows.putLease(row));
      return { kind: "granted", leaseId: row.id, output: answer.output };
    });
  }

  settle(leaseId: string, spent: PurseAmount): Eventually<void> {
    return this.#change(function* (purse, rows) {
      const lease = yield* wait(rows.lease(leaseId));
      if (lease === undefined) return;
      settleInPurse(purse, lease, spent);
      yield* wait(rows.deleteLease(leaseId));
    });
  }

  startExecution(): Eventually<BudgetExceeded | undefined> {
    // biome-ignore lint/correctness/useYield: a step that has nothing to wait for.
    return this.#change(function* (purse) {
      return startInPurse(purse);
    });
  }

  undoExecution(): Eventually<void> {
    // biome-ignore lint/correctness/useYield: a step that has nothing to wait for.
    return this.#change(function* (purse) {
      purse.executions = Math.max(0, purse.executions - 1);
    });
  }

  leaveLine(place: string): Eventually<void> {
    // biome-ignore lint/correctness/useYield: a step that has nothing to wait for.
    return this.#change(function* (purse) {
      leavePurseLine(purse, place);
    });
  }

  async left(): Promise<SharedLimits> {
    const { limits, spent, inFlight, kept, executions } = await this.#look();
    const rest = (limit: number | undefined, used: number) =>
      limit === undefined ? undefined : Math.max(0, limit - used);
    return toSharedLimits({
      tokens: rest(limits.tokens, spent.tokens + inFlight.tokens + kept.tokens),
      nanoUsd: rest(limits.nanoUsd, spent.nanoUsd + inFlight.nanoUsd + kept.nanoUsd),
      executions: rest(limits.executions, executions),
    });
  }

  async spent(): Promise<Required<SharedLimits>> {
    const { spent, executions } = await this.#look();
    return { tokens: spent.tokens, costUsd: spent.nanoUsd / 1e9, executions };
  }

  #look(): Eventually<Purse> {
    return this.#change(function* (purse, rows) {
      yield* lapseAbandoned(purse, rows);
      return purse;
    });
  }

  /** Loads the books, lets the steps change them, and keeps them if they did. */
  #change<T>(steps: (purse: Purse, rows: PurseRows) => Steps<T>): Eventually<T> {
    return this.#transact(function* (rows) {
      const purse = yield* wait(rows.load());
      if (purse === undefined) throw new StoreError("it is no longer in the store");
      const before = { ...purse };
      const result = yield* steps(purse, rows);
      if (!isUnchanged(before, purse)) yield* wait(rows.save(purse));
      return result;
    });
  }

  #transact<T>(steps: (rows: PurseRows) => Steps<T>): Eventually<T> {
    const explain = (error: unknown): never => {
      throw error instanceof StoreError ? unreachable(this.#name, error, messageOf(error)) : error;
    };
    try {
      const result = this.#tables.transact(this.#name, steps);
      return result instanceof Promise ? result.catch(explain) : result;
    } catch (error) {
      return explain(error);
    }
  }
}

/** True when there were any. One whose owner may yet wake up is remembered, and settled like any other if that happens. */
function* lapseAbandoned(purse: Purse, rows: PurseRows): Steps<boolean> {
  const abandoned = yield* wait(rows.abandoned());
  for (const lease of abandoned) {
    const { id, owner, isOrphan } = lease;
    const lapsed = lapseInPurse(purse, lease);
    yield* wait(isOrphan ? rows.deleteLease(id) : rows.putLease({ ...lapsed, id, owner }));
  }
  return abandoned.length > 0;
}

function toReply(answer: Exclude<PurseAnswer, { kind: "granted" }>, place: string | undefined): PurseReply {
  // Whoever has no place is refused and not told to wait.
  return answer.kind === "refused" ? answer : { kind: "wait", place: place ?? "" };
}

function otherLimits(name: string, limits: PurseLimits): UserError {
  const { tokens, costUsd, executions } = toSharedLimits(limits);
  const words = [
    tokens === undefined ? [] : `${tokens} tokens`,
    costUsd === undefined ? [] : `$${costUsd}`,
    executions === undefined ? [] : `${executions} executions`,
  ];
  return new UserError(
    `The shared budget ${JSON.stringify(name)} has other limits (${words.flat().join(", ")}): join it without limits, or set them for everybody with { existing: "replace" }`,
  );
}

function areSame(one: PurseLimits, other: PurseLimits): boolean {
  return one.tokens === other.tokens && one.nanoUsd === other.nanoUsd && one.executions === other.executions;
}

/** The parts of the books are replaced, never changed, so the same part is an unchanged one. */
function isUnchanged(before: Purse, after: Purse): boolean {
  return (
    before.spent === after.spent &&
    before.inFlight === after.inFlight &&
    before.kept === after.kept &&
    before.executions === after.executions &&
    before.waiting === after.waiting
  );
}
