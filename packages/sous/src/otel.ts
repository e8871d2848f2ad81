/** `sous/otel`: traces and metrics of runs through OpenTelemetry. Needs the package `@opentelemetry/api`. */

export { type MeterOptions, meterRuns } from "./bridges/telemetry/otel-meter.ts";
export { type RunIdGenerator, runIdGenerator } from "./bridges/telemetry/run-ids.ts";
export { traceRuns } from "./bridges/telemetry/spans.ts";
export type { TraceOptions } from "./bridges/telemetry/trace-options.ts";
