/** F2: the trace of a tree reaches the external agents that work for it, also after a restart. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Host } from "../../../../src/core/clock.ts";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { NO_OWNER } from "../../../../src/core/store.ts";
import { spanIdOf, type TraceContext, traceIdOf } from "../../../../src/core/trace-context.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { calls, says } from "../../../../src/testing/steps.ts";
import { ALLOW, fakeClient, registryWith } from "../../../support/requirements/embedding.ts";
import { openStage } from "../../../support/requirements/support.ts";
import { resultsOf } from "../../../support/runtime/tree/restore/crash-points.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;

type Handed = { events: StoredEvent[]; traces: (TraceContext | undefined)[] };

/** A lead that hands a task to an external agent; `kept` is what an earlier process has stored. */
async function handed(host: Partial<Host>, kept: readonly StoredEvent[] = []): Promise<Handed> {
  const traces: (TraceContext | undefined)[] = [];
  const client = fakeClient(async (_prompt, { request }) => {
    traces.push(request.trace);
    return "Done.";
  });
  const store = openMemoryStore();
  const [first] = kept;
  if (first !== undefined) store.append(first.runId, structuredClone(kept), NO_OWNER);
  const stage = openStage(
    {
      lead: (request) =>
        resultsOf(request, "subagent_delegate").length === 0
          ? calls("subagent_delegate", { task: "Fix it.", description: "fix" })
          : says("It is fixed."),
    },
    { runtime: { ...ALLOW, host, store }, seed: kept.length + 1 },
  );
  const lead = stage.lead({ tools: [...registryWith({ client })] });
  const events: StoredEvent[] = [];
  const onEvent = (event: { seq?: number | undefined }): void => {
    if (event.seq !== undefined) events.push(event as StoredEvent);
  };
  const start = () =>
    first === undefined
      ? stage.runtime.run(lead, "Go.", { onEvent })
      : stage.runtime.resume(first.runId, { agent: lead, onEvent });
  const { status } = await stage.world.run(() => start().result);
  assert.equal(status, "completed");
  return { events, traces };
}

/** The ids of the root and of the run of the external agent. */
function idsOf(events: readonly StoredEvent[]): { root: string; external: string } {
  const find = (depth: number) => events.find((event) => event.depth === depth)?.runId ?? assert.fail("no such run");
  return { root: find(0), external: find(1) };
}

suite("F2: the trace of an external agent", () => {
  test("F2: an external agent is handed nothing without a trace", async () => {
    const { traces, events } = await handed({ environment: {} });
    assert.deepEqual(traces, [undefined]);
    assert.ok(!events.some((event) => "traceparent" in event));
  });

  test("F2: an external agent is handed the TRACEPARENT of the process unchanged when sous exports no spans", async () => {
    const { traces, events } = await handed({ environment: { TRACEPARENT, TRACESTATE: "a=1" } });
    assert.deepEqual(traces, [{ traceparent: TRACEPARENT, tracestate: "a=1" }]);
    const traced = events.flatMap((event) =>
      event.type === "run-start" && event.traceparent !== undefined ? [event.depth] : [],
    );
    assert.deepEqual(traced, [0]);
  });

  test("F2: an external agent is handed the span of its run when spans are exported", async () => {
    const { traces, events } = await handed({ environment: { TRACEPARENT }, isSampled: () => true });
    const { external } = idsOf(events);
    assert.deepEqual(traces, [{ traceparent: `00-${TRACE_ID}-${spanIdOf(external)}-01` }]);
    const alone = await handed({ environment: {}, isSampled: () => true });
    const ids = idsOf(alone.events);
    assert.deepEqual(alone.traces, [{ traceparent: `00-${traceIdOf(ids.root)}-${spanIdOf(ids.external)}-01` }]);
  });

  test("F2: an external agent is handed the decision of the sampler, which knows the trace and what the caller said", async () => {
    const asked: unknown[] = [];
    const isSampled = (traceId: string, callerSaid: boolean | undefined): boolean => {
      asked.push([traceId, callerSaid]);
      return false;
    };
    const { traces, events } = await handed({ environment: {}, isSampled });
    const { root, external } = idsOf(events);
    assert.deepEqual(traces, [{ traceparent: `00-${traceIdOf(root)}-${spanIdOf(external)}-00` }]);
    await handed({ environment: { TRACEPARENT }, isSampled });
    const both = new Set(asked.map((each) => JSON.stringify(each)));
    assert.deepEqual([...both], [JSON.stringify([traceIdOf(root), undefined]), JSON.stringify([TRACE_ID, true])]);
  });

  test("F2: an external agent is handed the trace of the start of its tree after a restart, wherever that happens", async () => {
    const { events } = await handed({ environment: { TRACEPARENT } });
    const asked = events.findIndex(({ type }) => type === "message-end");
    const elsewhere = { TRACEPARENT: `00-${"1".repeat(32)}-${"1".repeat(16)}-01`, TRACESTATE: "b=2" };
    const { traces, events: more } = await handed({ environment: elsewhere }, events.slice(0, asked + 1));
    assert.deepEqual(traces, [{ traceparent: TRACEPARENT }]);
    const [resume] = more;
    assert.equal(resume?.type === "resume" && resume.run?.traceparent, TRACEPARENT);
  });
});
