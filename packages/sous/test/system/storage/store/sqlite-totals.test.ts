/** The totals of a SQLite store: how an older database gets them, how they are found, and who may write them. */

import assert from "node:assert/strict";
import type { SQLInputValue } from "node:sqlite";
import { suite, test } from "node:test";
import { NO_OWNER, type Store } from "../../../../src/core/store.ts";
import type { SqliteConnection } from "../../../../src/storage/store/sqlite/connection.ts";
import { FIND_FIRST, readTallies, SELECT_TALLIES } from "../../../../src/storage/store/sqlite/tallies.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { everyEnding, tallied } from "../../../../src/testing/store-contract-totals.ts";
import { askingTrees, STILL_ASKING } from "../../../support/storage/store/asking-trees.ts";
import { OLDER_SQLITE_BUDGETS } from "../../../support/storage/store/older-budgets.ts";
import { type SqlitePlace, sqlitePlace } from "../../../support/storage/store/sqlite-place.ts";
import { SQLITE_WITHOUT_PLACING } from "../../../support/storage/store/without-placing.ts";
import { runScript } from "./run-node.ts";

suite("G2: a database of an older sous", () => {
  for (const [version, gone] of [
    [2, ["tallies"]],
    [1, ["tallies", "purses"]],
  ] as const) {
    test(`a database of version ${version} gets the totals of what it holds, and counts on`, async () => {
      await using place = sqlitePlace();
      const tree = everyEnding("lead", 1_000);
      const long = longEnding("long", 5_000);
      await withStore(place, async (store) => {
        await store.append("lead", tree.events);
        await store.append("long", long.events);
        await store.append("brought", everyEnding("brought").events, NO_OWNER);
        await store.append("left", [sampleTree("left").start("left")]);
      });
      makeOlder(place, version, gone);
      await withStore(place, async (store) => {
        const { tallies, unended, mark } = await store.totals();
        assert.deepEqual(plain(tallies), plain([...tallied(tree), ...tallied(long)]));
        assert.deepEqual(
          unended.map(({ id, status }) => [id, status]),
          [["left", "interrupted"]],
        );
        assert.equal(await store.delete("lead"), true);
        assert.deepEqual((await store.totals({ after: mark })).tallies, []);
        assert.equal(await store.delete("left"), true);
        assert.equal((await store.totals({ after: mark })).tallies.length, 1);
      });
    });
  }

  test("a database of version 3 says which of its trees wait for an answer", async () => {
    await using place = sqlitePlace();
    await withStore(place, async (store) => {
      for (const tree of askingTrees()) await store.append(tree.rootId, tree.events, NO_OWNER);
    });
    const columns = () =>
      place
        .query("SELECT id, questions FROM runs WHERE root = number ORDER BY id")
        .map(({ id, questions }) => [id, JSON.parse(String(questions))]);
    const before = columns();
    makeOlder(place, 3, []);
    await withStore(place, async (store) => {
      const waiting = await store.list({ status: "waiting", rootsOnly: true });
      assert.deepEqual(waiting.map(({ id }) => id).sort(), STILL_ASKING);
    });
    assert.deepEqual(columns(), before);
  });

  test("an older database with damaged rows is opened all the same", async () => {
    await using place = sqlitePlace();
    await withStore(place, async (store) => store.append("lead", everyEnding("lead").events));
    makeOlder(place, 2, ["tallies"]);
    place.tamper("UPDATE events SET json = '{' WHERE type IN ('run-end', 'spawn-refused')");
    place.tamper("UPDATE runs SET usage = 'x', duration_ms = NULL, turns = NULL WHERE number > 2");
    await withStore(place, async (store) => {
      const { tallies } = await store.totals();
      assert.deepEqual(
        tallies
          .map((tally) => tally.kind === "run" && [tally.agent, tally.errorType, tally.usage.totalTokens])
          .slice(0, 6),
        [
          ["lead-deep", undefined, 120],
          ["unpriced", undefined, 0],
          ["guessed", undefined, 0],
          ["strange", undefined, 0],
          ["out-of-turns", undefined, 0],
          ["budget_exceeded", "quota", 0],
        ],
      );
    });
  });

  test("an older database with a run that cannot be read has totals that can: its tree can be deleted, a line cannot", async () => {
    for (const [change, lines] of [
      ["status = 'odd'", 0],
      [
        "started_at = -1e300, depth = 'x', agent = x'00', model = zeroblob(9), cwd = x'01', duration_ms = 'x', turns = -1",
        1,
      ],
      ["started_at = 9e18, depth = 9e99, turns = 9e999, usage = '[]', cost_usd = 'x', duration_ms = 9e999", 1],
      [`usage = '{"totalTokens":-1,"inputTokens":"7","outputTokens":[],"estimated":{}}', cost_usd = -1`, 1],
    ] as const) {
      await using place = sqlitePlace();
      const tree = sampleTree("lead");
      tree.start("lead");
      tree.end("lead");
      await withStore(place, async (store) => store.append("lead", tree.events));
      makeOlder(place, 2, ["tallies"]);
      place.tamper(`UPDATE runs SET ${change}`);
      await withStore(place, async (store) => assert.equal((await store.totals()).tallies.length, lines, change));
    }
  });
});

const DAY_MS = 86_400_000;

suite("G2: the totals in SQLite", () => {
  test("lines after a mark are found by its position, without a look at what came before", async () => {
    await using place = sqlitePlace();
    await place.open();
    const planOf = (sql: string) => place.query(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => detail);
    assert.deepEqual(planOf(SELECT_TALLIES), ["SEARCH tallies USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"]);
  });

  test("what started since a time costs what its window holds: nothing that was added before it is read", async () => {
    await using place = sqlitePlace();
    await withStore(place, async (store) => {
      for (const day of [0, 1, 2]) await store.append(`day${day}`, everyEnding(`day${day}`, day * DAY_MS).events);
    });
    const plan = place.query(`EXPLAIN QUERY PLAN ${FIND_FIRST}`).map(({ detail }) => detail);
    assert.deepEqual(plan, ["SEARCH tallies USING COVERING INDEX tallies_by_start (started_at>?)"]);
    const all = place.query("SELECT position FROM tallies WHERE started_at >= ? ORDER BY position", 2 * DAY_MS);
    const from: unknown[] = [];
    const connection = {
      prepare: (sql: string) => ({
        get: (...values: SQLInputValue[]) => place.query(sql, ...values)[0],
        all(...values: SQLInputValue[]) {
          from.push(values[0]);
          return place.query(sql, ...values);
        },
      }),
    } as unknown as SqliteConnection;
    const { tallies, isComplete } = readTallies(connection, { after: undefined, since: 2 * DAY_MS, limit: 1_000 });
    assert.deepEqual([tallies.length, isComplete], [all.length, true]);
    // The table is walked from there on, so no line of the first days was looked at.
    assert.deepEqual(from, [Number(all[0]?.position) - 1]);
    const later = readTallies(connection, { after: undefined, since: 3 * DAY_MS, limit: 1_000 });
    assert.deepEqual([later.tallies, later.isComplete, from.at(-1)], [[], true, Number.MAX_SAFE_INTEGER - 1]);
  });

  test("a line is kept with the end of its run, or neither is", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    const tree = everyEnding("lead");
    const { events } = tree;
    assert.throws(() => store.append("lead", [...events, ...events]));
    assert.deepEqual(place.query("SELECT * FROM tallies"), []);
    store.append("lead", events);
    assert.equal(place.query("SELECT * FROM tallies").length, tallied(tree).length);
  });

  test("runs that have not ended are as in a list, however often they are asked for", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    const writer = await place.open();
    const tree = sampleTree("lead");
    tree.start("lead");
    tree.start("scout", { parent: "lead" });
    let written = 0;
    const check = async () => {
      writer.append("lead", tree.events.slice(written));
      written = tree.events.length;
      for (const since of [undefined, undefined, tree.events[1]?.time]) {
        const { unended } = await store.totals({ since });
        const listed = (await store.list({ since })).filter(({ endedAt }) => endedAt === undefined);
        assert.deepEqual(plain(unended.toReversed()), plain(listed));
        // What a caller does with an answer is not seen in the next one.
        for (const { usage } of unended) usage.totalTokens = -1;
      }
    };
    await check();
    tree.turn("scout", "I look.", { totalTokens: 5 });
    await check();
    tree.turn("lead", "I wait.", { totalTokens: 3 });
    await check();
    await writer.release("lead", 1);
    assert.deepEqual(
      (await store.totals()).unended.map(({ id, status }) => [id, status]),
      [
        ["lead", "interrupted"],
        ["scout", "interrupted"],
      ],
    );
    await writer.claim("lead");
    tree.end("scout");
    writer.append("lead", tree.events.slice(written), 2);
    written = tree.events.length;
    assert.deepEqual(plain((await store.totals()).unended), plain(await store.list({ status: "running" })));
  });

  test("three processes write, a fourth reads pages meanwhile: every run is counted once", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    const script = (name: string) => `
      const store = await openSqliteStore(file);
      for (let index = 0; index < 40; index++) {
        const id = "${name}" + index;
        const tree = sampleTree(id);
        tree.start(id);
        store.append(id, tree.events);
        tree.end(id);
        store.append(id, tree.events.slice(1));
      }
      await store[Symbol.asyncDispose]();`;
    let isWriting = true;
    const writing = Promise.all(["a", "b", "c"].map((name) => runScript(place.file, script(name)))).finally(() => {
      isWriting = false;
    });
    const found: string[] = [];
    let after: string | undefined;
    for (let isLast = false; ; ) {
      const { tallies, mark, isComplete } = await store.totals({ after, limit: 7 });
      after = mark;
      found.push(...tallies.flatMap((tally) => (tally.kind === "run" ? [tally.agent] : [])));
      if (isComplete && isLast) break;
      isLast = !isWriting;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writing;
    assert.equal(found.length, 120);
    assert.equal(new Set(found).size, 120);
  });
});

/** A failed run whose end is so long that its text is kept apart. */
function longEnding(rootId: string, startTime: number) {
  const tree = sampleTree(rootId, startTime);
  tree.start(rootId);
  tree.end(rootId, { status: "failed", text: "x".repeat(100_000), fault: { type: "tool", message: "No." } });
  return tree;
}

async function withStore(place: SqlitePlace, work: (store: Store) => unknown): Promise<void> {
  await using store = await place.open();
  await work(store);
}

/** As the file looked before these tables were added. */
function makeOlder(place: SqlitePlace, version: number, gone: readonly string[]): void {
  const dropped = ["INDEX tallies_by_start", ...gone.map((table) => `TABLE ${table}`)]
    .map((part) => `DROP ${part};`)
    .join(" ");
  place.tamper(
    `${OLDER_SQLITE_BUDGETS} ${SQLITE_WITHOUT_PLACING} ${dropped} ALTER TABLE runs DROP COLUMN questions; PRAGMA user_version = ${version}`,
  );
}

/** As JSON keeps it. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
