/** A shared budget over any store that can change one record safely: the rules are those of `core/purse.ts`. */

import { wholeUnits } from "../core/amount.ts";
import { checkWord, messageOf, StoreError, UserError } from "../core/errors.ts";
import {
  emptyPurse,
  lapseInPurse,
  leavePurse,
  type Purse,
  type PurseLimits,
  type PurseReply,
  type PurseShare,
  type PurseState,
  stateOf,
  stepInPurse,
} from "../core/purse.ts";
import {
  checkSharedName,
  type PursePort,
  type SharedBudget,
  type SharedBudgetOptions,
  type SharedLimits,
  toPurseLimits,
  toSharedLimits,
  unreachable,
} from "../core/shared-budget.ts";
import { isNews, livenessAt } from "./purse-row.ts";

type Eventually<T> = T | Promise<T>;

export type PurseChange<T> = {
  /** The new books; undefined when they stay as they are. */
  readonly purse: Purse | undefined;
  readonly result: T;
  /** The row that has changed so that others may be served now. Listeners are notified. */
  readonly newsFrom?: string | undefined;
};

/** What a store has to offer. */
export type PurseTables = {
  /**
   * Changes the books of one purse; undefined when there is none. They are stored whole or not at all, and no other process changes
   * them meanwhile. `change` may be called again with newer books: it must do nothing but return what it is to become.
   */
  update<T>(name: string, change: (purse: Purse | undefined) => PurseChange<T>): Eventually<T>;
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

class Desk implements PursePort {
  readonly #tables: PurseTables;
  readonly #name: string;
  readonly #id: string;

  constructor(tables: PurseTables, name: string) {
    this.#tables = tables;
    this.#name = name;
    this.#id = tables.newId();
  }

  async open(wanted: PurseLimits | undefined, existing: "join" | "replace"): Promise<void> {
    const name = this.#name;
    const refusal = await this.#update((purse): PurseChange<UserError | undefined> => {
      if (purse === undefined && wanted === undefined) {
        const sentence = `There is no shared budget ${JSON.stringify(name)}: give its limits to make it`;
        return { purse: undefined, result: new UserError(sentence) };
      }
      if (purse === undefined) return { purse: wanted && emptyPurse(wanted), result: undefined };
      if (wanted === undefined || areSame(purse.limits, wanted)) {
        // Otherwise rows of dead processes pile up.
        const next = this.#lapse(purse);
        return { purse: next === purse ? undefined : next, result: undefined, newsFrom: this.#newsIn(purse, next) };
      }
      if (existing === "join") return { purse: undefined, result: otherLimits(name, purse.limits) };
      return { purse: { ...purse, limits: wanted }, result: undefined, newsFrom: this.#id };
    });
    if (refusal !== undefined) throw refusal;
  }

  step(given: Parameters<PursePort["step"]>[0]): Eventually<PurseReply> {
    return this.#change((purse) => {
      const { owner, now } = this.#tables;
      const step = { ...given, share: inWholeUnits(given.share), id: this.#id, owner, now: now() };
      let { purse: next, reply } = stepInPurse(purse, step);
      if (isHeldUp(reply)) {
        // What a dead process holds will never come back, so no run should wait for it.
        const lapsed = this.#lapse(purse);
        if (lapsed !== purse) ({ purse: next, reply } = stepInPurse(lapsed, step));
      }
      return { purse: next, result: reply, newsFrom: this.#newsIn(purse, next) };
    });
  }

  leave(): Eventually<void> {
    return this.#update((purse) => {
      const next = purse && leavePurse(purse, this.#id);
      if (purse === undefined || next === undefined || next === purse) return { purse: undefined, result: undefined };
      return { purse: next, result: undefined, newsFrom: this.#newsIn(purse, next) };
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

  #look(): Eventually<PurseState> {
    return this.#change((purse) => {
      const next = this.#lapse(purse);
      if (next === purse) return { purse: undefined, result: stateOf(purse) };
      return { purse: next, result: stateOf(next), newsFrom: this.#newsIn(purse, next) };
    });
  }

  #lapse(purse: Purse): Purse {
    const { owner, now } = this.#tables;
    return lapseInPurse(purse, livenessAt(now(), owner));
  }

  #newsIn(before: Purse, after: Purse): string | undefined {
    return isNews(before, after, this.#id) ? this.#id : undefined;
  }

  #change<T>(change: (purse: Purse) => PurseChange<T>): Eventually<T> {
    return this.#update((purse) => {
      if (purse === undefined) throw new StoreError("it is no longer in the store");
      return change(purse);
    });
  }

  #update<T>(change: (purse: Purse | undefined) => PurseChange<T>): Eventually<T> {
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
function isHeldUp({ answers }: PurseReply): boolean {
  return answers.some(({ kind }) => kind !== "granted");
}

/** The books stay whole numbers, whatever a process sends. Its next step corrects a number that was not whole. */
function inWholeUnits({ spent, inFlight, kept, executions }: PurseShare): PurseShare {
  const whole = (figure: number) => wholeUnits(figure, Number.MAX_SAFE_INTEGER);
  const amount = ({ tokens, nanoUsd }: PurseShare["spent"]) => ({ tokens: whole(tokens), nanoUsd: whole(nanoUsd) });
  return { spent: amount(spent), inFlight: amount(inFlight), kept: amount(kept), executions: whole(executions) };
}

function otherLimits(name: string, limits: PurseLimits): UserError {
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

function areSame(one: PurseLimits, other: PurseLimits): boolean {
  return one.tokens === other.tokens && one.nanoUsd === other.nanoUsd && one.executions === other.executions;
}
