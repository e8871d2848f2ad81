/** Shared budgets in Postgres: the contract of every shared budget, one statement a step, news, and connections that fail. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "pg";
import { StoreError } from "../../../../src/core/errors.ts";
import type { PostgresPool } from "../../../../src/storage/store/postgres/connection.ts";
import {
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from "../../../../src/storage/store/postgres/store.ts";
import { emptySchema } from "../../../support/storage/store/empty-schema.ts";
import { type PostgresServer, startPostgresServer } from "../../../support/storage/store/postgres-server.ts";
import { sharedBudgetContract } from "../../../support/storage/store/shared-budget/contract.ts";
import { opened } from "../../../support/storage/store/shared-budget/opened.ts";
import {
  BudgetProcess,
  call,
  need,
  tokens,
  twoProcesses,
} from "../../../support/storage/store/shared-budget/shared-budget-asks.ts";
import { type CuttingProxy, openCuttingProxy } from "./cutting-proxy.ts";
import { asDead } from "./shared-budget-books.ts";
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
    const schema = await emptySchema(pool, "budget");
    const [one, other] = [await openPostgresStore({ pool, schema }), await openPostgresStore({ pool, schema })];
    return {
      one,
      other,
      takeForDead: async (how) => changeBooks(schema, (books) => asDead(books, how)),
      async [Symbol.asyncDispose]() {
        await one[Symbol.asyncDispose]();
        await other[Symbol.asyncDispose]();
      },
    };
  });
});

suite("H1: the statements of a step", () => {
  test("a step is one statement while no other process changes the books, and three after one has", async () => {
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
    await here.step();
    assert.equal(await statementsOf(() => here.granted(call(need(100, 0)))), 1);
    assert.equal(await statementsOf(() => here.settle(tokens(100), tokens(50))), 1);
    assert.equal(await statementsOf(() => here.waiting(call(need(0, 0, 951)), { mayLower: false })), 1);
    await there.step();
    // One that comes too late, one that reads, one that is in time.
    assert.equal(await statementsOf(() => here.step()), 3);
    assert.equal(await statementsOf(() => here.step()), 1);
  });

  test("four stores that step at once all get their turn, and nothing is lost", async () => {
    const schema = await emptySchema(pool, "budget");
    const stores = await Promise.all(Array.from({ length: 4 }, () => open({ schema, maxConnections: 2 })));
    const [first] = stores;
    assert.ok(first !== undefined);
    await first.sharedBudget("team", { tokens: 100_000 });
    const processes = await Promise.all(
      stores.map(async (store) => new BudgetProcess(await store.sharedBudget("team"))),
    );
    await Promise.all(
      processes.map(async (process) => {
        for (let step = 0; step < 6; step++) {
          await process.granted(call(need(10, 5)));
          await process.settle(tokens(15), tokens(12));
        }
      }),
    );
    assert.equal((await processes[0]?.spent())?.tokens, 4 * 6 * 12);
    for (const store of stores) await store[Symbol.asyncDispose]();
    assert.deepEqual(await rows(schema), 0);
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
        for (let step = 0; step < 5; step++) await process.settle(tokens(0), tokens(1));
      }),
    );
    assert.equal((await processes[0]?.spent())?.tokens, 15);
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  test("books that were deleted and made again are not taken for those from before", async () => {
    const schema = await emptySchema(pool, "budget");
    await using store = await open({ schema });
    await using other = await open({ schema });
    const here = new BudgetProcess(await store.sharedBudget("team", { tokens: 1000 }));
    await pool.query(`delete from "${schema}".purses`);
    await other.sharedBudget("team", { tokens: 7 });
    assert.deepEqual((await here.step([call(need(8, 0))])).answers, [{ kind: "never" }]);
    assert.deepEqual(await here.left(), { tokens: 7 });
    await pool.query(`delete from "${schema}".purses`);
    await assert.rejects(
      here.step(),
      new StoreError('The shared budget "team" cannot be used: it is no longer in the store'),
    );
  });
});

suite("H1: the rows of processes in Postgres", () => {
  test("a process that is killed has spent what its call could have cost, and what it kept is free", async () => {
    const schema = await emptySchema(pool, "budget");
    await using store = await open({ schema });
    const here = new BudgetProcess(await store.sharedBudget("team", { tokens: 1000, executions: 3 }));
    const parameters = ["--conditions=sous-source", budgetWorker, "postgres", server.connectionString(), schema];
    const child = spawn(process.execPath, parameters, { stdio: ["pipe", "pipe", "inherit"] });
    await once(child.stdout, "data");
    assert.deepEqual(await here.left(), { tokens: 200, executions: 2 });
    const asked = await here.waiting(call(need(600, 0)));
    child.kill("SIGKILL");
    await once(child, "exit");
    await here.granted(asked);
    assert.deepEqual(await here.spent(), { tokens: 300, costUsd: 0, executions: 1 });
    assert.deepEqual(await here.left(), { tokens: 100, executions: 2 });
  });

  test("a row is seen at the time of the server, whatever the clock of the machine says", async (context) => {
    const schema = await emptySchema(pool, "budget");
    await using store = await open({ schema });
    const here = new BudgetProcess(await store.sharedBudget("team", { tokens: 1000 }));
    const { now } = Date;
    context.mock.method(Date, "now", () => now() - 3_600_000);
    await here.step();
    await here.step();
    context.mock.restoreAll();
    const { rows } = await pool.query(
      `select (books::json#>>'{members,0,seenAt}')::float8 / 1000 between
         extract(epoch from clock_timestamp() - interval '1 minute') and
         extract(epoch from clock_timestamp() + interval '1 minute') as is_now from "${schema}".purses`,
    );
    assert.deepEqual(rows, [{ is_now: true }]);
  });

  test("a store that is closed listens no more, and its pool has all of its connections back", async () => {
    const own = new Pool({ connectionString: server.connectionString(), max: 3 });
    const store = await openPostgresStore({ pool: own, schema: await emptySchema(pool, "budget") });
    const here = new BudgetProcess(await store.sharedBudget("team", { tokens: 1000 }));
    const begun = Promise.withResolvers<void>();
    assert.ok(here.listen(begun.resolve) !== undefined);
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
      await new BudgetProcess(await other.sharedBudget("team")).granted(call(need(500, 100), { grow: tokens(50) }));
    }
    assert.equal(await rows(schema), 0);
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
      await here.settle(tokens(0), tokens(100));
      const cuts = proxy.cuts;
      proxy.cut(where, 2, "team");
      await here.step([call(need(200, 100), { grow: tokens(50) })], { starts: 2 });
      assert.equal(proxy.cuts, cuts + 2);
      assert.deepEqual(await there.left(), { tokens: 550, executions: 3 });
      assert.deepEqual(await there.spent(), { tokens: 100, costUsd: 0, executions: 2 });
    });
  }

  test("a step whose answer is lost is an error when the server stays away, and the next step puts the books right", async () => {
    const schema = await emptySchema(pool, "budget");
    await using store = await openThroughProxy({ schema, reconnectMs: 0 });
    await using other = await open({ schema });
    const { here, there } = await twoProcesses({ one: store, other }, { tokens: 1000 });
    await here.step();
    proxy.cut("after-commit", 1, "team");
    await assert.rejects(
      here.step([call(need(600, 0))]),
      /^StoreError: The shared budget "team" cannot be used: Postgres at /,
    );
    assert.deepEqual(await there.left(), { tokens: 400 });
    await here.step();
    assert.deepEqual(await there.left(), { tokens: 1000 });
  });
});

suite("H1: news of a shared budget", () => {
  test("news are heard again after the connection broke", async () => {
    const schema = await emptySchema(pool, "budget");
    await using store = await open({ schema });
    await using other = await open({ schema });
    const { here, there } = await twoProcesses({ one: store, other }, { tokens: 1000 });
    const news = heard();
    using _listening = there.listen(news.hear);
    await news.next();
    await here.granted(call(need(800, 0)));
    const asked = await there.waiting(call(need(500, 0)));
    await pool.query("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'");
    // Once because it broke, once because it listens again.
    await news.next();
    await news.next();
    await here.settle(tokens(800), tokens(100));
    await news.next();
    await there.granted(asked);
  });

  test("news are sent only while another process waits, and not to the one that made them", async () => {
    const schema = await emptySchema(pool, "budget");
    await using store = await open({ schema });
    await using other = await open({ schema });
    const { here, there } = await twoProcesses({ one: store, other }, { tokens: 1000 });
    const own = heard();
    const theirs = heard();
    using _own = here.listen(own.hear);
    using _theirs = there.listen(theirs.hear);
    await Promise.all([own.next(), theirs.next()]);
    await here.granted(call(need(800, 0)));
    await here.settle(tokens(800), tokens(100));
    await here.granted(call(need(800, 0)));
    await there.waiting(call(need(500, 0)));
    await here.settle(tokens(800), tokens(100));
    await theirs.next();
    assert.deepEqual([own.count, theirs.count], [0, 0]);
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
    const first = shared.books.listen(news.hear);
    const second = shared.books.listen(() => undefined);
    await news.next();
    assert.equal(await listening(), 1);
    first?.[Symbol.dispose]();
    assert.equal(await listening(), 1);
    second?.[Symbol.dispose]();
    while ((await listening()) !== 0) await pause(50);
    const again = heard();
    using _third = shared.books.listen(again.hear);
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
      using first = budgets[0]?.books.listen(() => undefined);
      assert.ok(first !== undefined);
      assert.equal(
        budgets[1]?.books.listen(() => undefined),
        undefined,
      );
      assert.equal(
        budgets[2]?.books.listen(() => undefined),
        undefined,
      );
      for (const shared of budgets) await new BudgetProcess(shared).granted(call(need(100, 0)));
    }
    await small.end();
  });
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

/** Changes the row from outside, as another process would. */
async function changeBooks(schema: string, change: (books: string) => string): Promise<void> {
  const { rows } = await pool.query(`select books from "${schema}".purses`);
  await pool.query(`update "${schema}".purses set books = $1, version = version + 1`, [change(rows[0].books)]);
}

/** How many processes have a row in the books. */
async function rows(schema: string): Promise<number> {
  const { rows } = await pool.query(
    `select json_array_length(books::json->'members') as count from "${schema}".purses`,
  );
  return rows[0].count;
}
