import assert from "node:assert/strict";
import { test } from "node:test";
import { BARE } from "./cold-import.mjs";
import { goalOf, ROWS } from "./rows.mjs";
import { summarise } from "./statistics.mjs";
import { renderTable } from "./table.mjs";
import { findFailures } from "./verdict.mjs";

test("a goal may be missed by ten per cent, and a peer may be better by as much", () => {
  assert.deepEqual(findFailures({ raw: turn(2), pi: turn(10), sous: turn(10.9) }), []);
});

test("a goal missed by more is a failure, and so is a better peer", () => {
  assert.deepEqual(findFailures({ raw: turn(2), pi: turn(8), sous: turn(12) }), [
    "W1 turn, 1 tool call, 1 delta: the goal is missed by 20 %",
    "W1 turn, 1 tool call, 1 delta: pi is better, 8.00 to 12.0 µs",
  ]);
});

test("the bare loops are limits, not peers", () => {
  assert.deepEqual(findFailures({ raw: turn(2), "raw-v4": turn(3), "raw-durable": turn(4), sous: turn(9) }), []);
});

test("nothing is judged when sous is not measured", () => {
  assert.deepEqual(findFailures({ raw: turn(2), pi: turn(30) }), []);
});

test("only a slower machine moves the goal of the cold import", () => {
  const row = ROWS.find(({ figure }) => figure === "coldImport");
  const goalAt = (milliseconds) => goalOf(row, { [BARE]: { coldImport: summarise([milliseconds]) } });
  assert.deepEqual([goalAt(20.5), goalAt(41), goalAt(82)], [90, 90, 180]);
});

test("the table shows ratios to the bare loop, and for AI SDK models to the bare loop over those", () => {
  const summaries = { raw: turn(2), "raw-v4": turn(20), ai: turn(800), sous: turn(6), "sous-v4": turn(30) };
  assert.equal(
    renderTable(["raw", "raw-v4", "ai", "sous", "sous-v4"], summaries),
    `| workload                      | raw  | raw-v4 | ai   | sous | sous-v4            | goal | verdict |
| ----------------------------- | ---- | ------ | ---- | ---- | ------------------ | ---- | ------- |
| W1 turn, 1 tool call, 1 delta | 2 µs | 10×    | 400× | 3×   | 15× (1.50× raw-v4) | ≤ 5× | reached |`,
  );
});

function turn(microseconds) {
  return { turn: summarise([microseconds]) };
}
