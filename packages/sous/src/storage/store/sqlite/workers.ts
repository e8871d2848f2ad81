/** Workers in a database: processes of this machine, which are seen to be gone at once. */

import type { Clock } from "../../../core/clock.ts";
import type { Placing, WorkerState } from "../../../core/engine.ts";
import { StoreError } from "../../../core/errors.ts";
import { fromColumn, toColumn } from "../event-row.ts";
import { describeOwner, isGone, LEASE_MS, RENEWAL_MS } from "../owner.ts";
import type { SqliteConnection } from "./connection.ts";

type SqliteWorkersOptions = {
  readonly connection: SqliteConnection;
  readonly owner: string;
  readonly clock: Pick<Clock, "now" | "timer">;
};

export function sqliteWorkers({ connection, owner, clock }: SqliteWorkersOptions): Pick<Placing, "enlist" | "workers"> {
  return {
    async enlist({ name, agents, places, folder }) {
      const list = (): void =>
        connection.write(() => {
          const now = clock.now();
          connection.prepare(FORGET).run(now - FORGOTTEN_MS);
          const values = [toColumn(name), toColumn(JSON.stringify(agents)), places, now + LEASE_MS];
          connection.prepare(ENLIST).run(owner, ...values, folder === undefined ? null : toColumn(folder));
        });
      let renewal: Disposable;
      const renew = (): void => {
        renewal = clock.timer(RENEWAL_MS, renew);
        ifItCan(list);
      };
      list();
      renewal = clock.timer(RENEWAL_MS, renew);
      return {
        async [Symbol.asyncDispose]() {
          renewal[Symbol.dispose]();
          ifItCan(() => connection.write(() => connection.prepare(LEAVE).run(owner)));
        },
      };
    },
    async workers() {
      const now = clock.now();
      return connection.read(() => connection.prepare(SELECT).all(now)).map(toWorkerState);
    },
  };
}

/** A renewal may fail: a lease outlasts two of them. */
function ifItCan(write: () => unknown): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}

function toWorkerState(row: Record<string, unknown>): WorkerState {
  const owner = String(row.owner);
  return {
    name: fromColumn(String(row.name)),
    agents: namesIn(fromColumn(String(row.agents))),
    places: Number(row.places),
    ...(typeof row.folder === "string" && { folder: fromColumn(row.folder) }),
    where: describeOwner(owner),
    isAlive: row.is_leased === 1 && !isGone(owner),
    isWatched: true,
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

/** Workers that have been gone for an hour are forgotten. */
const FORGOTTEN_MS = 3_600_000;
const FORGET = "DELETE FROM workers WHERE leased_until < ?";
const ENLIST = `INSERT INTO workers (owner, name, agents, places, leased_until, folder) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (owner) DO UPDATE SET name = excluded.name, agents = excluded.agents, places = excluded.places,
  leased_until = excluded.leased_until, folder = excluded.folder`;
const LEAVE = "DELETE FROM workers WHERE owner = ?";
const SELECT = `SELECT owner, substr(name, 1, 1000) AS name, substr(agents, 1, 1000000) AS agents, CAST(places AS REAL) AS places,
  substr(folder, 1, 10000) AS folder,
  leased_until > ? AS is_leased, (SELECT count(*) FROM runs t WHERE t.owner = workers.owner AND t.is_open = 1) AS held
FROM workers ORDER BY name, owner LIMIT 10000`;
