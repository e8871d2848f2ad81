/** Traces and metrics over OTLP, by the pieces of OpenTelemetry. They are optional, and loaded only when something is sent. */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { TracerProvider as ApiTracerProvider } from "@opentelemetry/api";
import type { Resource } from "@opentelemetry/resources";
import type { PushMetricExporter } from "@opentelemetry/sdk-metrics";
import type { IdGenerator, Sampler, SpanExporter } from "@opentelemetry/sdk-trace";
import { codeOf, UserError } from "../../core/errors.ts";
import type { IsSampled } from "../../core/trace-context.ts";
import {
  countedMetricExporter,
  countedProcessor,
  countedSpanExporter,
  MetricCounts,
  SAMPLED,
  SpanCounts,
} from "./counted-export.ts";
import type { Meter } from "./meter.ts";
import { otelMeter } from "./otel-meter.ts";
import type { OtlpSettings, SamplerSettings, SignalSettings } from "./otlp-settings.ts";

export type OtlpOptions = {
  /** The version of sous. */
  readonly version: string;
  readonly idGenerator: IdGenerator;
  /** Is told of spans that will not be exported, besides the meter. */
  readonly onLost?: ((count: number) => void) | undefined;
};

export type Otlp = {
  /** Undefined when no traces are sent. */
  readonly tracerProvider: ApiTracerProvider | undefined;
  /** True when the sampler of the traces keeps a tree. */
  readonly isSampled: IsSampled | undefined;
  /** Undefined when no metrics are sent. */
  readonly meter: Meter | undefined;
  /** Counts of the spans until now. */
  readonly spans: Readonly<Pick<SpanCounts, "ended" | "exported" | "dropped" | "failed">>;
  /** Sends what waits, for at most so long, and never rejects: a sentence says what did not arrive. */
  close(patienceMs: number): Promise<string | undefined>;
};

/** Throws a `UserError` that says what to install when a package is missing or does not fit. */
export function openOtlp(settings: OtlpSettings, options: OtlpOptions): Promise<Otlp> {
  return withOtlpPackages(settings, () => open(settings, options));
}

async function open(settings: OtlpSettings, options: OtlpOptions): Promise<Otlp> {
  const { resourceFromAttributes, defaultResource, detectResources, ...detectors } = await import(
    "@opentelemetry/resources"
  );
  const { resourceAttributesEnvDetector, serviceNameEnvDetector } = detectors;
  // Version 2 has other detectors, and would pass over these in silence.
  if (serviceNameEnvDetector === undefined)
    throw new TypeError("@opentelemetry/resources has no serviceNameEnvDetector");
  const own = {
    "service.name": "sous",
    "service.version": options.version,
    // Two processes count apart.
    "service.instance.id": crypto.randomUUID(),
  };
  const resource = defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
  const metrics = settings.metrics && (await openMetrics(settings.metrics, settings, resource));
  const onLost = (count: number): void => {
    metrics?.meter.count("droppedSpans", count, []);
    options.onLost?.(count);
  };
  const traces =
    settings.traces &&
    (await openTraces(settings.traces, settings, { resource, onLost, idGenerator: options.idGenerator }));
  const counts = traces?.counts ?? new SpanCounts(() => {});
  return {
    tracerProvider: traces?.provider,
    isSampled: traces?.isSampled,
    meter: metrics?.meter,
    spans: counts,
    async close(patienceMs) {
      await atMost(patienceMs, Promise.allSettled([traces?.close(), metrics?.close()]));
      return whatIsMissing(settings, counts, metrics?.counts);
    },
  };
}

async function openMetrics(signal: SignalSettings, { metricMs }: OtlpSettings, resource: Resource) {
  const { MeterProvider, PeriodicExportingMetricReader } = await import("@opentelemetry/sdk-metrics");
  const counts = new MetricCounts();
  const exporter = countedMetricExporter(await metricExporter(signal), counts);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: metricMs.interval,
    exportTimeoutMillis: metricMs.timeout,
  });
  const provider = new MeterProvider({ resource, readers: [reader] });
  return { meter: otelMeter(provider.getMeter(SCOPE)), counts, close: () => provider.shutdown() };
}

/** The instrumentation scope of metrics. */
const SCOPE = "sous";

type TraceParts = { resource: Resource; onLost: (count: number) => void; idGenerator: IdGenerator };

async function openTraces(
  signal: SignalSettings,
  { batch, sampler }: OtlpSettings,
  { resource, onLost, idGenerator }: TraceParts,
) {
  const { TracerProvider, BatchSpanProcessor } = await import("@opentelemetry/sdk-trace");
  const counts = new SpanCounts(onLost);
  const exporter = countedSpanExporter(await spanExporter(signal), counts);
  const processor = new BatchSpanProcessor({
    exporter,
    scheduledDelayMillis: batch.delayMs,
    exportTimeoutMillis: batch.timeoutMs,
    maxQueueSize: batch.maxWaiting,
    maxExportBatchSize: batch.maxAtOnce,
  });
  const decides = await samplerOf(sampler);
  const provider = new TracerProvider({
    resource,
    sampler: decides,
    idGenerator,
    spanProcessors: [countedProcessor(processor, batch.maxWaiting, counts)],
  });
  return {
    provider,
    isSampled: await decisionsOf(decides),
    counts,
    async close() {
      // It rejects with the first request that fails, while others may still arrive.
      await provider.shutdown().catch(() => {});
      await exporter.settled();
    },
  };
}

async function samplerOf({ name, ratio }: SamplerSettings): Promise<Sampler> {
  const { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler, TraceIdRatioBasedSampler } = await import(
    "@opentelemetry/sdk-trace"
  );
  const root = name.endsWith("traceidratio")
    ? new TraceIdRatioBasedSampler(ratio)
    : name.endsWith("always_off")
      ? new AlwaysOffSampler()
      : new AlwaysOnSampler();
  return name.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root;
}

/** Asks as the provider does when the span of a root starts. Spans below it follow their parent or have the same trace. */
async function decisionsOf(sampler: Sampler): Promise<IsSampled> {
  const { ROOT_CONTEXT, SpanKind, trace } = await import("@opentelemetry/api");
  const spanId = "1".repeat(16);
  return (traceId, callerSaid) => {
    const caller = { traceId, spanId, traceFlags: callerSaid === true ? SAMPLED : 0, isRemote: true };
    const above = callerSaid === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, caller);
    const { decision } = sampler.shouldSample(above, traceId, "invoke_agent", SpanKind.INTERNAL, {}, []);
    return decision === RECORD_AND_SAMPLED;
  };
}

/** `SamplingDecision.RECORD_AND_SAMPLED`. */
const RECORD_AND_SAMPLED = 2;

async function atMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, end]);
  clearTimeout(timer);
}

function whatIsMissing(settings: OtlpSettings, spans: SpanCounts, metrics: MetricCounts | undefined) {
  const lost = spans.ended - spans.exported;
  const what = [
    ...(lost > 0 ? [`${lost} of ${spans.ended} spans`] : []),
    ...(metrics?.isBehind === true ? ["the last metrics"] : []),
  ];
  if (what.length === 0) return undefined;
  // The address comes without its path, which may contain a key.
  const { origin } = new URL((lost > 0 ? settings.traces : settings.metrics)?.url ?? "");
  const isOnlyDropped = lost === spans.dropped && metrics?.isBehind !== true;
  const reason = spans.reason ?? metrics?.reason ?? "it did not take them in time";
  const why = isOnlyDropped ? "more waited than OTEL_BSP_MAX_QUEUE_SIZE allows" : `${origin}: ${reason}`;
  return `${what.join(" and ")} were not exported (${why})`;
}

async function spanExporter({ protocol, url, timeoutMs }: SignalSettings): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === "http/json"
      ? await import("@opentelemetry/exporter-trace-otlp-http")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  return new OTLPTraceExporter({ url, timeoutMillis: timeoutMs });
}

async function metricExporter({ protocol, url, timeoutMs }: SignalSettings): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } =
    protocol === "http/json"
      ? await import("@opentelemetry/exporter-metrics-otlp-http")
      : await import("@opentelemetry/exporter-metrics-otlp-proto");
  return new OTLPMetricExporter({ url, timeoutMillis: timeoutMs });
}

/** Opens with the packages that are there. Throws a `UserError` that says what to install when one is missing or does not fit. */
export async function withOtlpPackages<T>(settings: OtlpSettings, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const remedy = installCommand(packagesFor(settings), fileURLToPath(import.meta.url));
    if (codeOf(error) === "ERR_MODULE_NOT_FOUND") {
      throw new UserError(`OTLP needs packages that are not installed beside sous: ${remedy}`);
    }
    // A class or function that another version does not have.
    if (error instanceof TypeError) {
      throw new UserError(`OTLP needs other versions of the packages beside sous: ${remedy}`, { cause: error });
    }
    throw error;
  }
}

/** Exporters have versions of their own. */
function packagesFor({ traces, metrics }: OtlpSettings): string[] {
  const format = ({ protocol }: SignalSettings): string => (protocol === "http/json" ? "http" : "proto");
  const names = [
    "api@1",
    "resources@3",
    ...(traces === undefined ? [] : ["sdk-trace@3", `exporter-trace-otlp-${format(traces)}@0.301`]),
    ...(metrics === undefined ? [] : ["sdk-metrics@3", `exporter-metrics-otlp-${format(metrics)}@0.301`]),
  ];
  return names.map((name) => `@opentelemetry/${name}`);
}

/** The command that puts packages where a file of sous finds them: a global sous does not see those of the project it works in. */
export function installCommand(packages: readonly string[], file: string): string {
  const [, above] = /^(.*)[\\/]node_modules[\\/]sous[\\/]/.exec(file) ?? [];
  const isGlobal = above !== undefined && !existsSync(`${above}/package.json`);
  return `npm install ${isGlobal ? "--global " : ""}${packages.join(" ")}`;
}
