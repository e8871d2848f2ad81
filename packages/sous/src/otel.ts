/** `sous/otel`: traces of runs through OpenTelemetry. Needs the package `@opentelemetry/api`. */

export { type RunIdGenerator, runIdGenerator } from "./telemetry/run-ids.ts";
export { type TraceOptions, traceRuns } from "./telemetry/spans.ts";
