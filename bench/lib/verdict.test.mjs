import assert from "node:assert/strict";
import { test } from "node:test";
import { BARE } from "./cold-import.mjs";
import { goalOf, ROWS } from "./rows.mjs";
import { summarise } from "./statistics.mjs";
import { renderPairs, renderTable } from "./table.mjs";
import { findFailures } from "./verdict.mjs";

test("a goal may be missed by ten per cent, and a peer may be better by as much", () => {
  assert.deepEqual(findFailures({ raw: turn(2), pi: turn(26), sous: turn(14.2) }), []);
});

test("a goal missed by more is a failure, and so is a better peer", () => {
  assert.deepEqual(findFailures({ raw: turn(2), pi: turn(13), sous: turn(15.6) }), [
    "W1 turn, 1 tool call, 1 delta: CPU: the goal of sous is missed by 118 %",
    "W1 turn, 1 tool call, 1 delta: CPU: pi is better, 13.0 to 15.6 µs",
  ]);
});

test("sous with a store on disk has goals of its own, some of them to the bare loop that writes as well", () => {
  const raw = { ...turn(2), delegation: summarise([20]) };
  const limits = { raw, "raw-durable": { ...turn(30), delegation: summarise([200]) } };
  const durable = (microseconds, delegation) => ({ ...turn(microseconds), delegation: summarise([delegation]) });
  assert.deepEqual(findFailures({ ...limits, "sous-durable": durable(33, 290) }), []);
  assert.deepEqual(findFailures({ ...limits, "sous-durable": durable(37.5, 337.5) }), [
    "W1 turn, 1 tool call, 1 delta: CPU: the goal of sous-durable is missed by 25 %",
    "W2 one delegation (child: 3 turns): CPU: the goal of sous-durable is missed by 25 %",
  ]);
});

test("a peer that keeps nothing is no better than sous with a store on disk", () => {
  const limits = { raw: turn(2), "raw-durable": turn(30) };
  assert.deepEqual(findFailures({ ...limits, pi: turn(25), "sous-durable": turn(30) }), []);
});

test("the bare loops are limits, not peers", () => {
  assert.deepEqual(findFailures({ raw: turn(2), "raw-v4": turn(3), "raw-durable": turn(4), sous: turn(9) }), []);
});

test("nothing is judged when sous is not measured", () => {
  assert.deepEqual(findFailures({ raw: turn(2), pi: turn(30) }), []);
});

test("storage must reach nine tenths of SQLite that makes the same text, and a question among a million runs may take a fifth longer", () => {
  const compared = (rows, milliseconds) => ({
    "node:sqlite": { storedBy10: summarise([100_000]) },
    "node:sqlite and JSON": { storedBy10: summarise([70_000]) },
    "sous store": { storedBy10: summarise([rows]) },
    "10 runs": { tree: summarise([100]) },
    "many runs": { tree: summarise([milliseconds]) },
  });
  assert.deepEqual(findFailures(compared(63_000, 120)), []);
  assert.deepEqual(findFailures(compared(50_400, 150)), [
    "W7 storage, events of 1 KB, 10 a commit: the goal is missed by 25 %",
    "W8 sous replay --tree --id ID: the goal is missed by 25 %",
  ]);
});

test("only a slower machine moves the goal of the cold import", () => {
  const row = ROWS.find(({ figure }) => figure === "coldImport");
  const goalAt = (milliseconds) => goalOf(row, "sous", { [BARE]: { coldImport: summarise([milliseconds]) } });
  assert.deepEqual([goalAt(20.5), goalAt(41), goalAt(82)], [90, 90, 180]);
});

test("the table shows ratios to the bare loop, and to the bare loop that does the same", () => {
  const summaries = { raw: turn(2), "raw-v4": turn(4), "raw-durable": turn(30), pi: turn(20), sous: turn(12) };
  assert.equal(
    renderTable(Object.keys(summaries), summaries),
    `| workload                           | raw  | raw-v4 | raw-durable | pi  | sous           | goal of sous         | verdict            |
| ---------------------------------- | ---- | ------ | ----------- | --- | -------------- | -------------------- | ------------------ |
| W1 turn, 1 tool call, 1 delta: CPU | 2 µs | 2×     | 15×         | 10× | 6× (3× raw-v4) | ≤ 6.50×, ≤ 0.55 × pi | within 10 % (+9 %) |`,
  );
});

test("the second table shows what is compared with one other thing, and how many runs there were", () => {
  const summaries = {
    "bare node": { version: summarise([40]) },
    "sous command": { version: summarise([50]) },
    "10 runs": { show: summarise([100]) },
    "many runs": { show: summarise([110]), runs: summarise([1_000_000]) },
  };
  assert.equal(
    renderPairs(summaries),
    `| compared                               | with      |        | sous   | ratio | goal   | verdict |
| -------------------------------------- | --------- | ------ | ------ | ----- | ------ | ------- |
| W6 sous --version                      | bare node | 40 ms  | 50 ms  | 1.25× | ≤ 1.5× | reached |
| W8 sous replay --id ID, 1,000,000 runs | 10 runs   | 100 ms | 110 ms | 1.10× | ≤ 1.2× | reached |`,
  );
});

test("nothing is shown where nothing was measured", () => {
  assert.equal(renderTable(["raw", "sous"], {}) + renderPairs({ raw: turn(2) }), "");
});

function turn(microseconds) {
  return { turn: summarise([microseconds]) };
}
