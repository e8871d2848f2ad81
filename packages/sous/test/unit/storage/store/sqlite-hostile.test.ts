/** Forged databases: nothing in them runs, nothing in them lasts for ever, and what is wrong is said. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { suite, test } from "node:test";
import { StoreError, UserError } from "../../../../src/core/errors.ts";
import type { Store } from "../../../../src/core/store.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { type SampleTree, sampleTree } from "../../../../src/testing/sample-tree.ts";
import { type SqlitePlace, sqlitePlace } from "../../../support/storage/store/sqlite-place.ts";

suite("B8.2: a database with more in it than sous put there", () => {
  const added: [what: string, sql: string, name: string][] = [
    ["a trigger", "CREATE TRIGGER evil AFTER INSERT ON events BEGIN DELETE FROM runs; END", "evil"],
    ["a trigger of another table", "CREATE TRIGGER evil AFTER UPDATE ON runs BEGIN DELETE FROM events; END", "evil"],
    ["a view", "CREATE VIEW evil AS SELECT * FROM runs", "evil"],
    [
      "a view in place of a table",
      "DROP TABLE blobs; CREATE VIEW blobs AS SELECT 1 AS hash, 2 AS data, 3 AS uses",
      "blobs",
    ],
    ["another table", "CREATE TABLE evil (a)", "evil"],
    ["an index that computes", "CREATE INDEX evil ON events (length(json))", "evil"],
    ["a column that computes", "ALTER TABLE events ADD COLUMN evil AS (abs(-9223372036854775808))", "events"],
    ["a virtual table", "CREATE VIRTUAL TABLE evil USING fts5(a)", "evil"],
    ["figures of its own about the indexes", "ANALYZE", "sqlite_stat1"],
  ];
  for (const [what, sql, name] of added) {
    test(`a database is refused when it also holds ${what}`, async () => {
      await using place = await filledPlace();
      place.tamper(sql);
      const before = place.image();
      const message = `${place.file} holds "${name}", which sous did not put there: give another file with --db-path`;
      for (const readOnly of [false, true]) await assert.rejects(place.open({ readOnly }), new UserError(message));
      assert.deepEqual(place.image(), before);
    });
  }

  test("a database is refused when something is missing", async () => {
    await using place = await filledPlace();
    place.tamper("DROP INDEX runs_by_tree");
    const message = `${place.file} lacks tables that sous put there: give another file with --db-path`;
    await assert.rejects(place.open(), new UserError(message));
  });
});

suite("B8.2: a database with rows that cannot be", () => {
  const wrong: [what: string, sql: string, broken: readonly Question[]][] = [
    ["parents in a circle", "UPDATE runs SET parent = 3 WHERE id = 'scout'", ["run", "tree", "read"]],
    ["a run that is its own parent", "UPDATE runs SET parent = 2 WHERE id = 'scout'", ["run", "tree", "read"]],
    ["a parent that is not there", "UPDATE runs SET parent = 0 WHERE id = 'scout'", ["run", "tree", "read"]],
    ["words for numbers", "UPDATE runs SET depth = 'deep' WHERE id = 'scout'", ["run", "tree", "list", "read"]],
    [
      "a number that is too large",
      "UPDATE runs SET first_seq = 9223372036854775807 WHERE id = 'scout'",
      ["run", "tree"],
    ],
    ["a number for a text", "UPDATE runs SET label = x'00ff' WHERE id = 'scout'", ["run", "tree", "list"]],
    ["an unknown status", "UPDATE runs SET status = 'evil' WHERE id = 'scout'", ["run", "tree", "list"]],
    ["tools that are no list", "UPDATE runs SET allowed_tools = '{' WHERE id = 'scout'", ["run", "tree", "list"]],
    ["usage of nothing", `UPDATE runs SET usage = '{"__proto__":1}' WHERE id = 'scout'`, ["run", "tree", "list"]],
    ["a start after all dates", "UPDATE runs SET started_at = 9e15 WHERE id = 'scout'", ["run", "tree", "list"]],
    ["a start before all dates", "UPDATE runs SET started_at = -1 WHERE id = 'scout'", ["run", "tree", "list"]],
    ["an end without an end", "UPDATE runs SET ended_at = 9e999 WHERE id = 'scout'", ["run", "tree", "list"]],
    ["a depth that no tree has", "UPDATE runs SET depth = 101 WHERE id = 'scout'", ["run", "tree", "list"]],
    ["half a turn", "UPDATE runs SET turns = 0.5 WHERE id = 'scout'", ["run", "tree", "list"]],
    ["fewer tools than none", "UPDATE runs SET tool_count = -1 WHERE id = 'scout'", ["run", "tree", "list"]],
    ["money that was earned", "UPDATE runs SET cost_usd = -0.5 WHERE id = 'scout'", ["run", "tree", "list"]],
    [
      "more tokens than a number counts",
      `UPDATE runs SET usage = '{"totalTokens":1e308}' WHERE id = 'scout'`,
      ["run", "tree", "list"],
    ],
    ["a task that was taken away", "UPDATE runs SET task = x'00' WHERE id = 'scout'", ["run", "tree", "list"]],
    [
      "a label of more than a megabyte",
      "UPDATE runs SET label = hex(zeroblob(600000)) WHERE id = 'scout'",
      ["run", "tree", "list"],
    ],
    ["an unknown type", "UPDATE events SET type = 'evil' WHERE run = 2", ["read"]],
    ["a type that is none", "UPDATE events SET type = x'00' WHERE run = 2", ["read"]],
    ["no JSON", "UPDATE events SET json = '{' WHERE run = 2", ["read"]],
    ["JSON of another event", `UPDATE events SET json = '{"time":1,"text":7}' WHERE run = 2`, ["read"]],
    ["a blob for JSON", "UPDATE events SET json = x'7b7d' WHERE run = 2", ["read"]],
    ["an event of no run", "UPDATE events SET run = 99 WHERE run = 2", ["read"]],
    ["a text that was taken away", `UPDATE events SET json = '[{"time":1},[[["text"],"00"]]]' WHERE run = 2`, ["read"]],
    ["texts taken away from nowhere", `UPDATE events SET json = '[{"time":1},7]' WHERE run = 2`, ["read"]],
    ["a list that does not end", "UPDATE events SET json = '[' WHERE run = 2", ["read"]],
    ["a line of the totals without a run", "UPDATE tallies SET agent = NULL", ["totals"]],
    ["a line with an unknown status", "UPDATE tallies SET status = 'running'", ["totals"]],
    ["a line with an unknown kind of error", "UPDATE tallies SET error_type = 'evil'", ["totals"]],
    ["a line with words for tokens", "UPDATE tallies SET total_tokens = 'many'", ["totals"]],
    ["a line with money that was earned", "UPDATE tallies SET cost_usd = -1", ["totals"]],
    [
      "a line that no position counts",
      "UPDATE tallies SET position = 9223372036854775807 WHERE position = 1",
      ["totals"],
    ],
    ["a line with a name of a megabyte", "UPDATE tallies SET model = hex(zeroblob(600000))", ["totals"]],
    [
      "an event over 64 MB",
      "UPDATE events SET json = hex(zeroblob(33554433)) WHERE key = (SELECT max(key) FROM events WHERE run = 2)",
      ["read"],
    ],
  ];
  for (const [what, sql, broken] of wrong) {
    test(`the store says that a row cannot be: ${what}`, async () => {
      await using place = await filledPlace();
      place.tamper(sql);
      const store = await place.open();
      for (const question of broken) assert.match(await damageIn(store, question), /^[^\n]{1,300}$/);
      // What is not touched by it can still be had, and what is can be forgotten.
      assert.equal((await store.run("other"))?.status, "completed");
      assert.equal((await store.read("other")).length, 2);
      assert.equal(await store.delete("lead"), true);
      assert.deepEqual(
        (await store.list()).map(({ id }) => id),
        ["other"],
      );
    });
  }

  test("the store says that a row cannot be: a run of a tree that is not there", async () => {
    await using place = await filledPlace();
    place.tamper("UPDATE runs SET root = 9 WHERE id = 'scout'");
    const store = await place.open();
    for (const question of ["run", "list", "read"] as const) assert.notEqual(await damageIn(store, question), "");
    assert.deepEqual(
      (await store.tree("lead")).map(({ id }) => id),
      ["lead", "writer"],
    );
  });

  test("reading ends when the pages of a table point at each other", async () => {
    await using place = sqlitePlace();
    await using store = await openSqliteStore(place.file);
    const tree = sampleTree("lead");
    tree.start("lead");
    for (let turn = 0; turn < 200; turn++) tree.turn("lead", `${turn}`.padEnd(1_000));
    store.append("lead", tree.events);
    await store[Symbol.asyncDispose]();
    repeatFirstPage(place);
    const crafted = await place.open();
    await assert.rejects(
      crafted.read("lead"),
      /^StoreError: Event \d+ is damaged in the store: it comes after a later one$/,
    );
    assert.match(
      (await crafted.run("lead"))?.damage ?? "",
      /^Event \d+ is damaged in the store: it comes after a later one$/,
    );
  });

  test("a forged database does not give a tree to an owner who made a claim up, nor let him speak to the terminal", async () => {
    await using place = await filledPlace();
    for (const owner of ["", "a b c d e", "%zz", "\u001b[31m%1b%5d52 x 7 1 0", "x".repeat(100_000)]) {
      place.tamper(`UPDATE runs SET owner = '${owner}', leased_until = 9e300 WHERE id = 'lead'`);
      const store = await place.open();
      await assert.rejects(
        store.claim("lead"),
        (error) => error instanceof UserError && /^[\x20-\x7e]{1,300}$/.test(error.message),
      );
      await store[Symbol.asyncDispose]();
    }
  });
});

type Question = "run" | "tree" | "list" | "read" | "totals";

/** What an answer says about the one damaged row, after it has said nothing about any other. */
async function damageIn(store: Store, question: Question): Promise<string> {
  if (question === "totals") {
    const { tallies, damaged } = await store.totals();
    // Every line is damaged by a change without a condition.
    assert.equal(tallies.length + Number(damaged), 4);
    return damaged === 0 ? "" : "damaged";
  }
  if (question === "read") {
    const reasons: string[] = [];
    const rest = await store.read("lead", { onDamage: ({ message }) => reasons.push(message) });
    assert.ok(rest.length > 0 && rest.every(({ runId }) => runId !== "other"));
    await assert.rejects(store.read("lead"), new StoreError(reasons[0]));
    return reasons[0] ?? "";
  }
  const records = question === "list" ? await store.list() : question === "tree" ? await store.tree("lead") : [];
  const scout = question === "run" ? await store.run("scout") : records.find(({ damage }) => damage !== undefined);
  assert.ok(records.every((record) => record === scout || record.damage === undefined));
  assert.ok(records.length === 0 || records.length === { list: 4, tree: 3, run: 0 }[question]);
  return scout?.damage ?? "";
}

/** Two trees: `lead` (run 1) with `scout` (2) and `writer` (3), and `other` (4). */
async function filledPlace(): Promise<SqlitePlace> {
  const place = sqlitePlace();
  await using store = await openSqliteStore(place.file);
  for (const tree of [family(), single("other")]) store.append(tree.rootId, tree.events);
  return place;
}

function family(): SampleTree {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.start("scout", { parent: "lead" });
  tree.turn("scout", "I look.");
  tree.start("writer", { parent: "scout" });
  for (const id of ["writer", "scout", "lead"]) tree.end(id);
  return tree;
}

function single(rootId: string): SampleTree {
  const tree = sampleTree(rootId);
  tree.start(rootId);
  tree.end(rootId);
  return tree;
}

/** Lets every pointer of the top page of the events lead to their first page. */
function repeatFirstPage(place: SqlitePlace): void {
  const [top] = place.query("SELECT rootpage FROM sqlite_schema WHERE name = 'events'");
  const bytes = readFileSync(place.file);
  const size = bytes.readUInt16BE(16);
  const page = bytes.subarray((Number(top?.rootpage) - 1) * size).subarray(0, size);
  assert.equal(page[0], 5, "the page points at others");
  const cells = Array.from({ length: page.readUInt16BE(3) }, (_, index) => page.readUInt16BE(12 + 2 * index));
  const first = page.readUInt32BE(cells[0] ?? assert.fail("there are several"));
  for (const cell of cells) page.writeUInt32BE(first, cell);
  page.writeUInt32BE(first, 8);
  writeFileSync(place.file, bytes);
}
