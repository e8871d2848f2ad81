/** `sous/otel`: traces and metrics of runs through OpenTelemetry. Needs the package `@opentelemetry/api`. */

export { type MeterOptions, meterRuns } from "./telemetry/meter-runs.ts";
export { type RunIdGenerator, runIdGenerator } from "./telemetry/run-ids.ts";
export { type TraceOptions, traceRuns } from "./telemetry/spans.ts";
