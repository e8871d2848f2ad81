/** One tree as a row of the table `trees`: who may write it, and whether that one is still there. */

import { UserError } from "../core/errors.ts";
import { toColumn } from "./column-text.ts";
import { describeOwner, isGone } from "./owner.ts";
import { type Query, type Row, type Statement, statement } from "./postgres-connection.ts";

export type TreeRow = {
  /** Its number: the keys of its events begin with it. */
  readonly tree: number;
  readonly fence: number;
  readonly lastSeq: number;
  readonly owner: string | undefined;
  /** When its owner counts as dead if nothing more is heard of it, in milliseconds since 1970. */
  readonly leasedUntil: number;
  /** False when nobody works on it, as far as can be known from here. */
  readonly isOwned: boolean;
};

/** How long an owner counts as alive after it was last heard of, and how often it is heard of. */
const LEASE_SECONDS = 30;
export const RENEWAL_MS = 10_000;

/** The moment until which somebody who is heard of now counts as alive, by the clock of the server. */
export const LEASE_END: string = `clock_timestamp() + interval '${LEASE_SECONDS} seconds'`;

export function lockTreeStatement(schema: string): Statement {
  return statement(
    `select tree, fence, last_seq, owner, lease_until > clock_timestamp() as is_leased,
       (extract(epoch from lease_until) * 1000)::double precision as leased_until
     from ${schema}.trees where root_id = $1 for update`,
  );
}

/** Nobody else can write it, claim it or delete it before the transaction ends. Undefined when there is none. */
export async function lockTree(query: Query, lock: Statement, rootId: string): Promise<TreeRow | undefined> {
  const [row] = await query(lock, [toColumn(rootId)]);
  if (row === undefined) return undefined;
  return {
    tree: Number(row.tree),
    fence: Number(row.fence),
    lastSeq: Number(row.last_seq),
    owner: typeof row.owner === "string" ? row.owner : undefined,
    leasedUntil: Number(row.leased_until),
    isOwned: livingOwners()(row),
  };
}

export function checkFree(rootId: string, { isOwned, owner = "", leasedUntil }: TreeRow): void {
  if (!isOwned) return;
  const until = new Date(Math.min(leasedUntil, LATEST_DATE)).toISOString();
  throw new UserError(
    `Run ${rootId} is at work in ${describeOwner(owner)}, which holds it until ${until}: wait, or stop that process`,
  );
}

/** The last moment that has a date. */
const LATEST_DATE = 8.64e15;

/** Says of rows with `owner` and `is_leased` whether somebody works on their tree; looks at each process once. */
export function livingOwners(): (row: Row) => boolean {
  const known = new Map<string, boolean>();
  return ({ owner, is_leased }) => {
    if (typeof owner !== "string" || is_leased !== true) return false;
    const isAlive = known.get(owner) ?? !isGone(owner);
    known.set(owner, isAlive);
    return isAlive;
  };
}

/** Condition on the tree `t`: somebody may work on it. The owners that are certainly gone are the list at this place. */
export function isAtWork(place: number): string {
  return `(t.owner is not null and t.lease_until > clock_timestamp() and t.owner <> all($${place}::text[]))`;
}

export function ownersStatement(schema: string): Statement {
  return statement(
    `select distinct owner from ${schema}.trees where owner is not null and lease_until > clock_timestamp()`,
  );
}

/** The owners that hold a lease and are certainly gone. */
export async function goneOwners(query: Query, owners: Statement): Promise<string[]> {
  return (await query(owners)).map(({ owner }) => String(owner)).filter(isGone);
}
