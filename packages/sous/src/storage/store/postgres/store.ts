/** The store of a team: runs in Postgres, shared by any number of processes and machines. */

import type { Clock } from "../../core/clock.ts";
import { codeOf, StaleOwner, UserError } from "../../core/errors.ts";
import { checkOptions, type OptionNames } from "../../core/options.ts";
import type { SharedBudgets } from "../../core/shared-budget.ts";
import { FIRST_FENCE, type Store } from "../../core/store.ts";
import { quietClock } from "../../host.ts";
import { newOwner } from "../owner.ts";
import { openSharedBudget } from "../shared-budget.ts";
import { createAppend } from "./append.ts";
import { createPurses } from "./budget.ts";
import { addressOf, type Connection, openConnection, type PostgresPool } from "./connection.ts";
import { createDeletion } from "./delete.ts";
import { createLosses, createReader, type Losses } from "./read.ts";
import { migrate, quoteSchema } from "./schema.ts";
import { createTotals } from "./tallies.ts";
import { createClaims } from "./trees.ts";

/** Where the database is, and how it is used. */
export type PostgresStoreOptions = {
  /** `postgres://user:password@host:5432/database`; what it leaves out comes from `PGHOST`, `PGUSER` and the like. */
  connectionString?: string | undefined;
  /** A `Pool` of `pg` to use instead. It stays open when the store is closed. */
  pool?: PostgresPool | undefined;
  /** The schema that holds the tables; made when it is missing. `sous` when unset. */
  schema?: string | undefined;
  /** How many connections it may open; 4 when unset. Of no use with a `pool`. */
  maxConnections?: number | undefined;
  /** How long a write waits for a server that is away, before it fails and is tried again; 5 seconds when unset. */
  reconnectMs?: number | undefined;
  /**
   * Where this machine notes that a run continued while the server was away, until the server is told: such a run is not
   * resumed. `sous/lost` in the user's folder for state when unset.
   */
  lostFolder?: string | undefined;
  /** When it says that it is still alive. The system's, without keeping the process alive, when unset. */
  clock?: Pick<Clock, "timer"> | undefined;
};

const OPTIONS: OptionNames<PostgresStoreOptions> = {
  ...{ connectionString: true, pool: true, schema: true, maxConnections: true, reconnectMs: true, lostFolder: true },
  clock: true,
};

/** A store in Postgres. */
export type PostgresStore = Store & SharedBudgets;

/**
 * Opens the store and brings its tables up to date. Throws a `UserError` or `StoreError` with one sentence when it cannot be
 * used. Needs the package `pg`, which is loaded only here.
 */
export async function openPostgresStore(options: PostgresStoreOptions = {}): Promise<PostgresStore> {
  checkOptions("openPostgresStore()", options, OPTIONS);
  const { schema: name = "sous" } = options;
  const schema = quoteSchema(name);
  const connection = await connect(options);
  try {
    await migrate(connection, name);
    const losses = createLosses(connection, schema, options.lostFolder);
    await losses.takeIn();
    return storeOn(connection, schema, losses, options);
  } catch (error) {
    await connection[Symbol.asyncDispose]();
    throw error;
  }
}

function storeOn(connection: Connection, schema: string, losses: Losses, options: PostgresStoreOptions): PostgresStore {
  const { clock = quietClock, reconnectMs = 5_000 } = options;
  const owner = newOwner();
  const claims = createClaims(connection, schema, owner, clock.timer);
  const append = createAppend({ connection, schema, owner, patienceMs: reconnectMs, isHeld: claims.isHeld });
  const purses = createPurses({ connection, schema, owner, patienceMs: reconnectMs });
  const deletion = createDeletion(connection, schema);
  return {
    isImmediate: false,
    ...losses.addTo({ ...createReader(connection, schema), ...createTotals(connection, schema) }),
    ...deletion,
    async delete(rootId) {
      const isDeleted = await deletion.delete(rootId);
      if (isDeleted) losses.delete(rootId);
      return isDeleted;
    },
    async append(rootId, events, fence = FIRST_FENCE) {
      if (events.length === 0) return;
      try {
        if (await append(rootId, events, fence)) claims.hold(rootId, fence);
        else claims.drop(rootId, fence);
        // The server answers again: marks made while it was away are stored in it now.
        void losses.catchUp();
      } catch (error) {
        if (error instanceof StaleOwner) claims.drop(rootId, fence);
        throw error;
      }
    },
    claim: claims.claim,
    release: claims.release,
    markLost: losses.mark,
    sharedBudget: (name, limits, given) => openSharedBudget(purses, name, limits, given),
    async [Symbol.asyncDispose]() {
      await losses.catchUp();
      await purses[Symbol.asyncDispose]();
      await claims[Symbol.asyncDispose]();
      await connection[Symbol.asyncDispose]();
    },
  };
}

const MAX_CONNECT_MS = 10_000;

async function connect({ connectionString, pool, maxConnections = 4 }: PostgresStoreOptions): Promise<Connection> {
  if (pool !== undefined) {
    if (connectionString === undefined) return openConnection({ pool, address: undefined, isOurs: false });
    throw new UserError("The Postgres store takes a pool or a connection string, not both");
  }
  const { Client, Pool } = await loadPg();
  const config = {
    ...(connectionString === undefined ? {} : { connectionString }),
    max: maxConnections,
    connectionTimeoutMillis: MAX_CONNECT_MS,
    fallback_application_name: "sous",
    keepAlive: true,
    // A program that does not close the store can still end.
    allowExitOnIdle: true,
  };
  try {
    // A client that never connects knows what the string and the environment say together.
    const address = addressOf(new Client(config));
    return openConnection({ pool: new Pool(config), address, isOurs: true });
  } catch {
    // Without the cause, which quotes the string and the password in it.
    throw new UserError("The connection string must look like postgres://user:password@host:5432/database");
  }
}

async function loadPg(): Promise<typeof import("pg")["default"]> {
  try {
    // Up to 8.14 it is CommonJS, and Node finds none of its names.
    return (await import("pg")).default;
  } catch (error) {
    if (codeOf(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new UserError("Runs are stored in Postgres with the package pg, which is not installed: npm install pg");
  }
}
