/** Tests the Postgres store when the connection, the server or the way to it fails. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { Pool } from "pg";
import { StoreError, UserError } from "../../../../src/core/errors.ts";
import { FIRST_FENCE, NO_OWNER, type Store } from "../../../../src/core/store.ts";
import { createJournal } from "../../../../src/runtime/events/journal.ts";
import { toStoreError } from "../../../../src/storage/store/postgres/errors.ts";
import {
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from "../../../../src/storage/store/postgres/store.ts";
import { type SampleTree, sampleTree } from "../../../../src/testing/sample-tree.ts";
import { type PostgresServer, SECRET, startPostgresServer } from "../../../support/storage/store/postgres-server.ts";
import { type CuttingProxy, openCuttingProxy } from "./cutting-proxy.ts";

let server: PostgresServer;
let proxy: CuttingProxy;
let schemas = 0;
before(async () => {
  server = await startPostgresServer();
  proxy = await openCuttingProxy(join(server.host, `.s.PGSQL.${server.port}`));
});
after(async () => {
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

suite("G3: an append whose answer is lost is kept once, whatever became of it", () => {
  for (const where of ["before-commit", "during-commit", "after-commit"] as const) {
    test(`an append that is cut ${where} rejects, and succeeds when it is repeated`, async () => {
      await using store = await openThroughProxy();
      const tree = startedTree();
      await store.append(tree.rootId, tree.events.slice(0, 1));
      proxy.cut(where);
      const error = await rejection(store.append(tree.rootId, tree.events.slice(1)));
      assert.ok(error instanceof StoreError);
      assert.match(error.message, new RegExp(`^Postgres at 127\\.0\\.0\\.1:${proxy.port}/postgres failed: `));
      await store.append(tree.rootId, tree.events.slice(1));
      await checkKeptOnce(store, tree);
    });

    test(`the first events of a tree are begun once when they are cut ${where}`, async () => {
      await using store = await openThroughProxy();
      const tree = startedTree();
      proxy.cut(where, 3);
      for (let attempt = 0; attempt < 3; attempt++) await rejection(store.append(tree.rootId, tree.events));
      await store.append(tree.rootId, tree.events);
      await checkKeptOnce(store, tree);
    });

    test(`a journal does not notice when an append is cut ${where}`, async () => {
      await using store = await openThroughProxy();
      const who = { runId: "lead", agentId: "lead", parentId: null, path: "lead", depth: 0 };
      const timer = (_: number, callback: () => void) => {
        const soon = setImmediate(callback);
        return { [Symbol.dispose]: () => clearImmediate(soon) };
      };
      // The deadline of a write is a timer too: it must not come at once.
      const clock = {
        now: Date.now,
        timer: (ms: number, callback: () => void) => (ms < 1_000 ? timer(ms, callback) : never),
      };
      const journal = createJournal({ store, rootId: "lead", clock, requireStore: true });
      const [start] = startedTree().events;
      assert.ok(start?.type === "run-start");
      proxy.cut(where, 2);
      const before = proxy.cuts;
      const { seq, time, runId, agentId, parentId, path, depth, ...body } = start;
      journal.append(who, body);
      await journal.settled();
      assert.equal(proxy.cuts, before + 2);
      assert.equal(journal.degraded, undefined);
      assert.deepEqual(
        (await store.read("lead")).map((event) => event.seq),
        [1],
      );
    });
  }

  test("other events under the same numbers are refused, also after a lost answer", async () => {
    await using store = await openThroughProxy();
    const tree = startedTree();
    const other = startedTree("Something else");
    await store.append(tree.rootId, tree.events.slice(0, 1));
    proxy.cut("after-commit");
    await rejection(store.append(tree.rootId, tree.events.slice(1)));
    const error = await rejection(store.append(other.rootId, other.events.slice(1)));
    assert.equal(error.message, "Tree lead already has event 2; its last is 3");
    await checkKeptOnce(store, tree);
  });

  test("a repetition is refused when no answer was lost", async () => {
    await using store = await openThroughProxy();
    const tree = startedTree();
    await store.append(tree.rootId, tree.events);
    const error = await rejection(store.append(tree.rootId, tree.events));
    assert.equal(error.message, "Tree lead already has event 1; its last is 3");
  });

  test("a kept append is kept, also when another process has taken over before the repetition", async () => {
    const schema = freshSchema();
    await using store = await openThroughProxy({ schema });
    await using other = await open({ schema });
    const tree = startedTree();
    tree.end("lead");
    proxy.cut("after-commit");
    await rejection(store.append(tree.rootId, tree.events));
    await other.claim("lead");
    await store.append(tree.rootId, tree.events);
    await checkKeptOnce(other, tree);
  });

  test("a claim whose answer is lost can be taken again", async () => {
    const schema = freshSchema();
    await using store = await openThroughProxy({ schema });
    const tree = startedTree();
    tree.end("lead");
    await store.append(tree.rootId, tree.events);
    proxy.cut("after-commit");
    await rejection(store.claim("lead"));
    assert.deepEqual(await store.claim("lead"), { fence: 3 });
    await assert.rejects(store.claim("lead"), /^UserError: Run lead is at work in this process/);
  });
});

suite("G3: a server that goes away and comes back", () => {
  test("a server that comes back is waited for, and no caller notices", async () => {
    await using store = await open({ reconnectMs: 60_000 });
    const tree = startedTree();
    await store.append(tree.rootId, tree.events.slice(0, 1));
    await server.crash();
    const appended = store.append(tree.rootId, tree.events.slice(1));
    await server.start();
    await appended;
    await checkKeptOnce(store, tree);
  });

  test("a server that stays away fails the appends in between, and keeps those before and after", async () => {
    await using store = await open({ reconnectMs: 0 });
    const tree = startedTree();
    await store.append(tree.rootId, tree.events.slice(0, 1));
    await server.crash();
    const error = await rejection(store.append(tree.rootId, tree.events.slice(1))).finally(() => server.start());
    assert.ok(error instanceof StoreError);
    assert.ok(error.message.startsWith(`Postgres at ${server.host}:${server.port}/postgres `), error.message);
    await store.append(tree.rootId, tree.events.slice(1));
    await checkKeptOnce(store, tree);
  });

  test("a connection that the server has dropped is replaced, and no caller notices", async () => {
    await using store = await open();
    const tree = startedTree();
    const other = new Pool({ connectionString: server.connectionString() });
    for (const event of tree.events) {
      await other.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sous'");
      await store.append(tree.rootId, [event]);
    }
    await other.end();
    await checkKeptOnce(store, tree);
  });

  test("a server that goes away does not end a program whose own pool has no listener", async () => {
    const pool = new Pool({ connectionString: server.connectionString() });
    {
      await using store = await openPostgresStore({ pool, schema: freshSchema() });
      const tree = startedTree();
      await store.append(tree.rootId, tree.events);
      await server.crash();
      await server.start();
      await checkKeptOnce(store, tree);
    }
    assert.equal(pool.listenerCount("error"), 0);
    assert.deepEqual((await pool.query("select 1 as one")).rows, [{ one: 1 }]);
    await pool.end();
  });

  test("a statement that takes too long is given up and can be repeated", async () => {
    const schema = freshSchema();
    // Long enough for every statement that is not held up.
    const hasty = `${server.connectionString()}?options=-c%20statement_timeout%3D1500`;
    await using store = await openPostgresStore({ connectionString: hasty, schema });
    const tree = startedTree();
    await store.append(tree.rootId, tree.events.slice(0, 1));
    const other = new Pool({ connectionString: server.connectionString() });
    const blocker = await other.connect();
    await blocker.query("begin");
    await blocker.query(`select * from "${schema}".trees for update`);
    const error = await rejection(store.append(tree.rootId, tree.events.slice(1)));
    assert.match(error.message, / failed: canceling statement due to statement timeout$/);
    await blocker.query("rollback");
    blocker.release();
    await other.end();
    await store.append(tree.rootId, tree.events.slice(1));
    await checkKeptOnce(store, tree);
  });
});

suite("a statement that fails", () => {
  const long = "x".repeat(10_000);
  const acts: Record<string, (store: PostgresStore, tree: SampleTree) => Promise<unknown>> = {
    "reading a tree": async (store, tree) => store.read(tree.rootId),
    "reading a run": async (store, tree) => store.run(tree.rootId),
    "listing runs": async (store) => store.list({}),
    "appending to a tree": async (store, tree) => {
      tree.turn("lead", long);
      await store.append(tree.rootId, tree.events.slice(-2), NO_OWNER);
    },
    "deleting a tree": async (store, tree) => store.delete(tree.rootId),
    "pruning trees": async (store) => store.prune(Number.MAX_SAFE_INTEGER),
  };
  for (const [what, act] of Object.entries(acts)) {
    test(`${what} fails with whichever of its statements fails, and does its work when it is repeated`, async () => {
      await using pool = failingPool();
      await using store = await openPostgresStore({ pool: pool.pool, schema: freshSchema() });
      for (let place = 1, isReached = true; isReached; place++) {
        await store.delete("lead");
        const tree = startedTree(long);
        await store.append(tree.rootId, tree.events, NO_OWNER);
        pool.failAt(place);
        const failed = await act(store, tree).then(
          () => undefined,
          (error: unknown) => error,
        );
        isReached = pool.isReached();
        assert.equal(failed instanceof StoreError && /division by zero/.test(failed.message), isReached, `at ${place}`);
        assert.ok(isReached || place > 1, "it asks the server something");
      }
    });
  }

  test("making the schema fails with whichever of its statements fails, and is done when it is repeated", async () => {
    const schema = freshSchema();
    await using pool = failingPool();
    for (let place = 1, isReached = true; isReached; place++) {
      pool.failAt(place);
      const opened = await openPostgresStore({ pool: pool.pool, schema }).catch((error: unknown) => error);
      isReached = pool.isReached();
      assert.equal(opened instanceof Error, isReached, `at ${place}`);
      if (!(opened instanceof Error)) await (opened as PostgresStore)[Symbol.asyncDispose]();
    }
  });
});

/** A pool in which one statement, counted from now on, is a division by zero. */
function failingPool() {
  const pool = new Pool({ connectionString: server.connectionString() });
  let left = 0;
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (given: unknown) => unknown;
    Object.assign(client, {
      query: (given: unknown) => {
        left -= 1;
        return query(left === 0 ? { text: "select 1 / 0" } : given);
      },
    });
  });
  return {
    pool,
    failAt(place: number): void {
      left = place;
    },
    isReached: () => left <= 0,
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

suite("a store that cannot be opened", () => {
  const place = () => `Postgres at ${server.host}:${server.port}`;

  test("a store with a wrong password says so in one sentence without the password", async () => {
    const error = await rejection(open({ connectionString: server.connectionString({ password: "guessed" }) }));
    assert.equal(
      error.message,
      `${place()}/postgres did not accept the user or the password (password authentication failed for user "sous"): correct the connection string`,
    );
    assert.ok(error instanceof StoreError);
    assert.ok(!inWords(error).includes("guessed"));
  });

  test("a store in a database that is not there says so in one sentence", async () => {
    const error = await rejection(open({ connectionString: server.connectionString({ database: "nowhere" }) }));
    assert.equal(
      error.message,
      `${place()}/nowhere does not exist (database "nowhere" does not exist): create the database, or correct the connection string`,
    );
  });

  test("a store without a server says so in one sentence", async () => {
    const error = await rejection(open({ connectionString: server.connectionString({ host: "localhost", port: 1 }) }));
    assert.match(
      error.message,
      /^Postgres at localhost:1\/postgres cannot be reached \(connect ECONNREFUSED \S+\): check that it runs and what its address is$/,
    );
    assert.ok(!inWords(error).includes(SECRET));
  });

  test("a store with a string that is not an address says so in one sentence", async () => {
    const error = await rejection(open({ connectionString: `postgres://sous:${SECRET}@[:5432/postgres` }));
    assert.ok(error instanceof UserError);
    assert.equal(error.message, "The connection string must look like postgres://user:password@host:5432/database");
    assert.ok(!inWords(error).includes(SECRET));
  });

  test("a store on a server that says nothing says so in one sentence", () => {
    const { message } = toStoreError(new Error("Query read timeout"), "Postgres at far.test:5432/sous");
    assert.equal(
      message,
      "Postgres at far.test:5432/sous did not answer in time (Query read timeout): check the network, and how busy the server is",
    );
  });

  test("a store that is given a pool and a string says so in one sentence", async () => {
    const pool = new Pool({ connectionString: server.connectionString() });
    const error = await rejection(open({ pool }));
    assert.equal(error.message, "The Postgres store takes a pool or a connection string, not both");
    await pool.end();
  });

  test("a store with a schema that cannot have such a name says so in one sentence", async () => {
    const error = await rejection(open({ schema: "" }));
    assert.equal(error.message, `"" cannot be the name of a Postgres schema: it must have 1 to 63 bytes`);
  });
});

test("a store that is closed gives back what it held, be it one tree or two", async () => {
  for (const count of [1, 2]) {
    const schema = freshSchema();
    const connectionString = server.connectionString();
    const ids = Array.from({ length: count }, (_, index) => `lead-${index}`);
    {
      await using store = await openPostgresStore({ connectionString, schema });
      for (const id of ids) {
        const tree = sampleTree(id);
        tree.start(id);
        await store.append(id, tree.events);
      }
    }
    await using next = await openPostgresStore({ connectionString, schema });
    for (const id of ids) assert.equal((await next.claim(id)).fence, FIRST_FENCE + 1);
  }
});

test("a store that was closed refuses everything", async () => {
  const store = await open();
  await store[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  await assert.rejects(store.list(), new StoreError("The store is closed"));
  await assert.rejects(async () => store.append("lead", startedTree().events), new StoreError("The store is closed"));
});

const never: Disposable = { [Symbol.dispose]: () => undefined };

function open(options: PostgresStoreOptions = {}): Promise<PostgresStore> {
  return openPostgresStore({ connectionString: server.connectionString(), schema: freshSchema(), ...options });
}

function openThroughProxy(options: PostgresStoreOptions = {}): Promise<PostgresStore> {
  const connectionString = server.connectionString({ host: "127.0.0.1", port: proxy.port });
  return open({ connectionString, ...options });
}

function freshSchema(): string {
  schemas += 1;
  return `faults ${schemas}`;
}

/** A root that has started and asked its model once: three events. */
function startedTree(answer = "I look."): SampleTree {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.turn("lead", answer, { inputTokens: 7, outputTokens: 1, totalTokens: 8 });
  return tree;
}

async function checkKeptOnce(store: Store, tree: SampleTree): Promise<void> {
  const kept = await store.read(tree.rootId);
  assert.deepEqual(JSON.parse(JSON.stringify(kept)), JSON.parse(JSON.stringify(tree.events)));
  const record = await store.run(tree.rootId);
  assert.deepEqual([record?.turns, record?.usage.totalTokens], tree.events.length > 3 ? [1, 0] : [1, 8]);
}

async function rejection(promise: unknown): Promise<Error> {
  const error = await Promise.resolve(promise).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error, "it should have failed");
  return error;
}

/** Everything that could be printed of an error. */
function inWords(error: Error): string {
  return `${error.stack} ${JSON.stringify(error)} ${error.cause === undefined ? "" : JSON.stringify(error.cause)} ${String(error.cause)}`;
}
