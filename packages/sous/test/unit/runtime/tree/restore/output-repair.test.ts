/** Journals of earlier versions that stopped in the repair of an output: there the repair had the number of the turn before it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredEvent } from "../../../../../src/core/event.ts";
import { says } from "../../../../../src/testing/steps.ts";
import { goOn, live, type Scenario } from "../../../../support/runtime/tree/restore/crash-points.ts";

const scenario: Scenario = {
  script: { lead: ({ messages }) => says(messages.length === 1 ? "Three." : '{"hits":3}') },
  agent: { outputSchema: { type: "object", properties: { hits: { type: "number" } }, required: ["hits"] } },
};

const asBefore = (event: StoredEvent): StoredEvent =>
  event.type === "turn-start" || event.type === "message-end" ? { ...event, turn: 1 } : event;

test("G5: a run of an earlier version that stopped in the repair of its output continues to its end", async () => {
  const { events } = await live(scenario);
  const first = events.findIndex((event) => event.type === "notice" && event.reason === "output-repair");
  const last = events.findIndex(({ type }) => type === "run-end");
  assert.deepEqual(
    events.slice(first, last).map(({ type }) => type),
    ["notice", "turn-start", "message-end"],
  );
  for (let length = first + 1; length <= last; length++) {
    const { result, model } = await goOn(scenario, events.slice(0, length).map(asBefore));
    const isAnswered = length === last;
    assert.deepEqual([result.status, result.output], ["completed", { hits: 3 }], `cut behind ${length}`);
    assert.equal(model.requests.length, isAnswered ? 0 : 1, "an answer that was kept is not asked for again");
  }
});
