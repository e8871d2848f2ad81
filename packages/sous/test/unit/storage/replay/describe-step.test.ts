/** Names of events where a person reads about a difference. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { describeStep } from "../../../../src/storage/replay/comparison.ts";
import { EVERY_EVENT } from "../../../support/core/every-event.ts";

test("every event has a name, with its turn where it belongs to one", () => {
  const names = Object.values(EVERY_EVENT).map((event) => describeStep(event, 2));
  assert.deepEqual(names, [
    "the start",
    "turn 1",
    "turn 2, the answer",
    "turn 2, the call of grep",
    "turn 2, the result of grep",
    "turn 2, the session with claude",
    "turn 2, the end of its own Bash",
    "turn 2, the question about write",
    "turn 2, the answer about approval",
    "turn 2, the warning about its budget",
    "turn 2, the failed attempt",
    "turn 2, the pruning",
    "turn 2, the cut of its report",
    "turn 2, the refusal of scout",
    "turn 2, the placing of scout",
    "turn 2, the silence",
    "turn 2, the cancel (last-words)",
    "turn 2, what was said to it",
    "turn 2, the notice (summary)",
    "turn 2, the report of a child",
    "turn 2, the restart",
    "turn 2, the end",
  ]);
  assert.equal(describeStep(EVERY_EVENT["run-end"], 0), "the end");
  const report = { ...EVERY_EVENT.truncation, subject: "report" } as const;
  const result = { ...EVERY_EVENT.truncation, subject: "tool-result" } as const;
  assert.deepEqual(
    [describeStep(report, 1), describeStep(result, 1)],
    ["turn 1, the cut of its report", "turn 1, the cut of a result"],
  );
});
