/** Counts what becomes of spans and metrics on their way to a collector, so that nothing is lost in silence. */

import type { PushMetricExporter, ResourceMetrics } from "@opentelemetry/sdk-metrics";
import type { SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";

type ExportResult = Parameters<Parameters<SpanExporter["export"]>[1]>[0];

/** The value of `ExportResultCode.SUCCESS` of OpenTelemetry. */
const SUCCESS = 0;
/** `TraceFlags.SAMPLED`. */
export const SAMPLED = 1;

/** Spans of one process: ended = exported + dropped + failed + those on their way. */
export class SpanCounts {
  ended = 0;
  exported = 0;
  /** The number of spans left out because too many waited. */
  dropped = 0;
  /** The collector did not take them. */
  failed = 0;
  /** Ended, and not given to the exporter yet. */
  waiting = 0;
  /** The reason why an export failed, the first time. */
  reason: string | undefined;
  /** Is told of every span that will not be exported. */
  readonly onLost: (count: number) => void;

  constructor(onLost: (count: number) => void) {
    this.onLost = onLost;
  }
}

/** Drops the spans for which there is no room before the processor does, which would not say how many. */
export function countedProcessor(inner: SpanProcessor, maxWaiting: number, counts: SpanCounts): SpanProcessor {
  return {
    onStart: (span, context) => inner.onStart(span, context),
    onEnd(span) {
      if ((span.spanContext().traceFlags & SAMPLED) === 0) return;
      counts.ended += 1;
      if (counts.waiting >= maxWaiting) {
        counts.dropped += 1;
        counts.onLost(1);
        return;
      }
      counts.waiting += 1;
      inner.onEnd(span);
    },
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  };
}

/** The same exporter; `settled` resolves when no request is under way. */
export function countedSpanExporter(inner: SpanExporter, counts: SpanCounts) {
  const open = new Set<Promise<void>>();
  return {
    export(spans, done) {
      counts.waiting -= spans.length;
      const { promise, resolve } = Promise.withResolvers<void>();
      open.add(promise);
      inner.export(spans, (result) => {
        // Only the first answer counts.
        if (!open.delete(promise)) return;
        resolve();
        if (result.code === SUCCESS) counts.exported += spans.length;
        else {
          counts.failed += spans.length;
          counts.reason ??= reasonOf(result);
          counts.onLost(spans.length);
        }
        done(result);
      });
    },
    shutdown: () => inner.shutdown(),
    forceFlush: async () => inner.forceFlush?.(),
    async settled() {
      while (open.size > 0) await Promise.all(open);
    },
  } satisfies SpanExporter & { settled(): Promise<void> };
}

/** Only the last export counts: it has everything that earlier ones had. */
export class MetricCounts {
  /** An export was begun since the last that arrived. */
  isBehind = false;
  reason: string | undefined;
}

export function countedMetricExporter(inner: PushMetricExporter, counts: MetricCounts): PushMetricExporter {
  return {
    export(metrics: ResourceMetrics, done) {
      counts.isBehind = true;
      inner.export(metrics, (result) => {
        counts.isBehind = result.code !== SUCCESS;
        counts.reason = counts.isBehind ? reasonOf(result) : undefined;
        done(result);
      });
    },
    selectAggregation: (type) => inner.selectAggregation?.(type) ?? DEFAULT_AGGREGATION,
    selectAggregationTemporality: (type) => inner.selectAggregationTemporality?.(type) ?? CUMULATIVE,
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  };
}

/** `AggregationType.DEFAULT` and `AggregationTemporality.CUMULATIVE`. */
const DEFAULT_AGGREGATION = { type: 0 } as const;
const CUMULATIVE = 1;

/** An error of several addresses has no message of its own. */
function reasonOf({ error }: ExportResult): string {
  const { message = "", code } = (error ?? {}) as { message?: string; code?: unknown };
  if (typeof code === "number") return `HTTP ${code} ${message}`.trimEnd();
  return message || String(code ?? "the export failed");
}
