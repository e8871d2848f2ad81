/** Metrics of runs in a program of the user's own, by the instruments of OpenTelemetry. */

import { type MeterProvider, metrics } from "@opentelemetry/api";
import type { EventListener } from "../core/event.ts";
import { checkOptions, type OptionNames } from "../core/options.ts";
import { measureRuns } from "./metrics.ts";
import { otelMeter } from "./otel-meter.ts";

/** How runs are measured. */
export type MeterOptions = {
  /** Makes the instruments; the global one of the OpenTelemetry API when unset. */
  meterProvider?: MeterProvider | undefined;
};

const OPTIONS: OptionNames<MeterOptions> = { meterProvider: true };

/**
 * A listener that measures the runs it hears, of any number of trees: give it to a runtime or to runs as `onEvent`. One for a
 * process, because each counts what is active by itself.
 */
export function meterRuns(options: MeterOptions = {}): EventListener {
  checkOptions("meterRuns()", options, OPTIONS);
  const { meterProvider } = options;
  return measureRuns(otelMeter((meterProvider ?? metrics.getMeterProvider()).getMeter("sous")));
}
