/** Metrics of runs in a program of your own: a provider of yours, and a listener. */

import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { agent, createRuntime } from "sous";
import { meterRuns } from "sous/otel";
import { calls, says, scriptedModel } from "sous/testing";

const model = scriptedModel({
  lead: [calls("subagent_scout", { task: "Find the retries." }), says("There is one, in fetch.ts.")],
  "lead/scout": [says("fetch.ts")],
});
// This example keeps its metrics in memory; yours go to a collector.
const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);

// #region measure
// With @opentelemetry/exporter-metrics-otlp-proto: const exporter = new OTLPMetricExporter();
const meterProvider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
const scout = agent({ name: "scout", description: "Finds code.", model });
const lead = agent({ name: "lead", model, subagents: [scout] });
const runtime = createRuntime({ onEvent: meterRuns({ meterProvider }) });
const { text } = await runtime.run(lead, "Where do we retry?");
console.log(text);
await meterProvider.forceFlush();
// #endregion

for (const { descriptor, dataPoints } of exporter.getMetrics()[0]?.scopeMetrics[0]?.metrics ?? []) {
  if (!/_(?:executions|invocations)_total$|_active_count$/.test(descriptor.name)) continue;
  for (const { attributes, value } of dataPoints) console.log(descriptor.name, attributes, value);
}
await meterProvider.shutdown();
