/** Counts what the metrics of a tree must say from its journal in another way, and finds where they say something else. */

import type { GaugeReading, LabelValues, Meter } from "../../src/bridges/telemetry/meter.ts";
import { METRICS, type MetricName } from "../../src/bridges/telemetry/names.ts";
import type { EventOf, SousEvent, StoredEvent } from "../../src/core/event.ts";
import { completionStatus, errorTypeOf } from "../../src/core/outcome.ts";

/** One time series: how many values, and their sum. */
type Series = Map<string, { values: number; sum: number }>;

/** A meter that only adds. */
export class CountingMeter implements Meter {
  readonly series: Series = new Map();
  readonly #reads = new Set<() => Iterable<GaugeReading>>();

  count(metric: MetricName, amount: number, labels: LabelValues): void {
    add(this.series, metric, amount, labels);
  }

  record(metric: MetricName, value: number, labels: LabelValues): void {
    add(this.series, metric, value, labels);
  }

  observe(read: () => Iterable<GaugeReading>): Disposable {
    this.#reads.add(read);
    return { [Symbol.dispose]: () => void this.#reads.delete(read) };
  }

  /** What the gauges say now. */
  gauges(): Map<string, number> {
    const readings = [...this.#reads].flatMap((read) => [...read()]);
    return new Map(readings.map(({ metric, value, labels }) => [keyOf(metric, labels), value]));
  }
}

/** Where the meters of all processes together differ from what was shown in them. */
export function compareCounts(
  meters: readonly CountingMeter[],
  shown: readonly (readonly SousEvent[])[],
  journal: readonly StoredEvent[],
): string[] {
  const measured: Series = new Map();
  for (const { series } of meters) for (const [key, { values, sum }] of series) addTo(measured, key, values, sum);
  const expected = countEvents(shown, journal);
  return [...new Set([...measured.keys(), ...expected.keys()])].flatMap((key) => {
    const is = measured.get(key) ?? { values: 0, sum: 0 };
    const should = expected.get(key) ?? { values: 0, sum: 0 };
    const [metric] = key.split(" ") as [MetricName];
    // How long a call took that came to no answer is not in the journal.
    if (metric === "operationDuration" && !key.endsWith(" ")) return [];
    const isTime = metric === "operationDuration" || metric === "firstChunk";
    const isCounter = METRICS[metric].kind === "counter";
    const isSame = (isCounter || is.values === should.values) && (isTime || isNear(is.sum, should.sum));
    return isSame ? [] : [`${key} is ${JSON.stringify(is)}, the journal says ${JSON.stringify(should)}`];
  });
}

/** What the gauges of one process must say: a run that it started or continued and that has not ended is active. */
export function compareGauges(meter: CountingMeter, shown: readonly SousEvent[]): string[] {
  const gauges = meter.gauges();
  const live = new Map<string, number>();
  for (const { type, runId, depth } of shown) {
    if (type === "run-start" || type === "resume") live.set(runId, depth);
    if (type === "run-end") live.delete(runId);
  }
  const problems: string[] = [];
  for (const depth of new Set(shown.map((event) => event.depth))) {
    const active = [...live.values()].filter((each) => each === depth).length;
    const key = keyOf("active", [String(depth)]);
    const isSeen = shown.some((event) => event.depth === depth && /^(run-start|resume)$/.test(event.type));
    const reading = gauges.get(key) ?? (isSeen ? undefined : 0);
    if (reading !== active) problems.push(`${key} is ${reading}, and ${active} runs are active`);
  }
  // A root ends behind all runs below it.
  if ([...live.values()].includes(0)) return problems;
  for (const [key, value] of gauges) {
    if (key.startsWith("active") && value !== 0) problems.push(`${key} is ${value}, and the tree is over`);
    if (key.startsWith("stalled") && value !== 0) problems.push(`${key} is ${value}, and no run is live`);
    if (key.startsWith("budgetRemaining")) problems.push(`${key} is there, and no tree is live`);
  }
  return problems;
}

/** Everything that is counted, from the events alone. */
function countEvents(shown: readonly (readonly SousEvent[])[], journal: readonly StoredEvent[]): Series {
  const starts = new Map<string, EventOf<"run-start">>();
  // What is not kept was shown.
  for (const event of [...journal, ...shown.flat()]) if (event.type === "run-start") starts.set(event.runId, event);
  const series: Series = new Map();
  for (const life of shown) {
    const asking = new Set<string>();
    for (const event of life) {
      const depth = String(event.depth);
      if (event.type === "run-start") add(series, "executions", 1, [depth]);
      if (event.type === "spawn-refused") add(series, "errors", 1, [String(event.depth + 1), event.errorType]);
      if (event.type === "run-end") countEnd(series, event, starts.get(event.runId));
      if (event.type === "rate-wait" || (event.type === "retry" && event.kind === "rate_limit"))
        add(series, "rateWait", event.delayMs / 1000, [starts.get(event.runId)?.model ?? ""]);
      countAnswer(series, event, starts.get(event.runId)?.model ?? "", asking);
    }
  }
  return series;
}

function countEnd(series: Series, end: EventOf<"run-end">, start: EventOf<"run-start"> | undefined): void {
  const depth = String(end.depth);
  const { agent = "", model = "" } = start ?? {};
  const status = completionStatus(end.status);
  const { usage, costUsd } = end;
  add(series, "completions", 1, [depth, status]);
  add(series, "duration", end.durationMs / 1000, [depth, status]);
  add(series, "turns", end.turns, [depth]);
  add(series, "tokens", usage.totalTokens, [depth]);
  add(series, "invocations", 1, [agent, status]);
  const errorType = errorTypeOf(end);
  if (errorType !== undefined) add(series, "errors", 1, [depth, errorType]);
  if (costUsd === null) add(series, "unpriced", 1, [agent]);
  else add(series, "cost", costUsd, [agent]);
  add(series, "modelTokens", usage.inputTokens, [model, "input"]);
  add(series, "modelTokens", usage.outputTokens, [model, "output"]);
  add(series, "modelTokens", usage.cachedInputTokens, [model, "cache_read"]);
  add(series, "modelTokens", usage.cacheWriteTokens, [model, "cache_write"]);
}

/** `asking`: the runs that have asked their model and got no piece of an answer yet. */
function countAnswer(series: Series, event: SousEvent, model: string, asking: Set<string>): void {
  const [provider = "", ...name] = model.split("/");
  const call = ["chat", provider, name.join("/")];
  if (event.type === "turn-start") asking.add(event.runId);
  if (event.type === "text-delta" || event.type === "reasoning-delta") {
    if (asking.delete(event.runId)) add(series, "firstChunk", 0, call);
  }
  if (event.type !== "message-end") return;
  add(series, "operationDuration", 0, [...call, ""]);
  // The conventions want what a provider has counted.
  if (event.usage.estimated) return;
  add(series, "tokenUsage", event.usage.inputTokens, [...call, "input"]);
  add(series, "tokenUsage", event.usage.outputTokens, [...call, "output"]);
}

function add(series: Series, metric: MetricName, amount: number, labels: LabelValues): void {
  addTo(series, keyOf(metric, labels), 1, amount);
}

function addTo(series: Series, key: string, values: number, amount: number): void {
  const one = series.get(key) ?? { values: 0, sum: 0 };
  series.set(key, { values: one.values + values, sum: one.sum + amount });
}

function keyOf(metric: MetricName, labels: LabelValues): string {
  return [metric, ...labels].join(" ");
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(one), Math.abs(other));
}
