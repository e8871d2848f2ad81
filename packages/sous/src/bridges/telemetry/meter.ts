/** The port for metrics: a registry of our own, which Prometheus reads, or the instruments of OpenTelemetry. */

import { completionStatus } from "../../core/outcome.ts";
import type { RunTally } from "../../core/totals.ts";
import type { MetricName } from "./names.ts";

/** Values of the labels of a metric, in the order that `METRICS` lists them. An empty one is left out. */
export type LabelValues = readonly string[];

export type GaugeReading = { readonly metric: MetricName; readonly value: number; readonly labels: LabelValues };

/** The port. `count` is for a counter, `record` for a histogram; gauges are read when the metrics are read. */
export type Meter = {
  count(metric: MetricName, amount: number, labels: LabelValues): void;
  record(metric: MetricName, value: number, labels: LabelValues): void;
  observe(read: () => Iterable<GaugeReading>): Disposable;
};

/** A run whose end is known. */
export type EndedRun = Pick<
  RunTally,
  "agent" | "model" | "depth" | "errorType" | "durationMs" | "turns" | "usage" | "costUsd"
> & { status: Exclude<RunTally["status"], "interrupted"> };

/** Adds to a count by depth. */
export function addAt(counts: number[], depth: number, more: number): void {
  while (counts.length <= depth) counts.push(0);
  counts[depth] = (counts[depth] ?? 0) + more;
}

/** Readings of the runs at work, by depth. */
export function* activeReadings(active: readonly number[]): Iterable<GaugeReading> {
  for (const [depth, value] of active.entries()) yield { metric: "active", value, labels: [String(depth)] };
}

export function countEnd(meter: Meter, run: EndedRun): void {
  const depth = String(run.depth);
  const status = completionStatus(run.status);
  meter.record("duration", run.durationMs / 1000, [depth, status]);
  meter.record("turns", run.turns, [depth]);
  meter.record("tokens", run.usage.totalTokens, [depth]);
  meter.count("completions", 1, [depth, status]);
  meter.count("invocations", 1, [run.agent, status]);
  if (run.errorType !== undefined) meter.count("errors", 1, [depth, run.errorType]);
  countSpend(meter, run);
}

/** Counts the spending of a run, also when its end is not known: what was spent stays spent. */
export function countSpend(
  meter: Meter,
  { agent, model, usage, costUsd }: Pick<RunTally, "agent" | "model" | "usage" | "costUsd">,
): void {
  if (costUsd === null) meter.count("unpriced", 1, [agent]);
  else meter.count("cost", costUsd, [agent]);
  meter.count("modelTokens", usage.inputTokens, [model, "input"]);
  meter.count("modelTokens", usage.outputTokens, [model, "output"]);
  meter.count("modelTokens", usage.cachedInputTokens, [model, "cache_read"]);
  meter.count("modelTokens", usage.cacheWriteTokens, [model, "cache_write"]);
}
