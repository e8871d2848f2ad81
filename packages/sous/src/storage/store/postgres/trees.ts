/** One journal as a row of the table `trees`: who may write it, and whether that one is still there. */

import type { Clock } from "../../../core/clock.ts";
import { UserError } from "../../../core/errors.ts";
import type { Claim } from "../../../core/store.ts";
import { fromColumn, toColumn } from "../event-row.ts";
import { atWork, isGone, LEASE_MS, RENEWAL_MS } from "../owner.ts";
import { type Connection, type Query, type Row, statement } from "./connection.ts";
import { told } from "./listening.ts";

export type PostgresTreeRow = {
  /** The number of the journal: the keys of its events begin with it. */
  readonly tree: number;
  /** The id of the journal. */
  readonly id: string;
  /** The root of its tree, when that is in another journal. */
  readonly ofRoot: string | undefined;
  /** True while it was placed and its first run has no end. */
  readonly isOpen: boolean;
  readonly fence: number;
  readonly lastSeq: number;
  readonly owner: string | undefined;
  /** The time when its owner counts as dead unless it renews its lease, in milliseconds since 1970. */
  readonly leasedUntil: number;
  /** False when no process works on it, as far as can be known from here. */
  isOwned(): boolean;
  /** The column; undefined without an open question. */
  readonly questions: string | undefined;
};

/** The moment until which an owner that renews now counts as alive, by the clock of the server. */
export const LEASE_END: string = `clock_timestamp() + interval '${LEASE_MS} milliseconds'`;

/** No other process can write, claim or delete it before the transaction ends. Undefined when there is none. */
export async function lockTree(query: Query, schema: string, journalId: string): Promise<PostgresTreeRow | undefined> {
  const lock = statement(`${selectTrees(schema)} where root_id = $1 for update`);
  const [row] = await query(lock, [toColumn(journalId)]);
  return row && toTreeRow(row);
}

/** The same for every journal of these trees but those of their roots. */
export async function lockPlaced(
  query: Query,
  schema: string,
  rootIds: readonly string[],
): Promise<readonly PostgresTreeRow[]> {
  const lock = statement(`${selectTrees(schema)} where of_root = any($1::text[]) order by tree for update`);
  return (await query(lock, [rootIds.map(toColumn)])).map(toTreeRow);
}

function selectTrees(schema: string): string {
  return `select tree, root_id, of_root, is_open, fence, last_seq, owner, questions, lease_until > clock_timestamp() as is_leased,
      (extract(epoch from lease_until) * 1000)::double precision as leased_until
    from ${schema}.trees`;
}

function toTreeRow(row: Row): PostgresTreeRow {
  return {
    tree: Number(row.tree),
    id: fromColumn(String(row.root_id)),
    ofRoot: typeof row.of_root === "string" ? fromColumn(row.of_root) : undefined,
    isOpen: row.is_open === true,
    fence: Number(row.fence),
    lastSeq: Number(row.last_seq),
    owner: typeof row.owner === "string" ? row.owner : undefined,
    leasedUntil: Number(row.leased_until),
    // Looks at processes, which an append does not need.
    isOwned: () => livingOwners()(row),
    questions: typeof row.questions === "string" ? row.questions : undefined,
  };
}

export function checkFree({ id, isOwned, owner = "", leasedUntil }: PostgresTreeRow): void {
  if (isOwned()) throw atWork(id, owner, leasedUntil);
}

/** Says of rows with `owner` and `is_leased` whether a process works on their tree; looks at each process once. */
export function livingOwners(): (row: Row) => boolean {
  const known = new Map<string, boolean>();
  return ({ owner, is_leased }) => {
    if (typeof owner !== "string" || is_leased !== true) return false;
    const isAlive = known.get(owner) ?? !isGone(owner);
    known.set(owner, isAlive);
    return isAlive;
  };
}

/** Condition on the tree `t`: a process may work on it. The parameter with this number lists the owners that are certainly gone. */
export function isAtWork(parameter: number, t = "t"): string {
  return `(${t}.owner is not null and ${t}.lease_until > clock_timestamp() and ${t}.owner <> all($${parameter}::text[]))`;
}

/** Condition on the tree `t`: it was placed, and no process has taken it yet. */
export const IS_QUEUED = "(t.is_open is true and t.fence = 0)";

/** The owners that hold a lease and are certainly gone. */
export async function goneOwners(query: Query, schema: string): Promise<string[]> {
  const owners = statement(
    `select distinct owner from ${schema}.trees where owner is not null and lease_until > clock_timestamp()`,
  );
  return (await query(owners)).map(({ owner }) => String(owner)).filter(isGone);
}

/** The claims to write journals: they are taken and given back, and renewed while this process lives. */
export type Claims = AsyncDisposable & {
  claim(rootId: string): Promise<Claim>;
  release(rootId: string, fence: number): Promise<void>;
  isHeld(rootId: string): boolean;
  /** Renews the lease from now on. */
  hold(rootId: string, fence: number): void;
  /** The claim with this number is over; a later one of this store stays. */
  drop(rootId: string, fence: number): void;
  /** The journals that this store works on. */
  ids(): string[];
  /** True when this store may own journals that it does not work on: it is unknown whether one was taken, or given back. */
  isUnsure: boolean;
};

export function createClaims(connection: Connection, schema: string, owner: string, timer: Clock["timer"]): Claims {
  const sql = statements(schema);
  /** The latest claim of this store on each tree it works on. */
  const held = new Map<string, number>();
  /** The trees that were claimed without an answer. */
  const unsure = new Set<string>();
  let renewal: Disposable | undefined;

  function hold(rootId: string, fence: number): void {
    held.set(rootId, fence);
    renewal ??= timer(RENEWAL_MS, renew);
  }

  function drop(rootId: string, fence: number): void {
    if (held.get(rootId) === fence) held.delete(rootId);
    if (held.size === 0) stopRenewal();
  }

  function renew(): void {
    renewal = timer(RENEWAL_MS, renew);
    // A renewal may fail: a lease outlasts two of them.
    connection.query(sql.renew, [owner, heldIds()]).catch(() => undefined);
  }

  function stopRenewal(): void {
    renewal?.[Symbol.dispose]();
    renewal = undefined;
  }

  const heldIds = () => [...held.keys()].map(toColumn);

  const claims: Claims = {
    isUnsure: false,
    isHeld: (rootId) => held.has(rootId),
    ids: () => [...held.keys()],
    hold,
    drop,
    async claim(rootId) {
      const fence = await connection.transaction(
        async (query) => {
          const tree = await lockTree(query, schema, rootId);
          if (tree === undefined) throw new UserError(`No run with the id ${rootId}`);
          // An earlier claim of ours may have been stored without an answer: it is taken again.
          if (tree.owner !== owner || !unsure.has(rootId)) checkFree(tree);
          const [row] = await query(sql.claim, [tree.tree, owner]);
          return Number(row?.fence);
        },
        { onUnsure: () => unsure.add(rootId) },
      );
      unsure.delete(rootId);
      hold(rootId, fence);
      return { fence };
    },
    async release(rootId, fence) {
      // First: what cannot be given back now is not renewed, so that others can have it when its lease is over.
      drop(rootId, fence);
      try {
        await connection.query(sql.release, [toColumn(rootId), fence]);
      } catch (error) {
        claims.isUnsure = true;
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      stopRenewal();
      // A server that is gone cannot be notified; the lease ends by itself.
      if (held.size > 0) await connection.query(sql.releaseAll, [owner, heldIds()]).catch(() => undefined);
      held.clear();
    },
  };
  return claims;
}

function statements(schema: string) {
  const trees = `update ${schema}.trees`;
  return {
    claim: statement(
      `${trees} set fence = fence + 1, owner = $2, worker = $2, lease_until = ${LEASE_END},
         claims = claims + (is_open is true)::integer
       where tree = $1 returning fence`,
    ),
    release: statement(freed(`${trees} set owner = null, lease_until = null where root_id = $1 and fence = $2`)),
    renew: statement(`${trees} set lease_until = ${LEASE_END} where owner = $1 and root_id = any($2::text[])`),
    releaseAll: statement(
      freed(`${trees} set owner = null, lease_until = null where owner = $1 and root_id = any($2::text[])`),
    ),
  };

  /** A worker may take the journals that are given back. */
  function freed(update: string): string {
    return `with freed as (${update} returning root_id, is_open)
      select ${told(schema, "placed", "root_id")} from freed where is_open`;
  }
}
