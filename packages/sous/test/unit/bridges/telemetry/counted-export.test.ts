/** F2: what becomes of spans on their way to a collector is counted, and the first failure is named. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { countedProcessor, countedSpanExporter, SpanCounts } from "../../../../src/bridges/telemetry/counted-export.ts";

type Done = Parameters<SpanExporter["export"]>[1];
type Failure = Error & { code?: unknown };

const span = (traceFlags: number) => ({ spanContext: () => ({ traceFlags }) }) as ReadableSpan;

/** An exporter whose requests the test answers. */
function heldExporter(): { exporter: SpanExporter; requests: Done[] } {
  const requests: Done[] = [];
  const exporter: SpanExporter = { export: (_, done) => void requests.push(done), shutdown: async () => {} };
  return { exporter, requests };
}

function failure(message: string, code?: unknown): Failure {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

test("F2: every span that will not be exported is told of once, and the first reason stays", () => {
  const lost: number[] = [];
  const counts = new SpanCounts((count) => void lost.push(count));
  const { exporter, requests } = heldExporter();
  const counted = countedSpanExporter(exporter, counts);
  const results: number[] = [];
  const send = (spans: number) => counted.export(Array(spans).fill(span(1)), ({ code }) => void results.push(code));
  counts.waiting = 6;
  for (const spans of [1, 2, 3]) send(spans);
  assert.equal(counts.waiting, 0);
  const [one, two, three] = requests;
  one?.({ code: 0 });
  two?.({ code: 1, error: failure("Unauthorized", 401) });
  two?.({ code: 0 });
  three?.({ code: 1, error: failure("Gone") });
  const { exported, failed, dropped, reason } = counts;
  assert.deepEqual(
    { exported, failed, dropped, reason },
    { exported: 1, failed: 5, dropped: 0, reason: "HTTP 401 Unauthorized" },
  );
  assert.deepEqual(lost, [2, 3]);
  assert.deepEqual(results, [0, 1, 1]);
});

test("F2: a failure without a message is named by its code, and one without both is named too", () => {
  const reasons = [failure("", "ECONNREFUSED"), failure("", 503), failure(""), undefined].map((error) => {
    const counts = new SpanCounts(() => {});
    const { exporter, requests } = heldExporter();
    countedSpanExporter(exporter, counts).export([], () => {});
    requests[0]?.({ code: 1, ...(error && { error }) });
    return counts.reason;
  });
  assert.deepEqual(reasons, ["ECONNREFUSED", "HTTP 503", "the export failed", "the export failed"]);
});

test("F2: the exporter is settled when its last request is over", async () => {
  const { exporter, requests } = heldExporter();
  const counted = countedSpanExporter(exporter, new SpanCounts(() => {}));
  await counted.settled();
  for (let count = 0; count < 2; count++) counted.export([], () => {});
  let isSettled = false;
  const settled = counted.settled().then(() => {
    isSettled = true;
  });
  requests[0]?.({ code: 0 });
  requests[0]?.({ code: 0 });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isSettled, false);
  requests[1]?.({ code: 0 });
  await settled;
});

test("F2: a span for which there is no room is dropped and counted; one that is not sampled is neither", () => {
  const lost: number[] = [];
  const counts = new SpanCounts((count) => void lost.push(count));
  let handed = 0;
  const onEnd = (): void => {
    handed += 1;
  };
  const inner = { onStart() {}, onEnd, forceFlush: async () => {}, shutdown: async () => {} };
  const processor = countedProcessor(inner, 2, counts);
  for (const flags of [1, 0, 1, 1]) processor.onEnd(span(flags));
  const { ended, dropped, waiting } = counts;
  assert.deepEqual(
    { ended, dropped, waiting, handed, lost },
    { ended: 3, dropped: 1, waiting: 2, handed: 2, lost: [1] },
  );
});
