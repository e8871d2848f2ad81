/** Runs that have not ended are counted again only when their tree has something new. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunRecord } from "../../../../src/core/store.ts";
import { noUsage } from "../../../../src/core/usage.ts";
import { fillSums, type KnownSums } from "../../../../src/storage/store/sqlite/reader.ts";
import type { SqliteRunRow } from "../../../../src/storage/store/sqlite/run-row.ts";

test("a tree without new events is not counted again, and its runs have the same sums", () => {
  const lastSeqs = new Map([
    [1, 10],
    [5, 10],
  ]);
  let counted: number[] = [];
  const source = {
    lastSeq: (tree: number) => lastSeqs.get(tree) ?? 0,
    count(tree: number, runs: readonly SqliteRunRow[]) {
      counted.push(tree);
      for (const { number, record } of runs) {
        record.turns = number * 100 + source.lastSeq(tree);
        record.usage.totalTokens = record.turns;
      }
    },
  };
  let known: KnownSums = new Map();
  const turnsOf = (...numbers: [tree: number, number: number][]) => {
    const rows = numbers.map(([tree, number]) => rowOf(tree, number));
    known = fillSums(rows, known, source);
    const turns = rows.map(({ record }) => record.turns);
    assert.deepEqual(
      rows.map(({ record }) => record.usage.totalTokens),
      turns,
    );
    // What a caller does with a record is not remembered.
    for (const { record } of rows) record.usage.totalTokens = -1;
    const trees = counted;
    counted = [];
    return { turns, trees };
  };
  assert.deepEqual(turnsOf([1, 1], [1, 2], [5, 5]), { turns: [110, 210, 510], trees: [1, 5] });
  assert.deepEqual(turnsOf([1, 1], [1, 2], [5, 5]), { turns: [110, 210, 510], trees: [] });
  lastSeqs.set(5, 11);
  assert.deepEqual(turnsOf([1, 1], [1, 2], [5, 5]), { turns: [110, 210, 511], trees: [5] });
  assert.deepEqual(turnsOf([1, 2], [5, 5]), { turns: [210, 511], trees: [1] });
  assert.deepEqual(turnsOf([5, 5]), { turns: [511], trees: [] });
  assert.deepEqual([...known.keys()], [5]);
});

function rowOf(tree: number, number: number): SqliteRunRow {
  const record = { rootId: `root ${tree}`, turns: 0, toolCount: 0, usage: noUsage(), costUsd: 0 };
  return { number, tree, firstSeq: 1, record: record as RunRecord, isAsked: false, isQueued: false };
}
