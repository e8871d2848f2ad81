/** Telemetry that leaves the process besides logs: metrics for Prometheus, traces and metrics over OTLP. Loaded only when asked for. */

import type { Meter } from "../../../bridges/telemetry/meter.ts";
import type { OtlpSettings } from "../../../bridges/telemetry/otlp-settings.ts";
import type { Registry } from "../../../bridges/telemetry/registry.ts";
import { messageOf, UserError } from "../../../core/errors.ts";
import type { EventListener } from "../../../core/event.ts";
import type { Variables } from "../../../core/process.ts";
import { type IsSampled, readTraceContext } from "../../../core/trace-context.ts";
import type { TelemetrySettings } from "../../config/configuration.ts";
import { withoutSecrets } from "../files/without-secrets.ts";
import { tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";
import { Opened } from "./opened.ts";

/** One for a process. Closing it sends what waits, says in one line what could not be sent, and takes less than a second. */
export type RunTelemetry = AsyncDisposable & {
  readonly listeners: readonly EventListener[];
  /** Set when spans of runs are exported: external agents are told of theirs. */
  readonly isSampled: IsSampled | undefined;
};

type TelemetryRequest = {
  readonly settings: TelemetrySettings;
  readonly env: Variables;
  /** The models of the configuration and of agent files. */
  readonly models: readonly string[];
  /** One line for a person. */
  readonly say: (line: string) => void;
};

/** A collector that does not answer may take this long when everything else is done. */
const PATIENCE_MS = 700;

export async function openTelemetry(request: TelemetryRequest): Promise<RunTelemetry> {
  await using opened = new Opened();
  const registry = await openEndpoint(request, opened);
  const sent = await openSending(request, registry, opened);
  const listeners = [...(await measured(registry, request)), ...sent.listeners];
  return opened.moveTo({ listeners, isSampled: sent.isSampled });
}

async function measured(meter: Meter | undefined, { models }: TelemetryRequest): Promise<EventListener[]> {
  if (meter === undefined) return [];
  const [{ measureRuns }, { pricedName }] = await Promise.all([
    import("../../../bridges/telemetry/metrics.ts"),
    import("../../../runtime/budget/prices.ts"),
  ]);
  return [measureRuns(meter, { models, pricedName })];
}

/** A port that cannot be had is no reason to end the run. */
async function openEndpoint(
  { settings: { metrics }, say }: TelemetryRequest,
  opened: Opened,
): Promise<Registry | undefined> {
  const { port } = metrics;
  if (port === undefined) return undefined;
  const [{ createRegistry }, { serveMetrics }] = await Promise.all([
    import("../../../bridges/telemetry/registry.ts"),
    import("../../../bridges/telemetry/metrics-endpoint.ts"),
  ]);
  const registry = createRegistry();
  try {
    const endpoint = opened.use(await serveMetrics({ port, render: () => registry.render() }));
    if (port === 0) say(`Metrics are at ${endpoint.url}`);
    return registry;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    say(`warning: ${inertLine(messageOf(error), 300)}`);
    return undefined;
  }
}

type Sending = { listeners: EventListener[]; isSampled: IsSampled | undefined };

const NOT_SENT: Sending = { listeners: [], isSampled: undefined };

async function openSending(
  request: TelemetryRequest,
  registry: Registry | undefined,
  opened: Opened,
): Promise<Sending> {
  const { settings, env, say } = request;
  if (!isAsked(settings, env)) return NOT_SENT;
  const warn = (sentence: string): void => say(`warning: ${inertLine(sentence, 500)}`);
  const { readOtlpSettings } = await import("../../../bridges/telemetry/otlp-settings.ts");
  const found = readOtlpSettings({ endpoint: settings.telemetry.otlpEndpoint, variables: env, warn });
  if (found === undefined) return NOT_SENT;
  try {
    return await openOtlpListeners(request, found, registry, opened);
  } catch (error) {
    warn(`no traces and no metrics are sent: ${messageOf(error)}`);
    return NOT_SENT;
  }
}

/** Without an address nothing of OpenTelemetry is looked at. */
function isAsked({ telemetry: { otlpEndpoint } }: TelemetrySettings, env: Variables): boolean {
  const names = ["ENDPOINT", "TRACES_ENDPOINT", "METRICS_ENDPOINT"].map((name) => `OTEL_EXPORTER_OTLP_${name}`);
  return otlpEndpoint !== undefined || names.some((name) => (env[name] ?? "") !== "");
}

async function openOtlpListeners(
  request: TelemetryRequest,
  found: OtlpSettings,
  registry: Registry | undefined,
  opened: Opened,
): Promise<Sending> {
  const [{ openOtlp }, { runIdGenerator }, { default: manifest }] = await Promise.all([
    import("../../../bridges/telemetry/otlp.ts"),
    import("../../../bridges/telemetry/run-ids.ts"),
    import("../../../../package.json", { with: { type: "json" } }),
  ]);
  const { version } = manifest;
  const { settings, env, models } = request;
  const { telemetry } = settings;
  const onLost = (count: number): void => registry?.count("droppedSpans", count, []);
  const otlp = await openOtlp(found, { version, idGenerator: runIdGenerator(), onLost });
  let hasHeard = false;
  opened.defer(async () => {
    // There is nothing to send where nothing has happened.
    const missing = await otlp.close(hasHeard ? PATIENCE_MS : 0);
    if (hasHeard && missing !== undefined) tell(`warning: ${inertLine(missing, 500)}`);
  });
  const { tracerProvider, isSampled, meter } = otlp;
  const listeners: EventListener[] = [
    () => {
      hasHeard = true;
    },
  ];
  if (tracerProvider !== undefined) {
    const [{ tracesOf }, { pricedName }] = await Promise.all([
      import("../../../bridges/telemetry/spans.ts"),
      import("../../../runtime/budget/prices.ts"),
    ]);
    const baggage = readTraceContext(env)?.baggage;
    const content = { captureContent: telemetry.captureContent, redact: withoutSecrets };
    listeners.push(tracesOf({ tracerProvider, baggage, models, ...content }, pricedName));
  }
  return { listeners: [...listeners, ...(await measured(meter, request))], isSampled };
}
