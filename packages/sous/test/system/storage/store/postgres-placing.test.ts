/** Placed runs in Postgres: what every store that can place promises, and workers that die, stop, or lose their connection. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, suite, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Pool, type PoolClient } from "pg";
import type { TakenJournal } from "../../../../src/core/engine.ts";
import { LostMarks, marksIn } from "../../../../src/storage/store/lost-marks.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { newOwner } from "../../../../src/storage/store/owner.ts";
import type { PostgresClient, PostgresPool, PostgresQuery } from "../../../../src/storage/store/postgres/connection.ts";
import {
  openPostgresStore,
  openPostgresStoreAs,
  type PostgresStore,
} from "../../../../src/storage/store/postgres/store.ts";
import { placingContract } from "../../../../src/testing/placing-contract.ts";
import { placeScouts, worker } from "../../../../src/testing/placing-samples.ts";
import { emptySchema } from "../../../support/storage/store/empty-schema.ts";
import { type PostgresServer, startPostgresServer } from "../../../support/storage/store/postgres-server.ts";
import { checkSamePlacing } from "../../../support/storage/store/same-placing.ts";
import { placingWorker } from "./placing-worker.ts";

let server: PostgresServer;
let pool: Pool;
let schemas = 0;
before(async () => {
  server = await startPostgresServer();
  pool = new Pool({ connectionString: server.connectionString(), max: 12 });
});
after(async () => {
  await pool.end();
  await server[Symbol.asyncDispose]();
});

suite("Postgres keeps the contract of placing", () => {
  placingContract(test, async () => {
    const schema = await emptySchema(pool, "emptied");
    const [store, other] = await Promise.all([
      openPostgresStore({ pool, schema }),
      openPostgresStore({ pool, schema }),
    ]);
    return { store, other };
  });
});

test("Postgres places runs as memory does, whatever is asked in whatever order", async () => {
  await using store = await openPostgresStore({ pool, schema: await emptySchema(pool, "emptied") });
  await checkSamePlacing(openMemoryStore(), store, 1, 60);
});

test("mail that is committed late is not overtaken: a reader that never looks back reads it", async () => {
  const schema = await emptySchema(pool, "emptied");
  const inserted = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  await using slow = otherPool(async (given, client) => {
    const answer = await client.query(given);
    if (given.text.startsWith("insert into") && given.text.includes(".mail ")) {
      inserted.resolve();
      await commit.promise;
    }
    return answer;
  });
  await using store = await openPostgresStore({ pool: slow.pool, schema });
  await using other = await openPostgresStore({ pool, schema });
  await placeScouts(other, 1);
  const mail = { to: "scout0", body: { kind: "stop", mode: "stop" } } as const;
  const late = store.placing.post([mail]);
  await inserted.promise;
  let isPosted = false;
  const early = other.placing.post([mail]).then(() => {
    isPosted = true;
  });
  const waits = "select from pg_locks where locktype = 'advisory' and not granted";
  while (!isPosted && (await pool.query(waits)).rowCount === 0) await pause(10);
  const before = await other.placing.mail(["scout0"], 0);
  commit.resolve();
  await Promise.all([late, early]);
  const after = await other.placing.mail(["scout0"], before.at(-1)?.id ?? 0);
  assert.equal(before.length + after.length, 2);
});

test("a placed run that this machine has marked as lost is not taken here", async () => {
  const schema = await emptySchema(pool, "emptied");
  const folder = mkdtempSync(join(tmpdir(), "sous-lost-"));
  try {
    await using store = await openPostgresStore({ ...options(schema), lostFolder: folder });
    await placeScouts(store, 2);
    const address = `Postgres at ${server.host}:${server.port}/postgres "${schema}"`;
    new LostMarks(marksIn(folder, address)).add("scout0", "The server was away");
    assert.deepEqual(
      (await store.placing.take(worker(), 8)).map(({ journalId }) => journalId),
      ["scout1"],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

suite("workers that are gone", { concurrency: true }, () => {
  test("the runs of a worker that was killed on this machine are taken again at once", async () => {
    await using place = await placed();
    const child = await place.startWorker(hostname());
    assert.deepEqual(await place.store.placing.take(worker(), 8), []);
    const killedAt = await child.kill();
    assert.deepEqual(await takenAgain(place.store), TAKEN_AGAIN);
    assert.ok(performance.now() - killedAt < 2_000);
  });

  test("the runs of a worker that was killed on another machine are taken again as soon as its lock has been gone for a second", async () => {
    await using place = await placed();
    const child = await place.startWorker("elsewhere");
    assert.deepEqual(await place.store.placing.take(worker(), 8), []);
    const facts = async () => (await place.store.placing.workers()).map(({ isAlive, held }) => ({ isAlive, held }));
    assert.deepEqual(await facts(), [{ isAlive: true, held: 2 }]);
    const killedAt = await child.kill();
    assert.deepEqual(await takenAgain(place.store), TAKEN_AGAIN);
    const tookMs = performance.now() - killedAt;
    assert.ok(tookMs > 900 && tookMs < 2_000, `taken again after ${Math.round(tookMs)} ms`);
    assert.deepEqual(await facts(), [{ isAlive: false, held: 0 }]);
  });

  test("a worker that was stopped for longer than its lease writes nothing when it wakes up", async () => {
    await using place = await placed();
    const child = await place.startWorker(hostname());
    child.process.kill("SIGSTOP");
    assert.deepEqual(await place.store.placing.take(worker(), 8), []);
    await pool.query(`update "${place.schema}".trees set lease_until = clock_timestamp() where is_open`);
    assert.deepEqual(await place.store.placing.take(worker(), 8), TAKEN_AGAIN);
    child.process.kill("SIGCONT");
    child.process.stdin.write("write\n");
    assert.deepEqual([await child.line(), await child.line()], ["stale", "stale"]);
    for (const journalId of ["scout0", "scout1"]) assert.equal((await place.store.read(journalId)).length, 1);
    await child.kill();
  });

  test("a worker whose connection is cut takes its lock again and keeps its runs", async () => {
    await using place = await placed();
    await using far = await openPostgresStoreAs(newOwner("elsewhere"), options(place.schema));
    await using _enlisted = await far.placing.enlist(worker());
    assert.equal((await far.placing.take(worker(), 8)).length, 2);
    let cuts = 0;
    for (const since = performance.now(); performance.now() - since < 1_500; await pause(100)) {
      if (performance.now() - since < 600) cuts += (await pool.query(cutWorkers(place.schema))).rowCount ?? 0;
      assert.deepEqual(await place.store.placing.take(worker(), 8), []);
    }
    assert.ok(cuts > 1, "it was cut more than once");
    assert.deepEqual(
      (await place.store.placing.workers()).map(({ isAlive, isWatched }) => ({ isAlive, isWatched })),
      [{ isAlive: true, isWatched: true }],
    );
  });

  test("behind a pool that changes connections between statements a worker says that only its lease shows its death", async () => {
    await using place = await placed();
    await using changing = otherPool((given, client) =>
      given.text.includes("pg_advisory_lock_shared") ? pool.query(given.text, given.values) : client.query(given),
    );
    const { schema } = place;
    await using far = await openPostgresStoreAs(newOwner("elsewhere"), { pool: changing.pool, schema });
    await using _enlisted = await far.placing.enlist(worker());
    assert.equal((await far.placing.take(worker(), 8)).length, 2);
    const [found] = await place.store.placing.workers();
    assert.deepEqual([found?.isAlive, found?.isWatched], [true, false]);
    assert.deepEqual(await place.store.placing.take(worker(), 8), []);
    await pool.query(`update "${place.schema}".trees set lease_until = clock_timestamp() where is_open`);
    assert.deepEqual(await place.store.placing.take(worker(), 8), TAKEN_AGAIN);
  });

  test("a worker with one connection works without a lock", async () => {
    await using place = await placed();
    await using narrow = await openPostgresStore({ ...options(place.schema), maxConnections: 1 });
    await using _enlisted = await narrow.placing.enlist(worker());
    assert.equal((await narrow.placing.take(worker(), 8)).length, 2);
    assert.equal((await place.store.placing.workers())[0]?.isWatched, false);
  });

  test("what a worker took without hearing of it is taken by it again", async () => {
    await using place = await placed();
    let isLosing = true;
    await using losing = otherPool(async (given, client) => {
      const answer = await client.query(given);
      if (!isLosing || !given.text.includes("skip locked")) return answer;
      isLosing = false;
      throw new Error("Connection terminated unexpectedly");
    });
    await using unlucky = await openPostgresStore({ pool: losing.pool, schema: place.schema });
    await assert.rejects(unlucky.placing.take(worker(), 1));
    assert.deepEqual(await unlucky.placing.take(worker(), 8), [
      { journalId: "scout0", fence: 2, claims: 2 },
      { journalId: "scout1", fence: 1, claims: 1 },
    ]);
    assert.deepEqual(await unlucky.placing.take(worker(), 8), []);
  });

  test("what a worker could not give back is not renewed, and taken by it again", async () => {
    await using place = await placed();
    await using failing = otherPool((given, client) =>
      given.text.includes("with freed as")
        ? Promise.reject(new Error("Connection terminated unexpectedly"))
        : client.query(given),
    );
    const timers: (() => void)[] = [];
    const timer = (_milliseconds: number, callback: () => void) => {
      timers.push(callback);
      return { [Symbol.dispose]: () => void timers.splice(timers.indexOf(callback), 1) };
    };
    const { schema } = place;
    await using unlucky = await openPostgresStore({ pool: failing.pool, schema, clock: { timer } });
    const [one, two] = await unlucky.placing.take(worker(), 8);
    assert.ok(one !== undefined && two !== undefined);
    await assert.rejects(unlucky.release(one.journalId, one.fence));
    assert.deepEqual(await unlucky.placing.take(worker(), 8), [{ ...one, fence: 2, claims: 2 }]);
    await assert.rejects(unlucky.release(one.journalId, 2));
    await pool.query(`update "${schema}".trees set lease_until = clock_timestamp() where is_open`);
    for (const renew of timers.splice(0)) renew();
    await unlucky.read(one.journalId);
    assert.deepEqual(await place.store.placing.take(worker(), 8), [{ ...one, fence: 3, claims: 3 }]);
  });
});

const TAKEN_AGAIN: readonly TakenJournal[] = ["scout0", "scout1"].map((journalId) => {
  return { journalId, fence: 2, claims: 2 };
});

/** Ends the connections that hold the locks of workers. */
function cutWorkers(schema: string): string {
  return `select pg_terminate_backend(l.pid) from pg_locks l join "${schema}".workers w
    on (l.classid::bigint << 32) | l.objid::bigint = w.lock_key where l.locktype = 'advisory' and l.objsubid = 1`;
}

function options(schema: string) {
  return { connectionString: server.connectionString(), schema };
}

type Child = {
  readonly process: ReturnType<typeof startChild>;
  line(): Promise<string>;
  /** Resolves with the time when it was killed, once it is gone. */
  kill(): Promise<number>;
};

type Placed = AsyncDisposable & {
  readonly schema: string;
  readonly store: PostgresStore;
  /** Starts a process that takes what was placed. */
  startWorker(host: string): Promise<Child>;
};

/** A store with two placed runs. Every process that was started on it is killed at the end. */
async function placed(): Promise<Placed> {
  schemas += 1;
  const schema = `placed ${schemas}`;
  const store = await openPostgresStore(options(schema));
  const children: Child[] = [];
  await placeScouts(store, 2);
  return {
    schema,
    store,
    async startWorker(host) {
      const child = startChild(schema, host);
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      const started: Child = {
        process: child,
        line: async () => String((await lines.next()).value),
        async kill() {
          const gone = once(child, "exit");
          const at = performance.now();
          child.kill("SIGKILL");
          if (child.exitCode === null && child.signalCode === null) await gone;
          return at;
        },
      };
      children.push(started);
      const taken: TakenJournal[] = JSON.parse(await started.line());
      assert.equal(taken.length, 2);
      return started;
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) await child.kill();
      await store[Symbol.asyncDispose]();
    },
  };
}

function startChild(schema: string, host: string) {
  const parameters = ["--conditions=sous-source", placingWorker, server.connectionString(), schema, host];
  return spawn(process.execPath, parameters, { stdio: ["pipe", "pipe", "inherit"] });
}

/** Looks as often as a worker does. The test runner's time is the limit. */
async function takenAgain({ placing }: PostgresStore): Promise<TakenJournal[]> {
  for (;;) {
    const taken = await placing.take(worker(), 8);
    if (taken.length > 0) return taken;
    await pause(100);
  }
}

type QueryOf = (given: PostgresQuery, client: PoolClient) => Promise<{ rows: unknown[] }>;

/** A pool whose connections ask in another way. */
function otherPool(query: QueryOf): AsyncDisposable & { readonly pool: PostgresPool } {
  const inner = new Pool({ connectionString: server.connectionString(), max: 3 });
  return {
    pool: {
      options: { max: 3 },
      async connect() {
        const client = await inner.connect();
        return new Proxy<PostgresClient>(client, {
          get(target, name) {
            if (name === "query") return (given: PostgresQuery) => query(given, client);
            const value: unknown = Reflect.get(target, name);
            return typeof value === "function" ? value.bind(client) : value;
          },
        });
      },
      on: (event, listener) => inner.on(event, listener),
      off: (event, listener) => inner.off(event, listener),
      end: () => inner.end(),
    },
    [Symbol.asyncDispose]: () => inner.end(),
  };
}
