/** The store of a team: runs in Postgres, shared by any number of processes and machines. */

import type { Clock } from "../../../core/clock.ts";
import { checkTime, codeOf, StaleOwner, UserError } from "../../../core/errors.ts";
import { AT_LEAST_0, type OptionKinds, TEXT, wholeNumber, withFunctions } from "../../../core/option-kinds.ts";
import { checkOptions } from "../../../core/options.ts";
import type { BudgetRows, SharedBudgets } from "../../../core/shared-budget.ts";
import { FIRST_FENCE, type Store } from "../../../core/store.ts";
import { quietClock } from "../../../machine/host.ts";
import type { Losses } from "../lost-marks.ts";
import { newOwner } from "../owner.ts";
import { openSharedBudget } from "../shared-budget.ts";
import { createAppend } from "./append.ts";
import { createBudgetRows } from "./budget.ts";
import { BUDGET_OF_TREE } from "./budget-schema.ts";
import { addressOf, type Connection, openConnection, type PostgresPool, type Query, statement } from "./connection.ts";
import { createReader, lossesOf } from "./read.ts";
import { releaseBlobs } from "./run-rows.ts";
import { migrate, quoteSchema, TREE_BITS } from "./schema.ts";
import { addInterruptedStatement, createTotals } from "./tallies.ts";
import { checkFree, createClaims, goneOwners, isAtWork, lockTree } from "./trees.ts";

/** The address of the database, and the options of its use. */
export type PostgresStoreOptions = {
  /** `postgres://user:password@host:5432/database`; what it leaves out comes from `PGHOST`, `PGUSER` and the like. */
  connectionString?: string | undefined;
  /** A `Pool` of `pg` to use instead. It stays open when the store is closed. */
  pool?: PostgresPool | undefined;
  /** The schema that holds the tables; made when it is missing. `sous` when unset. */
  schema?: string | undefined;
  /** Max connections; 4 when unset. Ignored with a `pool`. */
  maxConnections?: number | undefined;
  /** Max milliseconds that a write waits for a server that is away, before it fails and is tried again; 5 seconds when unset. */
  reconnectMs?: number | undefined;
  /**
   * The folder in which this machine notes that a run continued while the server was away, until the server is told: such a
   * run is not resumed. `sous/lost` in the user's folder for state when unset.
   */
  lostFolder?: string | undefined;
  /** The timer by which it says that it is still alive. The system's, without keeping the process alive, when unset. */
  clock?: Pick<Clock, "timer"> | undefined;
};

const OPTIONS: OptionKinds<PostgresStoreOptions> = {
  connectionString: TEXT,
  pool: withFunctions("connect"),
  schema: TEXT,
  maxConnections: wholeNumber(1),
  reconnectMs: AT_LEAST_0,
  lostFolder: TEXT,
  clock: withFunctions("timer"),
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
    const losses = lossesOf(connection, schema, options.lostFolder);
    await losses.takeIn();
    return storeOn(connection, schema, losses, options);
  } catch (error) {
    await connection[Symbol.asyncDispose]();
    throw error;
  }
}

function storeOn(
  connection: Connection,
  schema: string,
  losses: Losses,
  options: PostgresStoreOptions,
): PostgresStore & { readonly budgetRows: BudgetRows } {
  const { clock = quietClock, reconnectMs = 5_000 } = options;
  const owner = newOwner();
  const claims = createClaims(connection, schema, owner, clock.timer);
  const append = createAppend({ connection, schema, owner, patienceMs: reconnectMs, isHeld: claims.isHeld });
  const budgetRows = createBudgetRows({ connection, schema, owner, patienceMs: reconnectMs });
  const deletion = createDeletion(connection, schema);
  return {
    isImmediate: false,
    ...createReader(connection, schema, losses),
    ...createTotals(connection, schema, losses),
    ...deletion,
    async delete(rootId) {
      const isDeleted = await deletion.delete(rootId);
      if (isDeleted) losses.marks.remove(rootId);
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
    markLost: (rootId, reason) => losses.mark(rootId, reason),
    sharedBudget: (name, limits, given) => openSharedBudget(budgetRows, name, limits, given),
    budgetRows,
    async [Symbol.asyncDispose]() {
      await losses.catchUp();
      await budgetRows[Symbol.asyncDispose]();
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
    // The error has no cause, which would quote the string and the password in it.
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

const TREES_AT_ONCE = 100;
const MAX_DELETION_MS = 10 * 60_000;

/** Deletes trees: their events, their runs, and the long texts that nothing else refers to. */
function createDeletion(connection: Connection, schema: string): Pick<Store, "delete" | "prune"> {
  const sql = deletionStatements(schema);
  const transaction = <T>(work: (query: Query) => Promise<T>): Promise<T> =>
    connection.transaction(work, { longestMs: MAX_DELETION_MS });

  async function deleteTrees(query: Query, trees: readonly number[]): Promise<void> {
    await query(sql.interrupted, [trees]);
    const jsons: string[] = [];
    for (const tree of trees) {
      for (const { json } of await query(sql.withBlobs, [tree])) jsons.push(String(json));
      await query(sql.events, [tree]);
    }
    if (jsons.length > 0) await releaseBlobs(query, schema, jsons);
    await query(sql.runs, [trees]);
    for (const budgets of sql.budgets) await query(budgets, [trees]);
    await query(sql.trees, [trees]);
  }

  return {
    delete: (rootId) =>
      transaction(async (query) => {
        const tree = await lockTree(query, schema, rootId);
        if (tree === undefined) return false;
        checkFree(rootId, tree);
        await deleteTrees(query, [tree.tree]);
        return true;
      }),
    async prune(before) {
      checkTime("before", before);
      let pruned = 0;
      // A few at a time, so that other processes do not wait long for the locks.
      for (let found = TREES_AT_ONCE; found === TREES_AT_ONCE; pruned += found) {
        found = await transaction(async (query) => {
          const rows = await query(sql.old, [before, await goneOwners(query, schema), TREES_AT_ONCE]);
          const trees = rows.map(({ tree }) => Number(tree));
          await deleteTrees(query, trees);
          return trees.length;
        });
      }
      return pruned;
    },
  };
}

function deletionStatements(schema: string) {
  const ofTree = `key between $1::bigint << ${TREE_BITS} and (($1::bigint + 1) << ${TREE_BITS}) - 1`;
  return {
    interrupted: addInterruptedStatement(schema),
    withBlobs: statement(`select json from ${schema}.events where ${ofTree} and json like '[%'`),
    events: statement(`delete from ${schema}.events where ${ofTree}`),
    runs: statement(`delete from ${schema}.runs where tree = any($1::bigint[])`),
    trees: statement(`delete from ${schema}.trees where tree = any($1::bigint[])`),
    budgets: ["budgets", "budget_holds"].map((table) =>
      statement(
        `delete from ${schema}.${table} b using ${schema}.trees t where t.tree = any($1::bigint[]) and ${BUDGET_OF_TREE}`,
      ),
    ),
    old: statement(
      `select t.tree from ${schema}.trees t where t.started_at < $1 and not ${isAtWork(2)}
       order by t.started_at limit $3 for update skip locked`,
    ),
  };
}
