/** The Postgres store on a real server: what every store promises, and what holds when several share one schema. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, suite, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { Pool } from "pg";
import { StaleOwner, StoreError, UserError } from "../../../../src/core/errors.ts";
import { NO_OWNER, type Store } from "../../../../src/core/store.ts";
import type { Totals } from "../../../../src/core/totals.ts";
import { fromColumn, toColumn } from "../../../../src/storage/store/event-row.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import {
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from "../../../../src/storage/store/postgres/store.ts";
import { talliesQuery } from "../../../../src/storage/store/postgres/tallies.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { storeContract } from "../../../../src/testing/store-contract.ts";
import { everyEnding, tallied } from "../../../../src/testing/store-contract-totals.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { askingTrees, STILL_ASKING } from "../../../support/storage/store/asking-trees.ts";
import { checkBadQueries } from "../../../support/storage/store/bad-queries.ts";
import { emptySchema } from "../../../support/storage/store/empty-schema.ts";
import { olderPostgresBudgets } from "../../../support/storage/store/older-budgets.ts";
import { type PostgresServer, startPostgresServer } from "../../../support/storage/store/postgres-server.ts";
import { checkSameAnswers } from "../../../support/storage/store/same-answers.ts";
import { postgresWithoutPlacing } from "../../../support/storage/store/without-placing.ts";
import { postgresWorker } from "./postgres-worker.ts";

let server: PostgresServer;
let pool: Pool;
let schemas = 0;

/** The schema of the tests that need no new one. */
const EMPTIED = "emptied";
before(async () => {
  server = await startPostgresServer();
  pool = new Pool({ connectionString: server.connectionString() });
});
after(async () => {
  await pool.end();
  await server[Symbol.asyncDispose]();
});

suite("G2: Postgres keeps the contract of stores", () => {
  storeContract(test, openEmpty);
});

test("a query that cannot be answered is refused, and a time that is no time deletes nothing", async () => {
  await using store = await openEmpty();
  await checkBadQueries(store);
});

for (const seed of [1, 2]) {
  test(`G2: Postgres answers as memory does, whatever is asked in whatever order (seed ${seed})`, async () => {
    await using store = await openEmpty();
    await checkSameAnswers(openMemoryStore(), store, seed, 40);
  });
}

suite("G2: two processes on one schema", () => {
  test("one process writes, the other reads and sees that it is at work", async () => {
    const { store, other } = await openTwo();
    await begin(store, "lead");
    assert.equal((await other.run("lead"))?.status, "running");
    assert.deepEqual(ids(await other.list({ status: "running" })), ["lead"]);
    await assert.rejects(other.claim("lead"), /^UserError: Run lead is at work in this process, which holds it until /);
    await assert.rejects(
      other.delete("lead"),
      /^UserError: Run lead is at work in this process, which holds it until /,
    );
    assert.equal(await other.prune(Number.MAX_SAFE_INTEGER), 0);
    await close(store);
    assert.deepEqual(ids(await other.list({ status: "running" })), []);
    assert.deepEqual(ids(await other.list({ status: "interrupted" })), ["lead"]);
    assert.deepEqual(await other.claim("lead"), { fence: 2 });
    await close(other);
  });

  test("one of ten processes that claim a tree at once gets it", async () => {
    const schema = await emptySchema(pool, EMPTIED);
    const stores = await Promise.all(Array.from({ length: 10 }, () => open({ schema, maxConnections: 1 })));
    const [first] = stores;
    assert.ok(first !== undefined);
    await begin(first, "lead");
    await first.release("lead", 1);
    const claims = await Promise.allSettled(stores.map((store) => store.claim("lead")));
    assert.deepEqual(
      claims.flatMap((claim) => (claim.status === "fulfilled" ? [claim.value] : [])),
      [{ fence: 2 }],
    );
    for (const claim of claims) assert.ok(claim.status === "fulfilled" || claim.reason instanceof UserError);
    await Promise.all(stores.map(close));
  });

  test("an owner who was thought dead and wakes up is refused, and changes nothing", async () => {
    const { store, other, schema } = await openTwo();
    const tree = await begin(store, "lead");
    await lapse(schema);
    assert.deepEqual(await other.claim("lead"), { fence: 2 });
    tree.turn("lead", "I am late.");
    await assert.rejects(async () => store.append("lead", tree.events.slice(1)), StaleOwner);
    await store.release("lead", 1);
    await other.append("lead", tree.events.slice(1), 2);
    assert.equal((await store.read("lead")).length, 3);
    assert.equal((await store.run("lead"))?.status, "running");
    await Promise.all([store, other].map(close));
  });

  test("an owner who was thought dead and finds its tree deleted is refused, and brings nothing back", async () => {
    const { store, other, schema } = await openTwo();
    const tree = await begin(store, "lead");
    await lapse(schema);
    assert.equal(await other.delete("lead"), true);
    tree.turn("lead", "I am late.");
    const late = async () => store.append("lead", tree.events.slice(1));
    await assert.rejects(late, new StaleOwner("Tree lead is no longer in the store"));
    await assert.rejects(late, new StoreError("Tree lead does not begin with the start of its root"));
    assert.deepEqual(await store.read("lead"), []);
    await Promise.all([store, other].map(close));
  });

  test("a latecomer with an old claim does not end the claim that came after it", async () => {
    const clock = new VirtualClock(0);
    await using store = await open({ clock });
    const tree = await begin(store, "lead");
    await store.release("lead", 1);
    assert.deepEqual(await store.claim("lead"), { fence: 2 });
    tree.turn("lead", "I am late.");
    await assert.rejects(async () => store.append("lead", tree.events.slice(1), 1), StaleOwner);
    await store.release("lead", 1);
    assert.equal(clock.liveTimers, 1);
    await assert.rejects(store.claim("lead"), /^UserError: Run lead is at work in this process, /);
  });

  test("a lease is renewed as long as a tree is at work, by a timer that ends with it", async () => {
    const schema = await emptySchema(pool, EMPTIED);
    const clock = new VirtualClock(0);
    await using store = await open({ schema, clock });
    const tree = await begin(store, "lead");
    await lapse(schema);
    assert.equal((await store.run("lead"))?.status, "interrupted");
    assert.ok(clock.fireNext(() => 0));
    assert.equal(clock.monotonic(), 3_000);
    await until(async () => (await store.run("lead"))?.status === "running");
    const { rows } = await pool.query(
      `select lease_until - clock_timestamp() between '5 seconds' and '10 seconds' as is_new from "${schema}".trees`,
    );
    assert.deepEqual(rows, [{ is_new: true }]);
    tree.end("lead");
    await store.append("lead", tree.events.slice(1));
    assert.equal(clock.liveTimers, 0);
  });

  test("the tree of a process that was killed is free at once", async () => {
    const schema = await emptySchema(pool, EMPTIED);
    const parameters = ["--conditions=sous-source", postgresWorker, server.connectionString(), schema];
    const child = spawn(process.execPath, parameters, { stdio: ["pipe", "pipe", "inherit"] });
    await once(child.stdout, "data");
    await using store = await open({ schema });
    assert.equal((await store.run("lead"))?.status, "running");
    await assert.rejects(
      store.claim("lead"),
      new RegExp(`^UserError: Run lead is at work in process ${child.pid} on `),
    );
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.equal((await store.run("lead"))?.status, "interrupted");
    assert.deepEqual(ids(await store.list({ status: "running" })), []);
    assert.deepEqual(ids(await store.list({ status: "interrupted" })), ["lead"]);
    assert.deepEqual(ids(await store.list({ status: "waiting" })), ["asked-child", "asked"]);
    assert.deepEqual(await store.claim("lead"), { fence: 2 });
  });

  test("a process on another machine counts as alive until its lease ends", async () => {
    const { store, other, schema } = await openTwo();
    await begin(store, "lead");
    await pool.query(`update "${schema}".trees set owner = 'elsewhere boot 1 2 3'`);
    await assert.rejects(other.claim("lead"), /^UserError: Run lead is at work in process 1 on elsewhere, /);
    assert.equal(await other.prune(Number.MAX_SAFE_INTEGER), 0);
    await lapse(schema);
    assert.deepEqual(await other.claim("lead"), { fence: 2 });
    await Promise.all([store, other].map(close));
  });
});

suite("G2: the tables", () => {
  test("ten stores that open a new schema at once make it once", async () => {
    const schema = freshSchema();
    const stores = await Promise.all(Array.from({ length: 10 }, () => open({ schema, maxConnections: 1 })));
    assert.deepEqual((await pool.query(`select version from "${schema}".sous_version`)).rows, [{ version: 6 }]);
    await Promise.all(stores.map((store, index) => begin(store, `run${index}`)));
    assert.equal((await stores[0]?.list())?.length, 10);
    await Promise.all(stores.map(close));
  });

  test("a schema of a newer sous is refused and left alone", async () => {
    const schema = freshSchema();
    await close(await open({ schema }));
    await pool.query(`update "${schema}".sous_version set version = 99`);
    await assert.rejects(
      open({ schema }),
      new UserError(
        `The schema "${schema}" of Postgres at ${server.host}:${server.port}/postgres was written by a newer version of sous (schema 99; this one knows 6): update sous, or choose another schema`,
      ),
    );
    assert.deepEqual((await pool.query(`select version from "${schema}".sous_version`)).rows, [{ version: 99 }]);
  });

  test("a schema with the tables of another program is refused and left alone", async () => {
    const schema = freshSchema();
    await pool.query(`create schema "${schema}"; create table "${schema}".runs (mine text)`);
    await assert.rejects(
      open({ schema }),
      new UserError(
        `The schema "${schema}" of Postgres at ${server.host}:${server.port}/postgres holds tables of another program: choose another schema`,
      ),
    );
    assert.deepEqual((await pool.query(`select to_regclass('"${schema}".events') as made`)).rows, [{ made: null }]);
  });

  test("a user who may only use a schema that was made for it can", async () => {
    const schema = freshSchema();
    await pool.query(`create role guest login password 'guest'; create schema "${schema}" authorization guest`);
    const connectionString = server.connectionString().replace(/\/\/[^@]*@/, "//guest:guest@");
    await using store = await open({ schema, connectionString });
    await begin(store, "lead");
    assert.deepEqual(ids(await store.list()), ["lead"]);
    await assert.rejects(
      open({ schema: `${schema} 2`, connectionString }),
      /does not allow it \(permission denied for database postgres\): grant the user its own schema, or choose another$/,
    );
  });

  test("a name of a schema can hold anything", async () => {
    await using store = await open({ schema: `"; drop schema public; -- ${freshSchema()}` });
    await begin(store, "lead");
    assert.deepEqual(ids(await store.list()), ["lead"]);
  });

  test("a pool that was given serves two schemas and stays open", async () => {
    const stores = await Promise.all(
      [freshSchema(), freshSchema()].map((schema) => openPostgresStore({ pool, schema })),
    );
    await Promise.all(stores.map((store, index) => begin(store, `run${index}`)));
    assert.deepEqual(await Promise.all(stores.map(async (store) => ids(await store.list()))), [["run0"], ["run1"]]);
    await Promise.all(stores.map(close));
    assert.equal((await pool.query("select 1")).rowCount, 1);
  });

  test("a long text is kept once, and forgotten with the last event that has it", async () => {
    const schema = await emptySchema(pool, EMPTIED);
    await using store = await open({ schema });
    const long = "a\0b €".repeat(20_000);
    const uses = async () => (await pool.query(`select uses::integer from "${schema}".blobs`)).rows;
    for (const rootId of ["one", "two"]) {
      const tree = sampleTree(rootId);
      tree.start(rootId);
      tree.turn(rootId, long);
      tree.turn(rootId, long);
      tree.end(rootId);
      await store.append(rootId, tree.events);
      assert.ok(isDeepStrictEqual(plain(await store.read(rootId)), plain(tree.events)));
    }
    assert.deepEqual(await uses(), [{ uses: 4 }]);
    await store.delete("one");
    assert.deepEqual(await uses(), [{ uses: 2 }]);
    await store.prune(Number.MAX_SAFE_INTEGER);
    assert.deepEqual(await uses(), []);
    for (const table of ["trees", "runs", "events"])
      assert.deepEqual((await pool.query(`select * from "${schema}".${table}`)).rows, [], table);
  });

  test("more than a hundred trees are pruned, and those that are younger stay", async () => {
    await using store = await openEmpty();
    const trees = Array.from({ length: 130 }, (_, index) => sampleTree(`run${index}`, index * 1_000));
    await Promise.all(
      trees.map((tree) => {
        tree.start(tree.rootId);
        tree.end(tree.rootId);
        return store.append(tree.rootId, tree.events);
      }),
    );
    assert.equal(await store.prune(125_000), 125);
    assert.deepEqual(ids(await store.list()), ["run129", "run128", "run127", "run126", "run125"]);
  });
});

suite("G2: the totals in Postgres", () => {
  test("a transaction that began earlier and commits later is counted after the others, and once", async () => {
    const schema = await emptySchema(pool, EMPTIED);
    await using store = await open({ schema });
    const early = await pool.connect();
    await early.query("begin");
    await early.query(`insert into "${schema}".tallies (started_at, depth, error_type) values (7, 1, 'quota')`);
    const first = await end(store, "first");
    const before = await store.totals();
    assert.deepEqual(plain(before.tallies), plain(tallied(first)));
    const second = await end(store, "second");
    const third = await end(store, "third");
    await early.query("commit");
    early.release();
    const page = await store.totals({ after: before.mark, limit: 1 });
    assert.deepEqual(page.tallies, [
      { kind: "refusal", depth: 1, errorType: "quota", startedAt: 7, project: undefined },
    ]);
    // What is added between two pages comes in a later answer, also when it lies before the last line.
    const fourth = await end(store, "fourth");
    const rest = await restOf(store, page.mark, 1);
    assert.deepEqual(plain(rest.tallies), plain([second, third, fourth].flatMap(tallied)));
    assert.deepEqual((await store.totals({ after: rest.mark })).tallies, []);
  });

  test("the tables of an older sous are filled from what they hold", async () => {
    const schema = freshSchema();
    const tree = everyEnding("lead");
    await using older = await open({ schema });
    await older.append("lead", tree.events);
    await older.append("brought", everyEnding("brought").events, 0);
    await pool.query(
      `${olderPostgresBudgets(`"${schema}"`)} ${postgresWithoutPlacing(schema)}drop table "${schema}".tallies; alter table "${schema}".trees drop column questions; update "${schema}".sous_version set version = 1`,
    );
    await using store = await open({ schema });
    assert.deepEqual(plain((await store.totals()).tallies), plain(tallied(tree)));
  });

  test("the tables of an older sous say which of their trees wait for an answer", async () => {
    const schema = freshSchema();
    const columns = async () =>
      (await pool.query(`select root_id, questions::jsonb from "${schema}".trees order by root_id`)).rows;
    await using older = await open({ schema });
    for (const tree of askingTrees()) await older.append(tree.rootId, tree.events, NO_OWNER);
    const before = await columns();
    await pool.query(
      `${olderPostgresBudgets(`"${schema}"`)} ${postgresWithoutPlacing(schema)}alter table "${schema}".trees drop column questions; drop index "${schema}".tallies_by_start;
       update "${schema}".sous_version set version = 2`,
    );
    await using store = await open({ schema });
    assert.deepEqual(await columns(), before);
    assert.deepEqual(ids(await store.list({ status: "waiting", rootsOnly: true })).sort(), STILL_ASKING);
  });

  test("lines of a dump from a server that was further are counted, once", async () => {
    const schema = await emptySchema(pool, EMPTIED);
    await using first = await open({ schema });
    const tree = await end(first, "lead");
    await pool.query(`update "${schema}".tallies set xid = '999999999999'`);
    assert.deepEqual((await first.totals()).tallies, []);
    const stores = await Promise.all([open({ schema }), open({ schema })]);
    const { tallies, mark } = await first.totals();
    assert.deepEqual(plain(tallies), plain(tallied(tree)));
    assert.deepEqual((await first.totals({ after: mark })).tallies, []);
    await Promise.all(stores.map(close));
  });

  test("lines after a mark are found by an index", async () => {
    const schema = await emptySchema(pool, EMPTIED);
    await using store = await open({ schema });
    const tree = everyEnding("lead");
    await store.append("lead", tree.events);
    const { mark } = await store.totals({ limit: 2 });
    const [, upTo = "", xid = "", position = ""] = mark.split("/");
    const plans = [
      talliesQuery(`"${schema}"`, { from: upTo, upTo }, 0, 10),
      talliesQuery(`"${schema}"`, { upTo, last: { xid, position } }, 0, 10),
    ].map(async ({ text, values }) => {
      const client = await pool.connect();
      await client.query("set enable_seqscan = off; set enable_bitmapscan = off");
      const { rows } = await client.query(`explain ${text}`, values);
      client.release(true);
      return rows.map((row) => Object.values(row).join()).join("\n");
    });
    for (const plan of await Promise.all(plans)) {
      assert.match(plan, /Index Scan using tallies_pkey/);
      assert.match(plan, /Index Cond: .*xid/);
      assert.doesNotMatch(plan, /Sort/);
    }
  });

  test("what started since a time costs what its window holds: the lines before it are not read", async () => {
    const schema = await emptySchema(pool, EMPTIED);
    await using _store = await open({ schema });
    await pool.query(
      `insert into "${schema}".tallies (started_at, depth, error_type) select day, 1, 'quota' from generate_series(1, 20000) as day`,
    );
    await pool.query(`analyze "${schema}".tallies`);
    const upTo = String((await pool.query("select pg_current_snapshot()::text as now")).rows[0]?.now);
    const { text, values } = talliesQuery(`"${schema}"`, { upTo }, 19_950, 2_000);
    const { rows } = await pool.query(`explain (analyze, format json) ${text}`, values);
    const plan = JSON.stringify(rows);
    assert.match(plan, /"Index Name":"tallies_by_start"/);
    assert.doesNotMatch(plan, /"Rows Removed by Filter":[1-9]/);
    assert.equal((await pool.query(text, values)).rows.length, 51);
  });
});

suite("texts that Postgres cannot hold", () => {
  test("texts that Postgres cannot hold come back as they were", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "\0", "\\", "u0000", "\ud800", "\udc00", "😀") });
    fc.assert(
      fc.property(text, (given) => {
        const kept = toColumn(given);
        assert.ok(!kept.includes("\0") && kept.isWellFormed());
        assert.equal(fromColumn(kept), given);
      }),
    );
  });

  test("texts that Postgres cannot hold are labels, tasks, ids and reasons like all others", async () => {
    await using store = await openEmpty();
    const strange = "a\0b\ud800\\u0000\\";
    const tree = sampleTree(strange);
    tree.start(strange, {
      label: strange,
      details: {
        model: strange,
        summaryPrompt: strange,
        rights: { use: [strange], delegate: [], deny: [], spawn: true },
      },
    });
    await store.append(strange, tree.events);
    await store.markLost(strange, strange);
    await store.markLost(strange, "a later reason");
    assert.deepEqual(plain(await store.read(strange)), plain(tree.events));
    const record = await store.run(strange);
    const { id, rootId, path, label, model, summaryPrompt, allowedTools, lost } = record ?? assert.fail("no record");
    assert.deepEqual([id, rootId, path, label, model, summaryPrompt, lost], new Array(7).fill(strange));
    assert.deepEqual(allowedTools, [strange]);
    assert.deepEqual(ids(await store.list({ idPrefix: "a\0b" })), [strange]);
    assert.deepEqual(ids(await store.list({ idPrefix: "a_b" })), []);
  });
});

async function openEmpty(): Promise<PostgresStore> {
  return openPostgresStore({ pool, schema: await emptySchema(pool, EMPTIED) });
}

function open(options: PostgresStoreOptions = {}): Promise<PostgresStore> {
  return openPostgresStore({ connectionString: server.connectionString(), schema: freshSchema(), ...options });
}

async function openTwo(): Promise<{ store: PostgresStore; other: PostgresStore; schema: string }> {
  const schema = await emptySchema(pool, EMPTIED);
  const [store, other] = await Promise.all([open({ schema }), open({ schema })]);
  return { store, other, schema };
}

function close(store: Store): Promise<void> {
  return Promise.resolve(store[Symbol.asyncDispose]());
}

async function begin(store: Store, rootId: string) {
  const tree = sampleTree(rootId);
  tree.start(rootId);
  await store.append(rootId, tree.events);
  return tree;
}

async function end(store: Store, rootId: string) {
  const tree = sampleTree(rootId);
  tree.start(rootId);
  tree.end(rootId);
  await store.append(rootId, tree.events);
  return tree;
}

/** Everything after a mark, read in pages. */
async function restOf(store: Store, mark: string, limit: number): Promise<Totals> {
  const totals = await store.totals({ after: mark, limit });
  if (totals.isComplete) return totals;
  const rest = await restOf(store, totals.mark, limit);
  return { ...rest, tallies: [...totals.tallies, ...rest.tallies] };
}

/** As if the owners had not renewed for the length of a lease. */
async function lapse(schema: string): Promise<void> {
  await pool.query(`update "${schema}".trees set lease_until = clock_timestamp() - interval '1 second'`);
}

/** Asks again until the answer is yes; the test runner's time is the limit. */
async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await pause(10);
}

/** As JSON keeps it. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function freshSchema(): string {
  schemas += 1;
  return `sous test ${schemas}`;
}

function ids(records: readonly { id: string }[]): string[] {
  return records.map(({ id }) => id);
}
