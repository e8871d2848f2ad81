/** A run that stops for a later answer, as metrics and logs see it: gone from here, and ended by the process that resumes it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { createLifecycleLog } from "../../../../src/bridges/telemetry/log.ts";
import { measureRuns } from "../../../../src/bridges/telemetry/metrics.ts";
import { createRegistry } from "../../../../src/bridges/telemetry/registry.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import type { ModelRequest } from "../../../../src/core/model.ts";
import { calls, says } from "../../../../src/testing/steps.ts";
import { samplesOf } from "../../../support/bridges/telemetry/metric-text.ts";
import { openTown, resultsIn } from "../../../support/runtime/tree/restore/parking.ts";

function measured(events: Iterable<SousEvent>): string {
  const registry = createRegistry();
  const onEvent = measureRuns(registry);
  for (const event of events) onEvent(event);
  return registry.render();
}

suite("F3: a tree that stops for a later answer", () => {
  const script = {
    lead: (request: ModelRequest) =>
      resultsIn(request, "subagent").length === 0
        ? calls("subagent", { label: "a", task_prompt: "Do a." })
        : says("Done."),
    "lead/a": (request: ModelRequest) => (resultsIn(request, "pay").length === 0 ? calls("pay") : says("Paid.")),
  };

  test("a parked tree is not active, and its end is counted where it ends", async () => {
    const town = openTown({ script });
    const first = await town.process().run({ budget: { tokens: 100_000 } });
    const before = measured(first.events);
    assert.deepEqual(samplesOf(before, "active"), { '{depth="0"}': 0, '{depth="1"}': 0 });
    assert.deepEqual(samplesOf(before, "completions"), {});
    const answers = { [first.result.questions[0]?.id ?? ""]: { allow: true } } as const;
    const second = await town.process().resume(first.handle.id, { answers });
    const after = measured(second.events);
    assert.deepEqual(samplesOf(after, "active"), { '{depth="0"}': 0, '{depth="1"}': 0 });
    assert.deepEqual(samplesOf(after, "completions"), {
      '{depth="0",status="complete"}': 1,
      '{depth="1",status="complete"}': 1,
    });
  });

  test("a parked tree is named in the log, once for each child", async () => {
    const { events } = await openTown({ script }).process().run();
    const lines: string[] = [];
    const log = createLifecycleLog({ write: (line) => void lines.push(line) });
    for (const event of events) log.onEvent(event);
    assert.equal(lines.filter((line) => line.includes("subagent.park")).length, 1, lines.join("\n"));
  });
});
