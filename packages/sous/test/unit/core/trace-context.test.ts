/** F2: W3C Trace Context and Baggage as variables and fields; ids that follow from runs. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  continuedTrace,
  parseTraceparent,
  readTraceContext,
  spanIdOf,
  traceIdOf,
  traceIn,
  traceVariables,
  traceWithin,
  writeTraceparent,
} from "../../../src/core/trace-context.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN_ID = "00f067aa0ba902b7";
const TRACEPARENT = `00-${TRACE_ID}-${SPAN_ID}-01`;

suite("F2: TRACEPARENT", () => {
  test("F2: a TRACEPARENT is read and written as W3C has it, also of a later version", () => {
    const place = { traceId: TRACE_ID, spanId: SPAN_ID, isSampled: true };
    assert.deepEqual(parseTraceparent(TRACEPARENT), place);
    assert.deepEqual(parseTraceparent(`cc-${TRACE_ID}-${SPAN_ID}-03-what-comes`), place);
    assert.deepEqual(parseTraceparent(`00-${TRACE_ID}-${SPAN_ID}-02`), { ...place, isSampled: false });
    assert.equal(writeTraceparent(place), TRACEPARENT);
  });

  test("F2: a text that is not a TRACEPARENT begins no trace", () => {
    const wrong = [
      ...["", "nonsense", `ff-${TRACE_ID}-${SPAN_ID}-01`, `${TRACEPARENT}-more`, TRACEPARENT.toUpperCase()],
      ...[`00-${"0".repeat(32)}-${SPAN_ID}-01`, `00-${TRACE_ID}-${"0".repeat(16)}-01`, ` ${"x".repeat(10_000)}`],
    ];
    for (const text of wrong) assert.equal(readTraceContext({ TRACEPARENT: text, BAGGAGE: "a=1" }), undefined, text);
    assert.equal(readTraceContext({}), undefined);
    assert.equal(traceIn({ traceparent: { not: "text" } }), undefined);
  });

  test("F2: a trace keeps its state and baggage unless they are too long or not printable", () => {
    const given = { TRACEPARENT: ` ${TRACEPARENT} `, TRACESTATE: "a=1", BAGGAGE: "team=blue" };
    const trace = { traceparent: TRACEPARENT, tracestate: "a=1", baggage: "team=blue" };
    assert.deepEqual(readTraceContext(given), trace);
    assert.deepEqual(traceVariables(trace), { ...given, TRACEPARENT });
    const broken = { TRACEPARENT, TRACESTATE: "a".repeat(513), BAGGAGE: "a=\n" };
    assert.deepEqual(readTraceContext(broken), { traceparent: TRACEPARENT });
    assert.deepEqual(traceVariables({ traceparent: TRACEPARENT }), { TRACEPARENT });
  });

  test("F2: the trace of a run that continues is the one it was started with; baggage is that of the process", () => {
    const now = { traceparent: `00-${"1".repeat(32)}-${SPAN_ID}-01`, tracestate: "a=1", baggage: "team=blue" };
    assert.deepEqual(continuedTrace(TRACEPARENT, now), { traceparent: TRACEPARENT, baggage: "team=blue" });
    assert.deepEqual(continuedTrace(now.traceparent, now), now);
    assert.equal(continuedTrace(undefined, now), undefined);
    assert.deepEqual(continuedTrace(TRACEPARENT, undefined), { traceparent: TRACEPARENT });
  });

  test("F2: a program is given the span of its run when spans are exported, else what the root was given", () => {
    const run = { runId: "run", rootRunId: "root" };
    const byCaller = (_traceId: string, callerSaid = true): boolean => callerSaid;
    const given = { traceparent: `00-${TRACE_ID}-${SPAN_ID}-00`, baggage: "team=blue" };
    assert.equal(traceWithin({ ...run, given: undefined }, undefined), undefined);
    assert.equal(traceWithin({ ...run, given }, undefined), given);
    const traced = { traceparent: `00-${TRACE_ID}-${spanIdOf("run")}-00`, baggage: "team=blue" };
    assert.deepEqual(traceWithin({ ...run, given }, byCaller), traced);
    const own = `00-${traceIdOf("root")}-${spanIdOf("run")}-01`;
    assert.deepEqual(traceWithin({ ...run, given: undefined }, byCaller), { traceparent: own });
  });
});

test("F2: ids are valid, follow from their run alone, and differ between runs and their parts", () => {
  const runs = Array.from({ length: 20_000 }, (_, index) => `01KDVDP9G0${String(index).padStart(16, "0")}`);
  const spans = runs.flatMap((run) => [spanIdOf(run), spanIdOf(run, { callId: "1" }), spanIdOf(run, { seq: 1 })]);
  assert.equal(new Set(spans).size, spans.length);
  assert.equal(new Set(runs.map(traceIdOf)).size, runs.length);
  for (const id of spans) assert.match(id, /^(?!0{16})[0-9a-f]{16}$/);
  for (const run of runs) assert.match(traceIdOf(run), /^(?!0{32})[0-9a-f]{32}$/);
  assert.equal(traceIdOf("01KDVDP9G0CH1DCH1DCH1DC001"), traceIdOf("01KDVDP9G0CH1DCH1DCH1DC001"));
});

test("F2: ids stay the same from version to version: a tree may be continued by a newer sous", () => {
  const run = "01JCQ4Z6V8N1S3T5W7Y9A2C4E6";
  assert.equal(traceIdOf(run), "f6a24bb5fd0b2ed74024a24c2a6f3611");
  const spans = [spanIdOf(run), spanIdOf(run, { callId: "call_1" }), spanIdOf(run, { seq: 12 })];
  assert.deepEqual(spans, ["c08c02455a139fae", "6689c095d13e373e", "e954e5eae51298c4"]);
});
