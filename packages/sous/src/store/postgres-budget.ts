/** Shared budgets in Postgres: one transaction for each step, for any number of processes and machines. */

import { createHash, randomUUID } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { nowOrLater } from "../core/now-or-later.ts";
import { isGone, isRunning } from "./owner.ts";
import { type Connection, type Query, type Row, statement } from "./postgres-connection.ts";
import { LEASE_END, RENEWAL_MS } from "./postgres-trees.ts";
import { LEASE_COLUMNS, leaseValues, PURSE_COLUMNS, purseValues, toLease, toPurse } from "./purse-row.ts";
import type { AbandonedLease, PurseRows, PurseTables } from "./shared-budget.ts";

export type PostgresPurses = PurseTables & AsyncDisposable;

/** What a step changed; it counts when the step is committed. */
type Changes = { readonly put: string[]; readonly gone: string[] };

export function createPurses(
  connection: Connection,
  schema: string,
  owner: string,
  timer: Clock["timer"],
): PostgresPurses {
  const sql = statements(schema);
  /** The ids of the reservations this store holds. */
  const held = new Set<string>();
  /** Reservations that may have been made although nobody was told: given up as soon as the server can be asked. */
  const unsure = new Set<string>();
  /** The clocks of two machines differ, and those who wait in a line must mean the same time. */
  let serverIsAhead = 0;
  let renewal: Disposable | undefined;

  const transact: PurseTables["transact"] = async (name, steps) => {
    await giveUpUnsure();
    const changes: Changes = { put: [], gone: [] };
    const result = await connection.transaction(
      async (query) => {
        const [row] = await query(sql.lock, [lockNumber(schema, name)]);
        serverIsAhead = Number(row?.now) - Date.now();
        return nowOrLater(steps(rowsOf(query, name, changes)));
      },
      {
        onUnsure() {
          for (const id of changes.put) unsure.add(id);
        },
      },
    );
    for (const id of changes.gone) held.delete(id);
    for (const id of changes.put) held.add(id);
    if (held.size === 0) stopRenewal();
    else renewal ??= timer(RENEWAL_MS, renew);
    return result;
  };

  function rowsOf(query: Query, name: string, { put, gone }: Changes): PurseRows {
    return {
      async load() {
        const [row] = await query(sql.load, [name]);
        return row === undefined ? undefined : toPurse(row);
      },
      async save(purse) {
        await query(sql.save, [name, ...purseValues(purse)]);
      },
      async lease(id) {
        const [row] = await query(sql.findLease, [id, name]);
        return row === undefined ? undefined : toLease(row);
      },
      async abandoned() {
        const rows = await query(sql.othersLeases, [name, owner]);
        return rows.flatMap(abandonedIn());
      },
      async putLease(lease) {
        await query(sql.putLease, [name, ...leaseValues(lease)]);
        if (lease.owner === owner && !lease.isLapsed) put.push(lease.id);
      },
      async deleteLease(id) {
        await query(sql.deleteLease, [id]);
        gone.push(id);
      },
    };
  }

  async function giveUpUnsure(): Promise<void> {
    if (unsure.size === 0) return;
    const ids = [...unsure];
    await connection.query(sql.leave, [owner, ids]);
    for (const id of ids) unsure.delete(id);
  }

  function renew(): void {
    renewal = timer(RENEWAL_MS, renew);
    // The next renewal may do better; and what is counted as spent too early is put right when it is settled.
    connection.query(sql.renew, [owner, [...held]]).catch(() => undefined);
  }

  function stopRenewal(): void {
    renewal?.[Symbol.dispose]();
    renewal = undefined;
  }

  return {
    owner,
    transact,
    now: () => Date.now() + serverIsAhead,
    newId: randomUUID,
    /** What was reserved and not settled counts as spent. */
    async [Symbol.asyncDispose]() {
      stopRenewal();
      const ids = [...held, ...unsure];
      held.clear();
      unsure.clear();
      if (ids.length > 0) await connection.query(sql.leave, [owner, ids]).catch(() => undefined);
    },
  };
}

/** Owns what a store had reserved when it was closed. */
const NOBODY = "";

/** Picks the reservations that nobody will settle; looks at each process once. */
function abandonedIn(): (row: Row) => AbandonedLease[] {
  const known = new Map<string, { isOrphan: boolean; isRunning: boolean }>();
  return (row) => {
    const owner = String(row.owner);
    const found = known.get(owner) ?? { isOrphan: owner === NOBODY || isGone(owner), isRunning: isRunning(owner) };
    known.set(owner, found);
    const isLate = row.is_late === true && !found.isRunning;
    return found.isOrphan || isLate ? [{ ...toLease(row), isOrphan: found.isOrphan }] : [];
  };
}

function statements(schema: string) {
  const purseColumns = PURSE_COLUMNS.join(", ");
  const leaseColumns = LEASE_COLUMNS.join(", ");
  const places = (columns: readonly string[]) => columns.map((_, index) => `$${index + 2}`).join(", ");
  const replaced = (columns: readonly string[]) => columns.map((column) => `${column} = excluded.${column}`).join(", ");
  const leases = `${schema}.purse_leases`;
  return {
    lock: statement(
      "select pg_advisory_xact_lock($1::bigint), extract(epoch from clock_timestamp())::float8 * 1000 as now",
    ),
    load: statement(`select ${purseColumns} from ${schema}.purses where name = $1`),
    save: statement(
      `insert into ${schema}.purses (name, ${purseColumns}) values ($1, ${places(PURSE_COLUMNS)})
       on conflict (name) do update set ${replaced(PURSE_COLUMNS)}`,
    ),
    findLease: statement(`select ${leaseColumns} from ${leases} where id = $1 and purse = $2`),
    othersLeases: statement(
      `select ${leaseColumns}, lease_until <= clock_timestamp() as is_late
       from ${leases} where purse = $1 and is_lapsed = 0 and owner <> $2`,
    ),
    putLease: statement(
      `insert into ${leases} (purse, ${leaseColumns}, lease_until) values ($1, ${places(LEASE_COLUMNS)}, ${LEASE_END})
       on conflict (id) do update set ${replaced(LEASE_COLUMNS)}, lease_until = excluded.lease_until`,
    ),
    deleteLease: statement(`delete from ${leases} where id = $1`),
    renew: statement(`update ${leases} set lease_until = ${LEASE_END} where owner = $1 and id = any($2::text[])`),
    leave: statement(`update ${leases} set owner = '${NOBODY}' where owner = $1 and id = any($2::text[])`),
  };
}

function lockNumber(schema: string, name: string): string {
  return createHash("sha256").update(`sous purse ${schema} ${name}`).digest().readBigInt64BE().toString();
}
