/** The signals sent over OTLP and their addresses, as the user's configuration and the variables of OpenTelemetry say. */

/** The settings of one process that sends something. */
export type OtlpSettings = {
  /** Undefined: none are sent. */
  readonly traces: SignalSettings | undefined;
  readonly metrics: SignalSettings | undefined;
  readonly sampler: SamplerSettings;
  readonly batch: BatchSettings;
  /** The interval at which metrics are sent, and the max time of one export. */
  readonly metricMs: { readonly interval: number; readonly timeout: number };
};

/** The address of one signal, and the max time of a request. Headers, compression and certificates are read by its exporter. */
export type SignalSettings = { readonly protocol: OtlpProtocol; readonly url: string; readonly timeoutMs: number };

export type OtlpProtocol = "http/protobuf" | "http/json";

export type SamplerSettings = { readonly name: SamplerName; readonly ratio: number };

export type SamplerName = (typeof SAMPLERS)[number];

/** Limits of the queue of spans that wait to be sent. */
export type BatchSettings = {
  readonly delayMs: number;
  readonly timeoutMs: number;
  readonly maxWaiting: number;
  readonly maxAtOnce: number;
};

export type OtlpRequest = {
  /** `telemetry.otlp_endpoint`; goes before the variables. */
  readonly endpoint: string | undefined;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** One sentence for a person. */
  readonly warn: (sentence: string) => void;
};

/** The variables that sous or its exporters read, and what they are for. */
export const OTEL_VARIABLES: Readonly<Record<string, string>> = {
  OTEL_SDK_DISABLED: "`true`: nothing is sent, whatever else is set.",
  OTEL_EXPORTER_OTLP_ENDPOINT: "The address of a collector; `v1/traces` and `v1/metrics` are added to it.",
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT:
    "The whole address for traces. For metrics: `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT`.",
  OTEL_EXPORTER_OTLP_PROTOCOL: "`http/protobuf` (default) or `http/json`; also `…_TRACES_…` and `…_METRICS_…`.",
  OTEL_EXPORTER_OTLP_HEADERS: "Headers such as `authorization=Basic …`, separated by commas; also for one signal.",
  OTEL_EXPORTER_OTLP_TIMEOUT: "Milliseconds that one request may take, with its retries (10000); also for one signal.",
  OTEL_EXPORTER_OTLP_COMPRESSION: "`gzip` or `none`; also for one signal.",
  OTEL_EXPORTER_OTLP_CERTIFICATE:
    "A file with the certificate of the collector; `…_CLIENT_CERTIFICATE` and `…_CLIENT_KEY` are ours.",
  OTEL_TRACES_EXPORTER: "`none`: no traces. Only `otlp` is known besides.",
  OTEL_METRICS_EXPORTER: "`none`: no metrics. Only `otlp` is known besides; for Prometheus there is `--metrics-port`.",
  OTEL_TRACES_SAMPLER:
    "`always_on`, `always_off`, `traceidratio`, or one of them behind `parentbased_`; default `parentbased_always_on`.",
  OTEL_TRACES_SAMPLER_ARG: "The share of traces for `traceidratio`, between 0 and 1.",
  OTEL_SERVICE_NAME: "The name of the service; default `sous`.",
  OTEL_RESOURCE_ATTRIBUTES: "More about it, such as `deployment.environment.name=test`.",
  OTEL_BSP_SCHEDULE_DELAY: "Milliseconds after which waiting spans are sent (5000).",
  OTEL_BSP_EXPORT_TIMEOUT: "Milliseconds that this may take (30000).",
  OTEL_BSP_MAX_QUEUE_SIZE: "Spans that may wait (2048); what comes then is dropped and counted.",
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "Spans in one request (512).",
  OTEL_METRIC_EXPORT_INTERVAL: "Milliseconds between two exports of metrics (60000).",
  OTEL_METRIC_EXPORT_TIMEOUT: "Milliseconds that one of them may take (30000).",
  OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: "`cumulative` (default), `delta` or `lowmemory`.",
  TRACEPARENT: "The trace that a run belongs to, as W3C writes it; `TRACESTATE` and `BAGGAGE` go with it.",
};

/** Undefined when nothing is sent. */
export function readOtlpSettings(request: OtlpRequest): OtlpSettings | undefined {
  const read = new Variables(request);
  if (read.text("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return undefined;
  const traces = readSignal(request, read, "TRACES");
  const metrics = readSignal(request, read, "METRICS");
  read.tellUnsent();
  if (traces === undefined && metrics === undefined) return undefined;
  const interval = read.whole("OTEL_METRIC_EXPORT_INTERVAL", 60_000);
  const maxWaiting = read.whole("OTEL_BSP_MAX_QUEUE_SIZE", 2048);
  return {
    traces,
    metrics,
    sampler: readSampler(request, read),
    batch: {
      delayMs: read.whole("OTEL_BSP_SCHEDULE_DELAY", 5000),
      timeoutMs: read.whole("OTEL_BSP_EXPORT_TIMEOUT", 30_000),
      maxWaiting,
      maxAtOnce: Math.min(maxWaiting, read.whole("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)),
    },
    metricMs: { interval, timeout: Math.min(interval, read.whole("OTEL_METRIC_EXPORT_TIMEOUT", 30_000)) },
  };
}

type Signal = "TRACES" | "METRICS";

const PATHS: Readonly<Record<Signal, string>> = { TRACES: "v1/traces", METRICS: "v1/metrics" };

function readSignal(request: OtlpRequest, read: Variables, signal: Signal): SignalSettings | undefined {
  const url = readAddress(request, read, signal);
  if (url === undefined || !isExported(request, read, signal)) return undefined;
  const protocol = readProtocol(read, signal);
  return protocol && { protocol, url, timeoutMs: read.whole(read.nameFor(signal, "TIMEOUT"), 10_000) };
}

function readAddress({ endpoint }: OtlpRequest, read: Variables, signal: Signal): string | undefined {
  const whole = endpoint === undefined ? read.text(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) : undefined;
  const given = whole ?? endpoint ?? read.text("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (given === undefined) return undefined;
  const url = URL.parse(given);
  if (url?.protocol === "http:" || url?.protocol === "https:") return whole ?? below(url, PATHS[signal]);
  const name = endpoint === undefined ? read.nameFor(signal, "ENDPOINT") : "telemetry.otlp_endpoint";
  read.leaveUnsent(signal, `${name} is not an address that begins with http:// or https://`);
  return undefined;
}

/** A query of the address stays behind its path. */
function below(base: URL, path: string): string {
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, "")}/${path}`;
  url.hash = "";
  return url.href;
}

/** `OTEL_TRACES_EXPORTER` may be a list. */
function isExported({ warn }: OtlpRequest, read: Variables, signal: Signal): boolean {
  const name = `OTEL_${signal}_EXPORTER`;
  const wanted = (read.text(name) ?? "otlp").split(",").map((word) => word.trim());
  const [unknown] = wanted.filter((word) => !["otlp", "none", ""].includes(word));
  if (unknown !== undefined) {
    const isPrometheus = signal === "METRICS" && unknown === "prometheus";
    const advice = isPrometheus ? "use --metrics-port or sous metrics for Prometheus" : "otlp and none are known";
    warn(`${name} names an exporter that sous does not have; ${advice}`);
  }
  return wanted.includes("otlp");
}

const PROTOCOLS: readonly OtlpProtocol[] = ["http/protobuf", "http/json"];

function readProtocol(read: Variables, signal: Signal): OtlpProtocol | undefined {
  const name = read.nameFor(signal, "PROTOCOL");
  const given = read.text(name) ?? "http/protobuf";
  const protocol = PROTOCOLS.find((each) => each === given);
  if (protocol === undefined)
    read.leaveUnsent(signal, `${name} is not http/protobuf or http/json, the protocols of sous`);
  return protocol;
}

const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

function readSampler({ warn }: OtlpRequest, read: Variables): SamplerSettings {
  const given = read.text("OTEL_TRACES_SAMPLER") ?? "parentbased_always_on";
  const name = SAMPLERS.find((each) => each === given);
  if (name === undefined)
    warn(`OTEL_TRACES_SAMPLER is none of ${SAMPLERS.join(", ")}, so parentbased_always_on is used`);
  const argument = read.text("OTEL_TRACES_SAMPLER_ARG") ?? "1";
  const ratio = Number(argument);
  const isShare = ratio >= 0 && ratio <= 1;
  if (!isShare && name?.endsWith("traceidratio"))
    warn("OTEL_TRACES_SAMPLER_ARG is not a number between 0 and 1, so 1 is used");
  return { name: name ?? "parentbased_always_on", ratio: isShare ? ratio : 1 };
}

/** An empty variable counts as unset. */
class Variables {
  readonly #request: OtlpRequest;
  readonly #told = new Set<string>();
  /** Signals that are not sent, by the reason. */
  readonly #unsent = new Map<string, Signal[]>();

  constructor(request: OtlpRequest) {
    this.#request = request;
  }

  text(name: string): string | undefined {
    return this.#request.variables[name]?.trim() || undefined;
  }

  /** The variable for one signal when it is set, else the one for both. */
  nameFor(signal: Signal, end: "ENDPOINT" | "PROTOCOL" | "TIMEOUT"): string {
    const own = `OTEL_EXPORTER_OTLP_${signal}_${end}`;
    return this.text(own) === undefined ? `OTEL_EXPORTER_OTLP_${end}` : own;
  }

  leaveUnsent(signal: Signal, reason: string): void {
    this.#unsent.set(reason, [...(this.#unsent.get(reason) ?? []), signal]);
  }

  /** One sentence a reason, also when it holds for both signals. */
  tellUnsent(): void {
    for (const [reason, signals] of this.#unsent)
      this.#request.warn(`${reason}, so no ${signals.join(" and no ").toLowerCase()} are sent`);
  }

  /** Greater than 0. */
  whole(name: string, fallback: number): number {
    const given = this.text(name);
    if (given === undefined) return fallback;
    if (/^[1-9]\d{0,8}$/.test(given)) return Number(given);
    if (!this.#told.has(name))
      this.#request.warn(`${name} is not a whole number greater than 0, so ${fallback} is used`);
    this.#told.add(name);
    return fallback;
  }
}
