/** Marks of the totals in Postgres: what is not one is refused before a server is asked. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMark, writeMark } from "../../../../src/storage/store/postgres/tallies.ts";

const NOW = "90:100:";

test("a mark is read as it was written, within an answer and after it", () => {
  const last = { xid: "42", position: "7" };
  for (const mark of [
    { from: undefined, upTo: "10:20:", last },
    { from: "10:20:12,15", upTo: "20:100:20", last },
  ])
    assert.deepEqual(parseMark(writeMark(mark), NOW), mark);
  assert.deepEqual(parseMark("10:20:10,12,12", NOW), { from: "10:20:10,12,12" });
});

test("a text that Postgres would not take for a snapshot, or one of another server, is no mark", () => {
  const wrong = [
    ...["", "10", "10:20", "10:20::", "0:20:", "x:20:", "10:20:x", "10:20:,", "20:10:", "10:101:"],
    // In another order, before the first, after the end.
    ...["10:20:15,12", "10:20:11,15,12", "10:20:9", "10:20:21"],
    ...["10:20://", "10:20://4/2", "/10:20:/4", "/10:20:/4/2/1", "/10:20:/0/2", "/10:20:/4/x", "10:20:/10:101:/4/2"],
    "1".repeat(19),
  ];
  for (const mark of wrong) assert.equal(parseMark(mark, NOW), undefined, mark);
});
