/** Workers in Postgres: their names, and which of the owners of journals are dead. */

import { createHash } from "node:crypto";
import type { Clock } from "../../../core/clock.ts";
import type { Placing, WorkerFacts, WorkerState } from "../../../core/engine.ts";
import { ignore } from "../../../core/errors.ts";
import { fromColumn, toColumn } from "../event-row.ts";
import { describeOwner, isGone, RENEWAL_MS } from "../owner.ts";
import { type Connection, type Row, statement } from "./connection.ts";
import { HELD_LOCKS, type Listening } from "./listening.ts";
import { LEASE_END } from "./trees.ts";

type WorkersOptions = {
  readonly connection: Connection;
  readonly schema: string;
  readonly owner: string;
  readonly timer: Clock["timer"];
  readonly listening: Listening;
};

export type Workers = Pick<Placing, "enlist" | "workers"> & {
  /** Owners of open journals that hold a lease and are dead. Others than this store alone. */
  deadOwners(): Promise<string[]>;
};

/** A worker whose connection was cut has this long to take its lock again. */
const GRACE_MS = 1_000;
/** Two looks further apart than this say nothing about the time between them. */
const MAX_BETWEEN_LOOKS_MS = 2_000;

export function createWorkers({ connection, schema, owner, timer, listening }: WorkersOptions): Workers {
  const sql = statements(schema);
  /** The owners without their lock, and since when. */
  let missing = new Map<string, number>();
  let lastLook = Number.NEGATIVE_INFINITY;

  /** Workers that were missing for the whole of the grace. */
  function outOfGrace(unlocked: readonly string[]): Set<string> {
    const now = performance.now();
    const before = now - lastLook > MAX_BETWEEN_LOOKS_MS ? new Map<string, number>() : missing;
    lastLook = now;
    missing = new Map(unlocked.map((name) => [name, before.get(name) ?? now]));
    return new Set(unlocked.filter((name) => now - (missing.get(name) ?? now) >= GRACE_MS));
  }

  async function enlist({ name, agents, places, folder }: WorkerFacts): Promise<AsyncDisposable> {
    const key = keyOf(owner);
    let isWatched = false;
    let renewal: Disposable | undefined;
    /** The last row on its way: it must not arrive behind the end. */
    let listing: Promise<void> = Promise.resolve();
    const list = async (): Promise<void> => {
      const values = [owner, toColumn(name), toColumn(JSON.stringify(agents)), places, isWatched ? key : null];
      await connection.query(sql.enlist, [...values, folder === undefined ? null : toColumn(folder)]);
    };
    const renew = (): void => {
      renewal = timer(RENEWAL_MS, renew);
      // A renewal may fail: a lease outlasts two of them.
      listing = list().catch(ignore);
    };
    await list();
    renewal = timer(RENEWAL_MS, renew);
    const lock = await listening.holdLock(key, async (isHeld) => {
      isWatched = isHeld;
      listing = list();
      await listing;
    });
    return {
      async [Symbol.asyncDispose]() {
        renewal?.[Symbol.dispose]();
        await lock[Symbol.asyncDispose]();
        await listing;
        await connection.query(sql.leave, [owner]).catch(ignore);
      },
    };
  }

  return {
    enlist,
    async workers() {
      return (await connection.query(sql.workers)).map(toWorkerState);
    },
    async deadOwners() {
      const rows = await connection.query(sql.owners, [owner]);
      const unlocked = outOfGrace(rows.filter((row) => row.is_unlocked === true).map((row) => String(row.owner)));
      return rows.map((row) => String(row.owner)).filter((name) => unlocked.has(name) || isGone(name));
    },
  };
}

/** The number of its lock. */
function keyOf(owner: string): string {
  return createHash("sha256").update(`sous worker ${owner}`).digest().readBigInt64BE().toString();
}

function toWorkerState(row: Row): WorkerState {
  const owner = String(row.owner);
  return {
    name: fromColumn(String(row.name)),
    agents: namesIn(fromColumn(String(row.agents))),
    places: Number(row.places),
    ...(typeof row.folder === "string" && { folder: fromColumn(row.folder) }),
    where: describeOwner(owner),
    isAlive: row.is_leased === true && row.is_unlocked !== true && !isGone(owner),
    isWatched: row.is_watched === true,
    held: Number(row.held),
  };
}

/** A row is not trusted. */
function namesIn(json: string): readonly string[] {
  try {
    const names: unknown = JSON.parse(json);
    return Array.isArray(names) ? names.map(String) : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

function statements(schema: string) {
  const held = `with held as materialized (${HELD_LOCKS})`;
  const isUnlocked = "w.lock_key is not null and w.lock_key not in (select key from held)";
  return {
    // Workers that have been gone for an hour are forgotten.
    enlist: statement(
      `with gone as (delete from ${schema}.workers where lease_until < clock_timestamp() - interval '1 hour' and owner <> $1)
       insert into ${schema}.workers (owner, name, agents, places, lock_key, lease_until, folder)
       values ($1, $2, $3, $4, $5::bigint, ${LEASE_END}, $6)
       on conflict (owner) do update set name = excluded.name, agents = excluded.agents, places = excluded.places,
         lock_key = excluded.lock_key, lease_until = excluded.lease_until, folder = excluded.folder`,
    ),
    leave: statement(`delete from ${schema}.workers where owner = $1`),
    workers: statement(
      `${held} select w.owner, w.name, w.agents, w.places, w.folder, w.lock_key is not null as is_watched, ${isUnlocked} as is_unlocked,
         w.lease_until > clock_timestamp() as is_leased,
         (select count(*) from ${schema}.trees t where t.owner = w.owner and t.is_open) as held
       from ${schema}.workers w order by w.name, w.owner`,
    ),
    owners: statement(
      `${held} select o.owner, ${isUnlocked} as is_unlocked
       from (select distinct t.owner from ${schema}.trees t
         where t.is_open and t.owner is not null and t.owner <> $1 and t.lease_until > clock_timestamp()) as o
       left join ${schema}.workers w on w.owner = o.owner`,
    ),
  };
}
