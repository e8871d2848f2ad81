/** Metrics of runs in a program of the user's own. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { metrics } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { otelMeter } from "../../../../src/bridges/telemetry/otel-meter.ts";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { meterRuns } from "../../../../src/otel.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";

function measured() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const meterProvider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
  const valuesOf = async (name: string) => {
    await meterProvider.forceFlush();
    const all =
      exporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
    const found = all.find(({ descriptor }) => descriptor.name === name);
    return found?.dataPoints.map(({ attributes, value }) => [attributes, value]);
  };
  return { meterProvider, valuesOf };
}

function oneRun(): readonly StoredEvent[] {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.end("lead");
  return tree.events;
}

test("F3: meterRuns counts with a provider that it is given, or with the global one", async () => {
  const given = measured();
  const global = measured();
  metrics.setGlobalMeterProvider(global.meterProvider);
  const listeners = [meterRuns({ meterProvider: given.meterProvider }), meterRuns()];
  const [start, ...rest] = oneRun();
  assert.ok(start !== undefined);
  for (const listen of listeners) listen(start);
  for (const { valuesOf } of [given, global]) {
    assert.deepEqual(await valuesOf("subagent_executions_total"), [[{ depth: "0" }, 1]]);
    assert.deepEqual(await valuesOf("subagent_active_count"), [[{ depth: "0" }, 1]]);
  }
  for (const listen of listeners) for (const event of rest) listen(event);
  for (const { valuesOf, meterProvider } of [given, global]) {
    assert.deepEqual(await valuesOf("subagent_active_count"), [[{ depth: "0" }, 0]]);
    assert.deepEqual(await valuesOf("subagent_completions_total"), [[{ depth: "0", status: "complete" }, 1]]);
    await meterProvider.shutdown();
  }
  metrics.disable();
});

test("F3: a meter of OpenTelemetry is not asked for what no longer observes", async () => {
  const { meterProvider, valuesOf } = measured();
  const meter = otelMeter(meterProvider.getMeter("test"));
  let reads = 0;
  const observing = meter.observe(() => {
    reads += 1;
    return [{ metric: "active", value: 1, labels: ["0"] }];
  });
  assert.deepEqual([await valuesOf("subagent_active_count"), reads], [[[{ depth: "0" }, 1]], 1]);
  observing[Symbol.dispose]();
  await valuesOf("subagent_active_count");
  assert.equal(reads, 1);
});
