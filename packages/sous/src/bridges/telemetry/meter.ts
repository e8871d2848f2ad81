/** Where metrics go: a registry of our own, which Prometheus reads, or the instruments of OpenTelemetry. */

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
