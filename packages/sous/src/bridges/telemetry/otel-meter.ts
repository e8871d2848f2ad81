/** Metrics as instruments of OpenTelemetry: the same names, labels and buckets as in the registry. */

import {
  type Attributes,
  type Counter,
  type Histogram,
  type MeterProvider,
  metrics,
  type ObservableGauge,
  type Meter as OtelMeter,
} from "@opentelemetry/api";
import type { EventListener } from "../../core/event.ts";
import { type OptionKinds, TEXTS, withFunctions } from "../../core/option-kinds.ts";
import { checkOptions } from "../../core/options.ts";
import { LabelCap } from "./label-cap.ts";
import type { GaugeReading, LabelValues, Meter } from "./meter.ts";
import { measureRuns } from "./metrics.ts";
import { METRICS, type Metric, type MetricName } from "./names.ts";

export function otelMeter(meter: OtelMeter): Meter {
  return new InstrumentMeter(meter);
}

const NAMES = Object.keys(METRICS) as MetricName[];

class InstrumentMeter implements Meter {
  readonly #meter: OtelMeter;
  readonly #cap = new LabelCap();
  readonly #counters = new Map<MetricName, Counter>();
  readonly #histograms = new Map<MetricName, Histogram>();

  constructor(meter: OtelMeter) {
    this.#meter = meter;
  }

  count(metric: MetricName, amount: number, labels: LabelValues): void {
    let counter = this.#counters.get(metric);
    if (counter === undefined) {
      counter = this.#meter.createCounter(METRICS[metric].name, optionsOf(metric));
      this.#counters.set(metric, counter);
    }
    counter.add(amount, this.#attributes(metric, labels));
  }

  record(metric: MetricName, value: number, labels: LabelValues): void {
    let histogram = this.#histograms.get(metric);
    if (histogram === undefined) {
      histogram = this.#meter.createHistogram(METRICS[metric].name, optionsOf(metric));
      this.#histograms.set(metric, histogram);
    }
    histogram.record(value, this.#attributes(metric, labels));
  }

  observe(read: () => Iterable<GaugeReading>): Disposable {
    const gauges = new Map<MetricName, ObservableGauge>();
    for (const name of NAMES) {
      if (METRICS[name].kind === "gauge")
        gauges.set(name, this.#meter.createObservableGauge(METRICS[name].name, optionsOf(name)));
    }
    const all = [...gauges.values()];
    const tell: Parameters<OtelMeter["addBatchObservableCallback"]>[0] = (result) => {
      for (const { metric, value, labels } of read()) {
        const gauge = gauges.get(metric);
        if (gauge !== undefined) result.observe(gauge, value, this.#attributes(metric, labels));
      }
    };
    this.#meter.addBatchObservableCallback(tell, all);
    return { [Symbol.dispose]: () => this.#meter.removeBatchObservableCallback(tell, all) };
  }

  #attributes(metric: MetricName, labels: LabelValues): Attributes {
    const names: readonly string[] = METRICS[metric].labels;
    const attributes: Attributes = {};
    for (const [index, value] of this.#cap.bound(metric, labels).entries()) {
      const name = names[index];
      if (name !== undefined && value !== "") attributes[name] = value;
    }
    return attributes;
  }
}

function optionsOf(name: MetricName) {
  const { about, unit, buckets }: Metric = METRICS[name];
  const advice = buckets && { explicitBucketBoundaries: [...buckets] };
  return { description: about, ...(unit && { unit }), ...(advice && { advice }) };
}

/** The options of `meterRuns`. */
export type MeterOptions = {
  /** Makes the instruments; the global one of the OpenTelemetry API when unset. */
  meterProvider?: MeterProvider | undefined;
  /**
   * Models without a price that are shown by their names although a call chose them, or another process began the run. Those of
   * roots and definitions need not be named; all others are `other`.
   */
  models?: readonly string[] | undefined;
};

const OPTIONS: OptionKinds<MeterOptions> = { meterProvider: withFunctions("getMeter"), models: TEXTS };

/**
 * A listener that measures the runs it hears, of any number of trees: give it to a runtime or to runs as `onEvent`. One for a
 * process, because each counts what is active by itself.
 */
export function meterRuns(options: MeterOptions = {}): EventListener {
  checkOptions("meterRuns()", options, OPTIONS);
  const { meterProvider, models } = options;
  const meter = otelMeter((meterProvider ?? metrics.getMeterProvider()).getMeter("sous"));
  return measureRuns(meter, { models });
}
