/** Ids of spans that follow from the ids of runs, so processes that work on one tree agree on them. */

import { randomBytes } from "node:crypto";
import type { SpanPlace } from "../../core/trace-context.ts";

/** The `idGenerator` of a tracer provider of OpenTelemetry. */
export type RunIdGenerator = { generateTraceId(): string; generateSpanId(): string };

type Ids = Pick<SpanPlace, "traceId" | "spanId">;

/** The ids of the span that is being started: a tracer asks for them while it makes the span. */
let announced: Ids | undefined;

/**
 * An id generator for `new TracerProvider({ idGenerator })`: spans of runs get ids that follow from the run, so a tree that
 * several processes worked on is one trace. Other spans get random ids.
 */
export function runIdGenerator(): RunIdGenerator {
  return {
    generateTraceId: () => announced?.traceId ?? randomBytes(16).toString("hex"),
    generateSpanId: () => announced?.spanId ?? randomBytes(8).toString("hex"),
  };
}

/** Starts a span that gets these ids, if its provider takes them from `runIdGenerator`. */
export function withIds<Started>(ids: Ids, start: () => Started): Started {
  announced = ids;
  try {
    return start();
  } finally {
    announced = undefined;
  }
}
