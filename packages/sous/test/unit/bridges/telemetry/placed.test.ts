/** F2, F4: what traces and metrics of several processes say about one tree whose children are on workers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { measureRuns } from "../../../../src/bridges/telemetry/metrics.ts";
import { createRegistry } from "../../../../src/bridges/telemetry/registry.ts";
import { measureStore } from "../../../../src/bridges/telemetry/totals-metrics.ts";
import { spanIdOf } from "../../../../src/core/trace-context.ts";
import { calls, says } from "../../../../src/testing/steps.ts";
import { samplesOf } from "../../../support/bridges/telemetry/metric-text.ts";
import { tracedProcess } from "../../../support/bridges/telemetry/traced.ts";
import { lead, scout, setUp } from "../../runtime/tree/placing/set-up.ts";

const SCRIPT = {
  lead: [calls("subagent_scout", { task: "Look." }, "call_1"), says("Seen.")],
  "lead/scout": [says("A wall.")],
};
const TRACED = { host: { isSampled: () => true, environment: {} } };

test("F2: the span of a placed child is made by its worker, once, below the call of its parent in the same trace", async () => {
  const [here, there] = [tracedProcess(), tracedProcess()];
  const { root, another } = setUp(SCRIPT, TRACED);
  await using _worker = await another({ onEvent: there.onEvent }).work({ name: "one" });
  const { runId, agents } = await root.run(lead, "Go.", { onEvent: here.onEvent });
  const runs = (spans: readonly { attributes: object }[]) =>
    spans.flatMap(({ attributes }) => {
      const found = attributes as Record<string, unknown>;
      return found["sous.run.path"] === undefined
        ? []
        : [[found["sous.run.path"], found["sous.worker"], found["sous.attempt"]]];
    });
  assert.deepEqual(runs(here.spans), [["lead", undefined, undefined]]);
  assert.deepEqual(runs(there.spans), [["lead/scout", "one", 1]]);
  const child = there.spans.find((span) => span.attributes["sous.run.path"] === "lead/scout");
  const call = here.spans.find((span) => span.attributes["gen_ai.tool.call.id"] === "call_1");
  assert.equal(child?.parentSpanContext?.spanId, call?.spanContext().spanId);
  assert.equal(child?.parentSpanContext?.spanId, spanIdOf(runId, { callId: "call_1" }));
  assert.equal(child?.spanContext().traceId, call?.spanContext().traceId);
  assert.equal(agents.length, 2);
});

test("F2: a submitted root is the first span of its trace, or lies below the one that it was submitted in", async () => {
  const given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  for (const [environment, parent] of [
    [{}, undefined],
    [{ TRACEPARENT: given }, "00f067aa0ba902b7"],
  ] as const) {
    const there = tracedProcess();
    const { root, another } = setUp(SCRIPT, { host: { isSampled: () => true, environment } });
    await using _worker = await another({ onEvent: there.onEvent, host: TRACED.host }).work();
    await (await root.submit(lead, "Go.")).result;
    const span = there.spans.find(({ attributes }) => attributes["sous.run.path"] === "lead");
    assert.equal(span?.parentSpanContext?.spanId, parent);
  }
});

test("F4: every placed run is counted by one process, the one that has it", async () => {
  const [here, there] = [createRegistry(), createRegistry()];
  const { root, another } = setUp(SCRIPT);
  await using _worker = await another({ onEvent: measureRuns(there) }).work({ name: "one" });
  await root.run(lead, "Go.", { onEvent: measureRuns(here) });
  assert.deepEqual(
    [here, there].map((each) => samplesOf(each.render(), "executions")),
    [{ '{depth="0"}': 1 }, { '{depth="1"}': 1 }],
  );
  assert.deepEqual(
    [here, there].map((each) => samplesOf(each.render(), "completions")),
    [{ '{depth="0",status="complete"}': 1 }, { '{depth="1",status="complete"}': 1 }],
  );
  assert.deepEqual(
    [here, there].map((each) => samplesOf(each.render(), "takings")),
    [{}, { '{attempt="first"}': 1 }],
  );
});

test("F4: a database tells which runs are queued, and how many workers are alive", async () => {
  const { root, another, store } = setUp(SCRIPT);
  const registry = createRegistry();
  const stored = measureStore(store, registry);
  const read = async () => {
    await stored.refresh();
    const text = registry.render();
    return [samplesOf(text, "unended"), samplesOf(text, "workers")];
  };
  const none = { '{status="running"}': 0, '{status="interrupted"}': 0, '{status="waiting"}': 0 };
  const submitted = await root.submit(lead, "Go.");
  const dead = { '{state="dead"}': 0 };
  assert.deepEqual(await read(), [
    { ...none, '{status="queued"}': 1 },
    { '{state="alive"}': 0, ...dead },
  ]);
  await using _worker = await another({ agents: [lead, scout] }).work();
  await submitted.result;
  assert.deepEqual(await read(), [
    { ...none, '{status="queued"}': 0 },
    { '{state="alive"}': 1, ...dead },
  ]);
});
