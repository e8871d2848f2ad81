/** A damaged SQLite database: what every store of rows promises, and the damages that only a file can have. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { FIRST_FENCE } from "../../../../src/core/store.ts";
import { inspectDatabase } from "../../../../src/storage/store/sqlite/inspect.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { type DamagedPlace, damageContract } from "../../../support/storage/store/damage-contract.ts";
import { sqlitePlace } from "../../../support/storage/store/sqlite-place.ts";
import { SQLITE_WITHOUT_PLACING } from "../../../support/storage/store/without-placing.ts";

suite("B8.2: SQLite keeps the contract about damage", () => {
  damageContract(test, async (): Promise<DamagedPlace> => {
    const place = sqlitePlace();
    const change = async (sql: string): Promise<void> => place.tamper(sql);
    return {
      store: await place.open(),
      event: (rootId, seq, json) =>
        change(
          `UPDATE events SET json = '${json}' WHERE key = ((SELECT number FROM runs WHERE id = '${rootId}') << 28) | ${seq}`,
        ),
      tools: (runId, json) => change(`UPDATE runs SET allowed_tools = '${json}' WHERE id = '${runId}'`),
      line: (status) => change(`UPDATE tallies SET status = '${status}' WHERE position = 1`),
      texts: (text) => change(`UPDATE blobs SET data = CAST('${text}' AS BLOB)`),
      [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
    };
  });
});

test("a database of an older version is looked at as it is, without the columns that it lacks", async () => {
  await using place = sqlitePlace();
  const store = await place.open();
  const tree = sampleTree("lead");
  tree.start("lead");
  store.append("lead", tree.events);
  await store[Symbol.asyncDispose]();
  place.tamper(`${SQLITE_WITHOUT_PLACING} PRAGMA user_version = 5`);
  const { version, runs, damage, damagedRuns } = inspectDatabase(place.file) ?? assert.fail("it is there");
  assert.deepEqual({ version, runs, damage, damagedRuns }, { version: 5, runs: 1, damage: undefined, damagedRuns: [] });
});

test("an interrupted run with an event that cannot be read claims no cost, also when it is deleted, and the others in its tree are what they were", async () => {
  await using place = sqlitePlace();
  const store = await place.open();
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.start("scout", { parent: "lead" });
  tree.turn("lead", "I wait.", { totalTokens: 10 });
  tree.turn("scout", "I look.", { totalTokens: 100 });
  store.append("lead", tree.events);
  await store.release("lead", FIRST_FENCE);
  const scout = await store.run("scout");
  place.tamper("UPDATE events SET json = '{' WHERE run = 1 AND type = 'message-end'");
  const { damage, costUsd, usage } = (await store.run("lead")) ?? assert.fail("it is there");
  assert.match(damage ?? "", /^Event 4 of run lead is damaged: /);
  assert.deepEqual([costUsd, usage.estimated, usage.totalTokens], [null, true, 0]);
  assert.deepEqual(await store.run("scout"), scout);
  // Asked again, an open store answers from what it knows of the tree.
  for (const _ of [1, 2])
    assert.deepEqual(
      (await store.totals()).unended.map((run) => [run.id, run.damage]),
      [
        ["lead", damage],
        ["scout", undefined],
      ],
    );
  // What it spent is not known, so no line claims it for ever.
  assert.equal(await store.delete("lead"), true);
  const { tallies } = await store.totals();
  assert.deepEqual(
    tallies.map((tally) => tally.kind === "run" && [tally.agent, tally.usage.totalTokens]),
    [["scout", 100]],
  );
});

test("an examination names every damaged run, one with a missing event too, and counts the lines that cannot be read", async () => {
  await using place = sqlitePlace();
  const store = await place.open();
  for (const rootId of ["whole", "row", "event", "gap"]) {
    const tree = sampleTree(rootId);
    tree.start(rootId);
    tree.turn(rootId, "I look.");
    tree.end(rootId);
    store.append(rootId, tree.events);
  }
  const examine = () => {
    const { damage, damagedRuns, damagedLines } = inspectDatabase(place.file) ?? assert.fail("it is there");
    return { damage, damagedRuns: damagedRuns.map(({ id, reason }) => `${id}: ${reason}`), damagedLines };
  };
  assert.deepEqual(examine(), { damage: undefined, damagedRuns: [], damagedLines: 0 });
  place.tamper("UPDATE runs SET usage = 'x' WHERE id = 'row'");
  place.tamper("UPDATE events SET type = 'odd' WHERE type = 'turn-start' AND run = 3");
  place.tamper("DELETE FROM events WHERE type = 'turn-start' AND run = 4");
  place.tamper("UPDATE tallies SET depth = -1 WHERE position = 1; UPDATE tallies SET position = -7 WHERE position = 2");
  assert.deepEqual(examine(), {
    damage: undefined,
    damagedRuns: [
      "row: Run row is damaged in the store: it has no usable usage",
      "event: Stored event 2 (odd) cannot be read: type is not of any kind this version of sous knows",
      "gap: Event 2 of tree gap is missing in the store",
    ],
    damagedLines: 2,
  });
});
