/** The claims to write trees in a database: with a number that only grows, and leases that end unless they are renewed. */

import type { SQLOutputValue } from "node:sqlite";
import type { Clock } from "../../../core/clock.ts";
import { StoreError, UserError } from "../../../core/errors.ts";
import { type Claim, NO_OWNER } from "../../../core/store.ts";
import { fromColumn, toColumn } from "../event-row.ts";
import { atWork, isGone, LEASE_MS, newOwner, RENEWAL_MS } from "../owner.ts";
import { capNumber } from "./column-kinds.ts";
import type { SqliteConnection } from "./connection.ts";

/** The claim on a journal as it stands in the row of its first run. */
export type SqliteTreeRow = {
  readonly number: number;
  /** The id of the journal. */
  readonly id: string;
  /** The root of its tree, when that is in another journal. */
  readonly ofRoot: string | undefined;
  /** True while it was placed and its first run has no end. */
  readonly isOpen: boolean;
  readonly claims: number;
  readonly fence: number;
  readonly owner: string | undefined;
  readonly leasedUntil: number;
};

export class SqliteClaims {
  readonly owner: string = newOwner();
  readonly #connection: SqliteConnection;
  readonly #clock: Pick<Clock, "now" | "timer">;
  /** The numbers of the trees that this store works on. */
  readonly #held = new Set<number>();
  #renewal: Disposable | undefined;

  constructor(connection: SqliteConnection, clock: Pick<Clock, "now" | "timer">) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** Undefined when there is no such tree. */
  find(rootId: string): SqliteTreeRow | undefined {
    const row = this.#connection.prepare(FIND).get(toColumn(rootId));
    return row === undefined ? undefined : toTreeRow(row);
  }

  /** The journals of a tree, that of its root first; none when there is no such tree. */
  journalsOf(rootId: string): SqliteTreeRow[] {
    const root = this.find(rootId);
    if (root === undefined || root.ofRoot !== undefined) return [];
    return [root, ...this.#connection.prepare(FIND_PLACED).all(toColumn(rootId)).map(toTreeRow)];
  }

  /** The numbers of the journals that a process works on. */
  treesAtWork(): number[] {
    const owned = this.#connection.prepare(FIND_OWNED).all().map(toTreeRow);
    return owned.filter((tree) => this.isAtWork(tree)).map(({ number }) => number);
  }

  /** Works like `isAtWork`, by number. */
  isTreeAtWork(number: number): boolean {
    const row = this.#connection.prepare(FIND_NUMBER).get(number);
    return row !== undefined && this.isAtWork(toTreeRow(row));
  }

  /** True while a process works on the tree, as far as can be known from here. */
  isAtWork({ owner, leasedUntil }: SqliteTreeRow): boolean {
    if (owner === undefined || owner === this.owner) return owner !== undefined;
    return leasedUntil > this.#clock.now() && !isGone(owner);
  }

  checkFree(tree: SqliteTreeRow): void {
    const { id, owner, leasedUntil } = tree;
    if (owner === undefined || !this.isAtWork(tree)) return;
    throw atWork(id, owner, leasedUntil);
  }

  claim(rootId: string): Claim {
    const { number, fence } = this.#connection.write(() => {
      const tree = this.find(rootId);
      if (tree === undefined) throw new UserError(`No run with the id ${rootId}`);
      this.checkFree(tree);
      const fence = tree.fence + 1;
      this.take(tree.number, fence);
      this.#connection.prepare(COUNT).run(tree.isOpen ? tree.claims + 1 : null, this.owner, tree.number);
      return { number: tree.number, fence };
    });
    this.hold(number);
    return { fence };
  }

  /** Writes the claim of this store into the row of the root; part of a transaction that is open. */
  take(number: number, fence: number): void {
    this.#connection.prepare(TAKE).run(fence, this.owner, this.#clock.now() + LEASE_MS, number);
  }

  /** True when the journal is one that a worker may take now. */
  release(rootId: string, fence: number): boolean {
    const released = this.#connection.write(() => {
      const tree = this.find(rootId);
      if (tree?.fence !== fence) return undefined;
      this.free(tree.number);
      return tree;
    });
    if (released !== undefined) this.drop(released.number);
    return released?.isOpen === true;
  }

  /** Takes the owner out of the row of the root; part of a transaction that is open. */
  free(number: number): void {
    this.#connection.prepare(FREE).run(number);
  }

  /** Renews the lease from now on. */
  hold(number: number): void {
    this.#held.add(number);
    this.#renewal ??= this.#clock.timer(RENEWAL_MS, this.#renew);
  }

  drop(number: number): void {
    this.#held.delete(number);
    if (this.#held.size === 0) this.#stopRenewal();
  }

  releaseAll(): void {
    if (this.#held.size === 0) return;
    this.#held.clear();
    this.#stopRenewal();
    this.#connection.write(() => this.#connection.prepare(FREE_ALL).run(this.owner));
  }

  readonly #renew = (): void => {
    this.#renewal = this.#clock.timer(RENEWAL_MS, this.#renew);
    try {
      this.#connection.write(() => this.#connection.prepare(RENEW).run(this.#clock.now() + LEASE_MS, this.owner));
    } catch (error) {
      // The lease has two thirds of its time left: the next renewal may succeed, and an owner that lost it is refused when it writes.
      if (!(error instanceof StoreError)) throw error;
    }
  };

  #stopRenewal(): void {
    this.#renewal?.[Symbol.dispose]();
    this.#renewal = undefined;
  }
}

function toTreeRow(row: Record<string, SQLOutputValue>): SqliteTreeRow {
  const { number, id, of_root: ofRoot, is_open: isOpen, claims, fence, owner, leased_until: leasedUntil } = row;
  return {
    number: Number(number),
    id: fromColumn(String(id)),
    ofRoot: typeof ofRoot === "string" ? fromColumn(ofRoot) : undefined,
    isOpen: isOpen === 1,
    claims: Number(claims ?? 0),
    fence: Number(fence ?? NO_OWNER),
    owner: typeof owner === "string" ? owner : undefined,
    leasedUntil: Number(leasedUntil ?? 0),
  };
}

const LEASED_UNTIL = `iif(typeof(leased_until) IN ('integer', 'real'), max(0, min(leased_until, ${Number.MAX_SAFE_INTEGER})), 0)`;
const SELECT = `SELECT number, ${capNumber("fence", "fence")}, owner, ${LEASED_UNTIL} AS leased_until,
  substr(id, 1, 1000) AS id, substr(of_root, 1, 1000) AS of_root, is_open, ${capNumber("claims", "claims")} FROM runs`;
const FIND = `${SELECT} WHERE id = ? AND root = number`;
const FIND_NUMBER = `${SELECT} WHERE number = ?`;
const FIND_OWNED = `${SELECT} WHERE owner IS NOT NULL`;
const FIND_PLACED = `${SELECT} WHERE of_root = ? AND of_root IS NOT NULL AND root = number ORDER BY number`;
const COUNT = "UPDATE runs SET claims = ?, worker = ? WHERE number = ?";
const TAKE = "UPDATE runs SET fence = ?, owner = ?, leased_until = ? WHERE number = ?";
const FREE = "UPDATE runs SET owner = NULL, leased_until = NULL WHERE number = ?";
const FREE_ALL = "UPDATE runs SET owner = NULL, leased_until = NULL WHERE owner = ?";
const RENEW = "UPDATE runs SET leased_until = ? WHERE owner = ?";
