/**
 * The API of OpenTelemetry, which users install beside sous. A static import: a bundler finds it, and `require("sous/otel")` works.
 * Copies of the API share what is registered.
 */

export { context, diag, metrics, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
