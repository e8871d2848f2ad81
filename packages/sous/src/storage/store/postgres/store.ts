/** The store of a team: runs in Postgres, shared by any number of processes and machines. */

import type { Clock } from "../../../core/clock.ts";
import type { PlacingStore } from "../../../core/engine.ts";
import { checkTime, codeOf, StaleOwner, UserError } from "../../../core/errors.ts";
import { AT_LEAST_0, type OptionKinds, TEXT, wholeNumber, withFunctions } from "../../../core/option-kinds.ts";
import { checkOptions } from "../../../core/options.ts";
import type { BudgetRows, SharedBudgets } from "../../../core/shared-budget.ts";
import { FIRST_FENCE, type Store } from "../../../core/store.ts";
import { quietClock } from "../../../machine/host.ts";
import { fromColumn } from "../event-row.ts";
import type { Losses } from "../lost-marks.ts";
import { newOwner } from "../owner.ts";
import { openSharedBudget } from "../shared-budget.ts";
import { createAppend } from "./append.ts";
import { createBudgetRows } from "./budget.ts";
import { BUDGET_OF_TREE } from "./budget-schema.ts";
import { addressOf, type Connection, openConnection, type PostgresPool, type Query, statement } from "./connection.ts";
import { createPlacing } from "./placing.ts";
import { createReader, lossesOf } from "./read.ts";
import { releaseBlobs } from "./run-rows.ts";
import { migrate, quoteSchema, TREE_BITS } from "./schema.ts";
import { addInterruptedStatement, createTotals } from "./tallies.ts";
import { checkFree, createClaims, goneOwners, isAtWork, lockPlaced, lockTree } from "./trees.ts";

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
export type PostgresStore = Store & SharedBudgets & PlacingStore;

/**
 * Opens the store and brings its tables up to date. Throws a `UserError` or `StoreError` with one sentence when it cannot be
 * used. Needs the package `pg`, which is loaded only here.
 */
export async function openPostgresStore(options: PostgresStoreOptions = {}): Promise<PostgresStore> {
  return openPostgresStoreAs(newOwner(), options);
}

/** The same under a name for this process, which a test can make look like that of another machine. */
export async function openPostgresStoreAs(owner: string, options: PostgresStoreOptions): Promise<PostgresStore> {
  checkOptions("openPostgresStore()", options, OPTIONS);
  const { schema: name = "sous" } = options;
  const schema = quoteSchema(name);
  const connection = await connect(options);
  try {
    await migrate(connection, name);
    const losses = lossesOf(connection, schema, options.lostFolder);
    await losses.takeIn();
    return storeOn({ connection, schema, owner, losses, options });
  } catch (error) {
    await connection[Symbol.asyncDispose]();
    throw error;
  }
}

type Opened = {
  readonly connection: Connection;
  readonly schema: string;
  readonly owner: string;
  readonly losses: Losses;
  readonly options: PostgresStoreOptions;
};

function storeOn({
  connection,
  schema,
  owner,
  losses,
  options,
}: Opened): PostgresStore & { readonly budgetRows: BudgetRows } {
  const { clock = quietClock, reconnectMs = 5_000 } = options;
  const claims = createClaims(connection, schema, owner, clock.timer);
  const append = createAppend({ connection, schema, owner, patienceMs: reconnectMs, isHeld: claims.isHeld });
  const budgetRows = createBudgetRows({ connection, schema, owner, patienceMs: reconnectMs });
  const { marks } = losses;
  const placing = createPlacing({
    ...{ connection, schema, owner, claims, marks },
    timer: clock.timer,
    patienceMs: reconnectMs,
  });
  const deletion = createDeletion(connection, schema);
  return {
    isImmediate: false,
    ...createReader(connection, schema, losses),
    ...createTotals(connection, schema, losses),
    prune: deletion.prune,
    placing,
    async delete(rootId) {
      const deleted = await deletion.delete(rootId);
      for (const journalId of deleted) losses.marks.remove(journalId);
      return deleted.length > 0;
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
      placing[Symbol.dispose]();
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

type Deletion = Pick<Store, "prune"> & {
  /** Returns the journals that are gone. */
  delete(rootId: string): Promise<string[]>;
};

/** Deletes trees: their events, their runs, and the long texts that nothing else refers to. */
function createDeletion(connection: Connection, schema: string): Deletion {
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
    await query(sql.mail, [trees]);
    for (const budgets of sql.budgets) await query(budgets, [trees]);
    await query(sql.trees, [trees]);
  }

  return {
    delete: (rootId) =>
      transaction(async (query) => {
        const tree = await lockTree(query, schema, rootId);
        if (tree === undefined || tree.ofRoot !== undefined) return [];
        const journals = [tree, ...(await lockPlaced(query, schema, [rootId]))];
        for (const journal of journals) checkFree(journal);
        await deleteTrees(
          query,
          journals.map(({ tree: number }) => number),
        );
        return journals.map(({ id }) => id);
      }),
    async prune(before) {
      checkTime("before", before);
      let pruned = 0;
      // A few at a time, so that other processes do not wait long for the locks.
      for (let found = TREES_AT_ONCE; found === TREES_AT_ONCE; ) {
        const { looked, deleted } = await transaction(async (query) => {
          const rows = await query(sql.old, [before, await goneOwners(query, schema), TREES_AT_ONCE]);
          const rootIds = rows.map(({ root_id }) => fromColumn(String(root_id)));
          const placed = Map.groupBy(await lockPlaced(query, schema, rootIds), ({ ofRoot }) => ofRoot);
          // A worker may have taken one of them since the look.
          const free = rows.filter((_, index) => placed.get(rootIds[index])?.some(({ isOwned }) => isOwned()) !== true);
          const freeIds = new Set(free.map(({ root_id }) => fromColumn(String(root_id))));
          const below = [...freeIds].flatMap((rootId) => placed.get(rootId) ?? []);
          await deleteTrees(query, [...free.map(({ tree }) => Number(tree)), ...below.map(({ tree }) => tree)]);
          return { looked: rows.length, deleted: free.length };
        });
        pruned += deleted;
        found = looked;
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
    mail: statement(`delete from ${schema}.mail where tree = any($1::bigint[])`),
    budgets: ["budgets", "budget_holds"].map((table) =>
      statement(
        `delete from ${schema}.${table} b using ${schema}.trees t where t.tree = any($1::bigint[]) and ${BUDGET_OF_TREE}`,
      ),
    ),
    old: statement(
      `select t.tree, t.root_id from ${schema}.trees t
       where t.started_at < $1 and t.of_root is null and not ${isAtWork(2)}
         and not exists (select from ${schema}.trees p where p.of_root = t.root_id and ${isAtWork(2, "p")})
       order by t.started_at limit $3 for update of t skip locked`,
    ),
  };
}
