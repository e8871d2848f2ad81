/** The door to traces on a machine where OpenTelemetry is not installed. */

const error = await import("sous/otel").catch((reason: unknown) => reason);
console.log(String(error));
