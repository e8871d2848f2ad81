/** Shared budgets in Postgres: the contract of every shared budget, one statement a step, news, and connections that fail. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "pg";
import { createBudgetRows } from "../../../../src/storage/store/postgres/budget.ts";
import { openConnection, type PostgresPool } from "../../../../src/storage/store/postgres/connection.ts";
import { quoteSchema } from "../../../../src/storage/store/postgres/schema.ts";
import {
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from "../../../../src/storage/store/postgres/store.ts";
import { emptySchema } from "../../../support/storage/store/empty-schema.ts";
import { OLDER_BOOKS, olderPostgresBudgets } from "../../../support/storage/store/older-budgets.ts";
import { type PostgresServer, startPostgresServer } from "../../../support/storage/store/postgres-server.ts";
import { ELSEWHERE, sharedBudgetContract, sharing } from "../../../support/storage/store/shared-budget/contract.ts";
import { deletesBudgetsOfTrees } from "../../../support/storage/store/shared-budget/deleted-trees.ts";
import { opened } from "../../../support/storage/store/shared-budget/opened.ts";
import {
  BudgetProcess,
  inFlight,
  settled,
  twoProcesses,
} from "../../../support/storage/store/shared-budget/shared-budget-asks.ts";
import { postgresWithoutPlacing } from "../../../support/storage/store/without-placing.ts";
import { type CuttingProxy, openCuttingProxy } from "./cutting-proxy.ts";
import { budgetWorker } from "./shared-budget-worker.ts";

let server: PostgresServer;
let proxy: CuttingProxy;
let pool: Pool;
let schemas = 0;
before(async () => {
  server = await startPostgresServer();
  proxy = await openCuttingProxy(join(server.host, `.s.PGSQL.${server.port}`));
  pool = new Pool({ connectionString: server.connectionString() });
  pool.on("error", () => undefined);
});
after(async () => {
  await pool.end();
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

suite("H1: Postgres keeps the contract of shared budgets", () => {
  sharedBudgetContract(test, async () => {
    const name = await emptySchema(pool, "budget");
    const schema = quoteSchema(name);
    await (await openPostgresStore({ pool, schema: name }))[Symbol.asyncDispose]();
    const connection = openConnection({ pool, address: undefined, isOurs: false });
    const dead = new Set<string>();
    const isGone = (owner: string) => dead.has(owner);
    const one = createBudgetRows({ connection, schema, owner: ELSEWHERE, patienceMs: 1_000 });
    const other = createBudgetRows({ connection, schema, owner: "elsewhere boot 2 1 x", patienceMs: 1_000, isGone });
    return {
      one: sharing(one),
      other: sharing(other),
      async takeForDead(how) {
        if (how === "gone") dead.add(ELSEWHERE);
        else
          await pool.query(
            `update ${schema}.budget_owners set seen_at = seen_at - interval '1 minute' where owner = $1`,
            [ELSEWHERE],
          );
      },
      async [Symbol.asyncDispose]() {
        for (const each of [one, other, connection]) await each[Symbol.asyncDispose]();
      },
    };
  });
});

suite("H1: the statements of a step", () => {
  test("a step is one statement, whatever other processes do", async () => {
    const schema = await emptySchema(pool, "budget");
    const counted = countingPool();
    await using store = await openPostgresStore({ pool: counted.pool, schema });
    await using other = await open({ schema });
    const { here, there } = await twoProcesses({ one: store, other }, { tokens: 1000 });
    const statementsOf = async (step: () => Promise<unknown>) => {
      const before = counted.statements;
      await step();
      return counted.statements - before;
    };
    assert.equal(await statementsOf(() => here.granted(inFlight(100))), 1);
    await there.granted(inFlight(100));
    assert.equal(await statementsOf(() => here.step([settled(100, 50)], [inFlight(100)])), 1);
    // One that is not granted also looks whether the others live.
    assert.equal(await statementsOf(() => here.refused(inFlight(1000))), 2);
  });

  test("eight stores that step at once all get their turn, and nothing is lost", async () => {
    const schema = await emptySchema(pool, "budget");
    const stores = await Promise.all(Array.from({ length: 8 }, () => open({ schema, maxConnections: 2 })));
    const shares = ["TREE", "TREE/a", "TREE/b"];
    const made = shares.map((name) => ({
      ...{ name, limits: { tokens: 100_000, nanoUsd: undefined, executions: undefined }, replaces: false },
      spent: { tokens: 0, nanoUsd: 0, executions: 0 },
    }));
    const processes = await Promise.all(
      stores.map(async (store) => new BudgetProcess(await store.sharedBudget("team", { tokens: 100_000 }))),
    );
    await Promise.all(
      processes.map(async (process, index) => {
        // Each names its rows in another order.
        const names = ["team", ...(index % 2 === 0 ? shares : shares.toReversed())];
        for (let step = 0; step < 6; step++) {
          const { isGranted } = await process.step(
            [],
            names.map((name) => inFlight(15, name)),
            { made },
          );
          assert.equal(isGranted, true);
          await process.step(names.map((name) => settled(15, 12, name)));
        }
      }),
    );
    for (const name of ["team", ...shares]) assert.equal((await processes[0]?.row("tokens", name))?.spent, 8 * 6 * 12);
    for (const store of stores) await store[Symbol.asyncDispose]();
    assert.deepEqual(await counts(schema), [0, 0]);
  });

  test("a pool whose transactions are serializable works too", async () => {
    const strict = `${server.connectionString()}?options=-c%20default_transaction_isolation%3Dserializable`;
    const schema = await emptySchema(pool, "budget");
    const stores = await Promise.all(Array.from({ length: 3 }, () => open({ schema, connectionString: strict })));
    const processes = await Promise.all(
      stores.map(async (store) => new BudgetProcess(await store.sharedBudget("team", { tokens: 100_000 }))),
    );
    await Promise.all(
      processes.map(async (process) => {
        for (let step = 0; step < 5; step++) await process.step([{ spent: 1 }]);
      }),
    );
    assert.equal((await processes[0]?.spent())?.tokens, 15);
    for (const store of stores) await store[Symbol.asyncDispose]();
  });
});

suite("H1: the processes that draw on Postgres", () => {
  test("a process that is killed has spent what its call could have cost, and what it kept is free", async () => {
    const schema = await emptySchema(pool, "budget");
    await using store = await open({ schema });
    const here = new BudgetProcess(await store.sharedBudget("team", { tokens: 1000, executions: 3 }));
    const parameters = ["--conditions=sous-source", budgetWorker, "postgres", server.connectionString(), schema];
    const child = spawn(process.execPath, parameters, { stdio: ["pipe", "pipe", "inherit"] });
    await once(child.stdout, "data");
    assert.deepEqual(await here.left(), { tokens: 200, executions: 2 });
    await here.refused(inFlight(600));
    child.kill("SIGKILL");
    await once(child, "exit");
    await here.refused(inFlight(600));
    await here.granted(inFlight(600));
    assert.deepEqual(await here.spent(), { tokens: 300, costUsd: 0, executions: 1 });
    assert.deepEqual(await here.left(), { tokens: 100, executions: 2 });
  });

  test("a store that is closed listens no more, and its pool has all of its connections back", async () => {
    const own = new Pool({ connectionString: server.connectionString(), max: 3 });
    const store = await openPostgresStore({ pool: own, schema: await emptySchema(pool, "budget") });
    const here = new BudgetProcess(await store.sharedBudget("team", { tokens: 1000 }));
    const begun = Promise.withResolvers<void>();
    assert.ok(here.rows.listen?.(begun.resolve) !== undefined);
    await begun.promise;
    assert.equal(own.totalCount - own.idleCount, 1);
    await store[Symbol.asyncDispose]();
    assert.equal(own.totalCount - own.idleCount, 0);
    await own.end();
  });

  test("a store that is closed leaves what its calls hold as spent, and keeps nothing", async () => {
    const schema = await emptySchema(pool, "budget");
    await using store = await open({ schema });
    const here = new BudgetProcess(await store.sharedBudget("team", { tokens: 1000 }));
    {
      await using other = await open({ schema });
      await new BudgetProcess(await other.sharedBudget("team")).granted({ inFlight: 600, kept: 50 });
    }
    assert.deepEqual(await counts(schema), [0, 0]);
    assert.deepEqual([await here.left(), (await here.spent()).tokens], [{ tokens: 400 }, 600]);
  });
});

suite("H1: a step whose answer is lost", () => {
  for (const where of ["before-commit", "during-commit", "after-commit"] as const) {
    test(`a step that is cut ${where} is done again, and counts once`, async () => {
      const schema = await emptySchema(pool, "budget");
      await using store = await openThroughProxy({ schema });
      await using other = await open({ schema });
      const { here, there } = await twoProcesses({ one: store, other }, { tokens: 1000, executions: 5 });
      await here.step([{ spent: 100 }]);
      const cuts = proxy.cuts;
      proxy.cut(where, 2, "team");
      await here.granted({ inFlight: 300, kept: 50 }, { unit: "executions", spent: 2 });
      assert.equal(proxy.cuts, cuts + 2);
      assert.deepEqual(await there.left(), { tokens: 550, executions: 3 });
      assert.deepEqual(await there.spent(), { tokens: 100, costUsd: 0, executions: 2 });
    });
  }

  test("a step whose answer is lost is an error when the server stays away, and counts once when it is sent again", async () => {
    const schema = await emptySchema(pool, "budget");
    await using store = await openThroughProxy({ schema, reconnectMs: 0 });
    await using other = await open({ schema });
    const { here, there } = await twoProcesses({ one: store, other }, { tokens: 1000 });
    await here.step();
    proxy.cut("after-commit", 1, "team");
    await assert.rejects(
      here.step([], [inFlight(600)]),
      /^StoreError: The shared budget "team" cannot be used: Postgres at /,
    );
    assert.deepEqual(await there.left(), { tokens: 400 });
    await here.granted(inFlight(600));
    assert.deepEqual(await there.left(), { tokens: 400 });
  });
});

suite("H1: news of a shared budget", () => {
  test("news are heard again after the connection broke", async () => {
    const schema = await emptySchema(pool, "budget");
    await using store = await open({ schema });
    await using other = await open({ schema });
    const { here, there } = await twoProcesses({ one: store, other }, { tokens: 1000 });
    const news = heard();
    using _listening = there.rows.listen?.(news.hear);
    await news.next();
    await here.granted(inFlight(800));
    await there.refused(inFlight(500));
    await pool.query("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'");
    // Once because it broke, once because it listens again.
    await news.next();
    await news.next();
    await here.step([settled(800, 100)]);
    await news.next();
    await there.granted(inFlight(500));
  });

  test("news are sent only while another process waits", async () => {
    const schema = await emptySchema(pool, "budget");
    await using store = await open({ schema });
    await using other = await open({ schema });
    const { here, there } = await twoProcesses({ one: store, other }, { tokens: 1000 });
    const theirs = heard();
    using _theirs = there.rows.listen?.(theirs.hear);
    await theirs.next();
    await here.granted(inFlight(800));
    await here.step([settled(800, 100)]);
    await there.granted(inFlight(100));
    await there.step([settled(100, 0)]);
    await here.granted(inFlight(800));
    await there.refused(inFlight(500));
    await here.step([settled(800, 100)]);
    await theirs.next();
    assert.equal(theirs.count, 0);
    // Runs that wait without an ask hear of it as well.
    await there.step([], [], { waits: ["team"] });
    await here.granted(inFlight(800));
    await here.step([settled(800, 100)]);
    await theirs.next();
  });

  test("listening for news needs one connection while anyone listens, and none some time after that", async () => {
    const schema = await emptySchema(pool, "budget");
    await using store = await open({ schema });
    const shared = opened(await store.sharedBudget("team", { tokens: 1000 }));
    const listening = async () =>
      (await pool.query("select from pg_stat_activity where query like 'listen %' and state = 'idle'")).rowCount;
    // The server may still be ending connections of the tests before.
    while ((await listening()) !== 0) await pause(10);
    const news = heard();
    const first = shared.rows.listen?.(news.hear);
    const second = shared.rows.listen?.(() => undefined);
    await news.next();
    assert.equal(await listening(), 1);
    first?.[Symbol.dispose]();
    assert.equal(await listening(), 1);
    second?.[Symbol.dispose]();
    while ((await listening()) !== 0) await pause(50);
    const again = heard();
    using _third = shared.rows.listen?.(again.hear);
    await again.next();
  });

  test("news are not offered by a pool that has no connection to spare", async () => {
    const small = new Pool({ connectionString: server.connectionString(), max: 2 });
    {
      await using one = await openPostgresStore({ pool: small, schema: freshSchema() });
      await using other = await openPostgresStore({ pool: small, schema: freshSchema() });
      await using alone = await open({ maxConnections: 1 });
      const budgets = await Promise.all(
        [one, other, alone].map(async (store) => opened(await store.sharedBudget("team", { tokens: 1000 }))),
      );
      using first = budgets[0]?.rows.listen?.(() => undefined);
      assert.ok(first !== undefined);
      for (const { rows } of budgets.slice(1)) {
        assert.equal(
          rows.listen?.(() => undefined),
          undefined,
        );
      }
      for (const shared of budgets) await new BudgetProcess(shared).granted(inFlight(100));
    }
    await small.end();
  });
});

suite("H1: the rows of trees in Postgres", () => {
  test("a schema from before has what its processes held as spent, and keeps nothing for them", async () => {
    const schema = await emptySchema(pool, "budget");
    await (await open({ schema }))[Symbol.asyncDispose]();
    const name = quoteSchema(schema);
    await pool.query(
      `${olderPostgresBudgets(name)} ${postgresWithoutPlacing(name.slice(1, -1))} update ${name}.sous_version set version = 4;
       insert into ${name}.purses values ('team', 1000, null, 9, '${OLDER_BOOKS}', 1), ('broken', 5, 5, 5, '{', 1)`,
    );
    await using store = await open({ schema });
    const team = await store.sharedBudget("team", { tokens: 1000, executions: 9 });
    assert.deepEqual(await team.left(), { tokens: 854, executions: 4 });
    assert.deepEqual(await team.spent(), { tokens: 146, costUsd: 1460e-9, executions: 5 });
    await assert.rejects(store.sharedBudget("broken"), /There is no shared budget/);
  });
});

test("H1: the rows of a tree end with the tree, in Postgres", async () => {
  await using store = await open({ schema: await emptySchema(pool, "budget") });
  await deletesBudgetsOfTrees(store);
});

/** The pool of the tests, with its statements counted. */
function countingPool(): { readonly pool: PostgresPool; readonly statements: number } {
  let statements = 0;
  const counted: PostgresPool = {
    async connect() {
      const client = await pool.connect();
      return {
        query(query) {
          statements += 1;
          return client.query(query);
        },
        release: (destroy) => client.release(destroy),
        on: client.on.bind(client),
        off: client.off.bind(client),
      };
    },
    on: pool.on.bind(pool),
    off: pool.off.bind(pool),
    end: async () => undefined,
  };
  return {
    pool: counted,
    get statements() {
      return statements;
    },
  };
}

/** Counts what was heard and not yet waited for. */
function heard() {
  let wake = () => {};
  const news = {
    count: 0,
    hear() {
      news.count += 1;
      wake();
    },
    async next() {
      while (news.count === 0) await new Promise<void>((resolve) => (wake = resolve));
      news.count -= 1;
    },
  };
  return news;
}

function open(options: PostgresStoreOptions = {}): Promise<PostgresStore> {
  return openPostgresStore({ connectionString: server.connectionString(), schema: freshSchema(), ...options });
}

function openThroughProxy(options: PostgresStoreOptions): Promise<PostgresStore> {
  return open({ connectionString: server.connectionString({ host: "127.0.0.1", port: proxy.port }), ...options });
}

function freshSchema(): string {
  schemas += 1;
  return `budget ${schemas}`;
}

/** How many processes draw on budgets, and how many parts of rows they hold. */
async function counts(schema: string): Promise<number[]> {
  const tables = ["budget_owners", "budget_holds"];
  const found = tables.map((table) => pool.query(`select count(*)::int as count from ${quoteSchema(schema)}.${table}`));
  return (await Promise.all(found)).map(({ rows }) => rows[0].count);
}
