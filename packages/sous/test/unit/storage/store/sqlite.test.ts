/** The SQLite store: the contract of every store, what it keeps where, and what is left when something is deleted. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { StoreError } from "../../../../src/core/errors.ts";
import type { StoredEvent } from "../../../../src/core/event.ts";
import type { RunQuery } from "../../../../src/core/store.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import {
  listQuery,
  SELECT_CHILDREN,
  SELECT_RUN,
  SELECT_TREE,
  SELECT_UNENDED,
} from "../../../../src/storage/store/sqlite/reader.ts";
import { placingContract } from "../../../../src/testing/placing-contract.ts";
import { type SampleTree, sampleTree } from "../../../../src/testing/sample-tree.ts";
import { storeContract } from "../../../../src/testing/store-contract.ts";
import { checkBadQueries } from "../../../support/storage/store/bad-queries.ts";
import { checkSameAnswers } from "../../../support/storage/store/same-answers.ts";
import { checkSamePlacing } from "../../../support/storage/store/same-placing.ts";
import { sqlitePlace } from "../../../support/storage/store/sqlite-place.ts";
import { wrapStore } from "../../../support/testing/faults.ts";

suite("G2: SQLite keeps the contract of stores", () => {
  storeContract(test, async () => {
    const place = sqlitePlace();
    return wrapStore(await place.open(), { [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() });
  });
});

suite("SQLite keeps the contract of placing", () => {
  placingContract(
    test,
    async () => {
      const place = sqlitePlace();
      const [store, other] = [await place.open(), await place.open()];
      return { store: { ...store, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }, other };
    },
    false,
  );
});

test("a query that cannot be answered is refused, and a time that is no time deletes nothing", async () => {
  await using place = sqlitePlace();
  await using store = await place.open();
  await checkBadQueries(store);
});

for (const seed of [1, 2, 3]) {
  test(`G2: SQLite answers as memory does, whatever is asked in whatever order (seed ${seed})`, async () => {
    await using place = sqlitePlace();
    await checkSameAnswers(openMemoryStore(), await place.open(), seed, 60);
  });
}

for (const seed of [1, 2, 3, 4]) {
  test(`SQLite places runs as memory does, whatever is asked in whatever order (seed ${seed})`, async () => {
    await using place = sqlitePlace();
    await checkSamePlacing(openMemoryStore(), await place.open(), seed, 120);
  });
}

suite("G3: the events of the SQLite store", () => {
  for (const synchronous of ["normal", "full"] as const) {
    test(`a kept event is there when the file is opened again, also for others while it is open, with ${synchronous} synchronisation`, async () => {
      await using place = sqlitePlace();
      const tree = family();
      const store = await place.open({ synchronous });
      assert.equal(store.append("lead", tree.events.slice(0, 4)), undefined);
      const other = await place.open();
      assert.deepEqual(plain(await other.read("lead")), plain(tree.events.slice(0, 4)));
      store.append("lead", tree.events.slice(4));
      assert.deepEqual(plain(await other.read("lead")), plain(tree.events));
      await store[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
      assert.deepEqual(plain(await (await place.open()).read("lead")), plain(tree.events));
    });
  }

  test("an append costs event rows and nothing else between the start and the end of a run", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    const tree = sampleTree("lead");
    tree.start("lead");
    store.append("lead", tree.events);
    const before = place.query("SELECT * FROM runs");
    for (let turn = 0; turn < 20; turn++) tree.turn("lead", `Turn ${turn}`);
    store.append("lead", tree.events.slice(1, 3));
    store.append("lead", tree.events.slice(3));
    assert.deepEqual(place.query("SELECT * FROM runs"), before);
    assert.deepEqual(place.query("SELECT count(*) AS count FROM events"), [{ count: 41 }]);
    assert.equal((await store.run("lead"))?.turns, 20);
  });

  test("a kept event stands under the number of its tree and its own, which the largest numbers fit into", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    const first = sampleTree("first");
    first.start("first");
    store.append("first", first.events);
    place.tamper("UPDATE runs SET number = 34359738366, root = 34359738366");
    const last = sampleTree("last");
    const start = last.start("last");
    const end = numbered(last, 2 ** 28 - 1);
    store.append("last", [start]);
    store.append("last", [end]);
    assert.deepEqual(place.query("SELECT CAST(key AS TEXT) AS key FROM events ORDER BY key DESC LIMIT 1"), [
      { key: String(2n ** 63n - 1n) },
    ]);
    assert.deepEqual(
      (await store.read("last", { after: 1 })).map(({ seq }) => seq),
      [2 ** 28 - 1],
    );
    assert.throws(
      () => store.append("full", [sampleTree("full").start("full")]),
      /^StoreError: .* has no numbers left for further runs$/,
    );
  });

  test("a store has at most 268,435,455 events a tree; another is refused in a sentence", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    const tree = sampleTree("lead");
    store.append("lead", [tree.start("lead")]);
    const message = "Tree lead is full: a tree has at most 268435455 events";
    assert.throws(() => store.append("lead", [numbered(tree, 2 ** 28)]), new StoreError(message));
    assert.throws(() => store.append("lead", Array(20).fill(numbered(tree, 2 ** 28))), new StoreError(message));
    assert.equal((await store.read("lead")).length, 1);
  });

  test("an append is refused when it makes no sense: no start, a parent elsewhere, an id that is taken, a number that is", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    const tree = family();
    store.append("lead", tree.events);
    const stranger = sampleTree("stranger");
    const start = stranger.start("stranger");
    assert.throws(() => store.append("x", [start]), /^StoreError: Tree x does not begin with the start of its root$/);
    assert.throws(
      () => store.append("stranger", [start, { ...start, seq: 2, runId: "child", parentId: "scout" }]),
      /^StoreError: The parent of run child is not in tree stranger$/,
    );
    assert.throws(
      () => store.append("stranger", [start, { ...start, seq: 2, runId: "scout", parentId: "stranger" }]),
      /^StoreError: A run with the id scout is in the store already$/,
    );
    assert.throws(
      () => store.append("stranger", [start, { ...numbered(stranger, 2), runId: "scout" }]),
      /^StoreError: Event 2 belongs to run scout, which has not started$/,
    );
    assert.throws(
      () => store.append("lead", [numbered(tree, 3)]),
      /^StoreError: Tree lead already has event 3; its last is /,
    );
    assert.deepEqual(place.query("SELECT id FROM runs WHERE id = 'stranger'"), []);
  });
});

suite("G1: a text over 64 KB", () => {
  const long = "long ".repeat(20_000);

  test("a long text is kept once, however often it occurs, and comes back in events and records", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    for (const rootId of ["one", "two"]) store.append(rootId, withLongTexts(rootId, long).events);
    assert.deepEqual(place.query("SELECT length(data) AS length, uses FROM blobs"), [{ length: long.length, uses: 8 }]);
    for (const rootId of ["one", "two"]) {
      assert.deepEqual(plain(await store.read(rootId)), plain(withLongTexts(rootId, long).events));
      assert.equal((await store.run(rootId))?.task, long);
      assert.equal((await store.run(rootId))?.summaryPrompt, long);
    }
  });

  test("a long text is deleted with the last tree that refers to it", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    store.append("one", withLongTexts("one", long, 1_000).events);
    store.append("two", withLongTexts("two", long, 2_000).events);
    store.append(
      "two",
      withLongTexts("two", `${long}!`, 2_000)
        .events.slice(-1)
        .map((event) => ({ ...event, seq: 9 })),
    );
    assert.equal(await store.delete("two"), true);
    assert.deepEqual(place.query("SELECT uses FROM blobs"), [{ uses: 4 }]);
    assert.equal((await store.run("one"))?.task, long);
    assert.equal(await store.prune(2_000), 1);
    assert.deepEqual(place.query("SELECT uses FROM blobs"), []);
    assert.deepEqual(place.query("SELECT count(*) AS count FROM events"), [{ count: 0 }]);
  });

  test("a long text is not kept when its event is not", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    const { events } = withLongTexts("lead", long);
    assert.throws(() => store.append("lead", [...events, ...events]), StoreError);
    assert.deepEqual(place.query("SELECT uses FROM blobs"), []);
  });
});

suite("G2: of however many runs", () => {
  const NEWEST = "ORDER BY r.started_at DESC, r.id DESC";
  const plans: [what: string, sql: string, plan: string][] = [
    ["one", SELECT_RUN, "SEARCH r USING INDEX sqlite_autoindex_runs_1 (id=?)"],
    ["the children of one", SELECT_CHILDREN, "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)"],
    ["a tree", SELECT_TREE, "SEARCH r USING INDEX runs_by_tree (root=?)"],
    ["all", listed({}), "SCAN r USING INDEX runs_by_start"],
    ["the latest", listed({ since: 1 }), "SEARCH r USING INDEX runs_by_start (started_at>?)"],
    ["those that completed", listed({ status: "completed" }), "SCAN r USING INDEX runs_by_start"],
    ["those that failed", listed({ status: "failed" }), "SEARCH r USING INDEX runs_by_status (status=?)"],
    [
      "those that failed lately",
      listed({ status: "failed", since: 1 }),
      "SEARCH r USING INDEX runs_by_status (status=? AND started_at>?)",
    ],
    ["those at work", listed({ status: "running" }), "SEARCH r USING INDEX runs_by_status (status=?)"],
    ["those left behind", listed({ status: "interrupted" }), "SEARCH r USING INDEX runs_by_status (status=?)"],
    ["those that wait", listed({ status: "waiting" }), "SEARCH r USING INDEX runs_by_status (status=?)"],
    ["roots", listed({ rootsOnly: true }), "SCAN r USING INDEX roots_by_start"],
    [
      "roots with a status",
      listed({ rootsOnly: true, status: "failed" }),
      "SEARCH r USING INDEX roots_by_status (status=?)",
    ],
    ["the roots of a folder", listed({ cwd: "/srv", rootsOnly: true }), "SEARCH r USING INDEX roots_by_folder (cwd=?)"],
    [
      "the latest of a folder",
      listed({ cwd: "/srv", since: 1 }),
      "SEARCH r USING INDEX roots_by_folder (cwd=? AND started_at>?)",
    ],
    [
      "those left behind in a folder",
      listed({ cwd: "/srv", rootsOnly: true, status: "interrupted" }),
      "SEARCH r USING INDEX roots_by_status (status=?)",
    ],
    [
      "the messages of a conversation",
      listed({ rootId: "01", rootsOnly: true }),
      "SEARCH r USING INDEX runs_by_tree (root=? AND parent=?)",
    ],
    ["those that have not ended", SELECT_UNENDED, "SEARCH r USING INDEX runs_by_status (status=? AND started_at>?)"],
    [
      "ids that begin alike",
      listed({ idPrefix: "01" }),
      "SEARCH r USING INDEX sqlite_autoindex_runs_1 (id>? AND id<?)",
    ],
  ];
  for (const [what, sql, expected] of plans) {
    test(`${what} are found by an index${sql.includes(NEWEST) ? ", newest first" : ""}`, async () => {
      await using place = sqlitePlace();
      await place.open();
      const plan = place.query(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => String(detail));
      assert.deepEqual(
        plan.filter((line) => /\br\b/.test(line)),
        [expected],
      );
      assert.deepEqual(
        plan.filter((line) => /^SCAN (?!r |json_each )/.test(line)),
        [],
      );
      assert.equal(
        plan.some((line) => line.includes("TEMP B-TREE")),
        sql.includes("+r.started_at"),
        plan.join("\n"),
      );
    });
  }
});

function listed(query: RunQuery): string {
  return listQuery(query, () => [1]).sql;
}

function family(): SampleTree {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.start("scout", { parent: "lead" });
  tree.turn("scout", "I look.");
  tree.add("scout", { type: "tool-call-start", callId: "call_1", toolName: "grep", input: { pattern: "é" } });
  tree.end("scout");
  tree.end("lead");
  return tree;
}

function withLongTexts(rootId: string, text: string, startTime?: number): SampleTree {
  const tree = sampleTree(rootId, startTime);
  tree.start(rootId, { details: { task: { role: "user", content: [{ type: "text", text }] }, summaryPrompt: text } });
  tree.end(rootId);
  return tree;
}

/** Any event of the root, with a number of one's own. */
function numbered(tree: SampleTree, seq: number): StoredEvent {
  const { runId, agentId, parentId, path, depth } = tree.events[0] ?? assert.fail("the tree has begun");
  return { seq, time: 1, runId, agentId, parentId, path, depth, type: "steer", text: "Go on." };
}

/** As JSON keeps it: fields that are undefined are dropped. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
