/** Metrics in the memory of this process, for Prometheus to read. */

import { LabelCap } from "./label-cap.ts";
import type { GaugeReading, LabelValues, Meter } from "./meter.ts";
import { METRICS, type Metric, type MetricName, prometheusName } from "./names.ts";

/** Counts and buckets of this process, as Prometheus reads them. */
export type Registry = Meter & {
  /** Everything as it stands, in Prometheus's text format 0.0.4. Metrics without a value are left out. */
  render(): string;
};

export function createRegistry(): Registry {
  return new MemoryRegistry();
}

class MemoryRegistry implements Registry {
  readonly #cap = new LabelCap();
  readonly #series = new SeriesTable();
  readonly #readers = new Set<() => Iterable<GaugeReading>>();

  count(metric: MetricName, amount: number, labels: LabelValues): void {
    this.#series.at(metric, this.#cap.bound(metric, labels)).value += amount;
  }

  record(metric: MetricName, value: number, labels: LabelValues): void {
    const series = this.#series.at(metric, this.#cap.bound(metric, labels));
    const bounds = boundsOf(metric);
    series.buckets ??= new Array<number>(bounds.length + 1).fill(0);
    const found = bounds.findIndex((bound) => value <= bound);
    const bucket = found === -1 ? bounds.length : found;
    series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
    series.value += value;
  }

  /** The later of two readings of one series counts. */
  observe(read: () => Iterable<GaugeReading>): Disposable {
    this.#readers.add(read);
    return { [Symbol.dispose]: () => void this.#readers.delete(read) };
  }

  render(): string {
    const gauges = new SeriesTable();
    for (const read of this.#readers) {
      for (const { metric, value, labels } of read()) gauges.at(metric, labels).value = value;
    }
    const names = Object.keys(METRICS) as MetricName[];
    const families = names.flatMap((name): Family[] => {
      const series = [...this.#series.of(name), ...gauges.of(name)];
      return series.length === 0 ? [] : [{ metric: METRICS[name], series }];
    });
    return prometheusText(families);
  }
}

/**
 * Every combination of labels of every metric. They are found label by label: a joined key would be made and hashed for each
 * value, which took half of the time that metrics add to a turn.
 */
class SeriesTable {
  readonly #first = new Map<MetricName, Level>();
  readonly #all = new Map<MetricName, Series[]>();

  of(metric: MetricName): readonly Series[] {
    return this.#all.get(metric) ?? [];
  }

  at(metric: MetricName, labels: LabelValues): Series {
    let level = levelIn(this.#first, metric);
    for (const value of labels) level = levelIn(level.next, value);
    level.series ??= this.#add(metric, labels);
    return level.series;
  }

  #add(metric: MetricName, labels: LabelValues): Series {
    const series: Series = { labels, value: 0 };
    const all = this.#all.get(metric);
    if (all === undefined) this.#all.set(metric, [series]);
    else all.push(series);
    return series;
  }
}

type Level = { readonly next: Map<string, Level>; series: Series | undefined };

function levelIn<Key>(levels: Map<Key, Level>, key: Key): Level {
  const known = levels.get(key);
  if (known !== undefined) return known;
  const level: Level = { next: new Map(), series: undefined };
  levels.set(key, level);
  return level;
}

function boundsOf(name: MetricName): readonly number[] {
  const metric: Metric = METRICS[name];
  return metric.buckets ?? [];
}

/** The content type of the text. */
export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** One combination of labels. */
export type Series = {
  readonly labels: LabelValues;
  /** The sum of what was recorded for a histogram. */
  value: number;
  /** The number of values in each bucket of a histogram; the last one has no upper bound. */
  buckets?: number[] | undefined;
};

type Family = { readonly metric: Metric; readonly series: readonly Series[] };

/** The text format 0.0.4 of Prometheus. */
function prometheusText(families: readonly Family[]): string {
  return families
    .flatMap(familyLines)
    .map((line) => `${line}\n`)
    .join("");
}

function familyLines({ metric, series }: Family): string[] {
  const name = prometheusName(metric);
  const lines = series.flatMap((each) =>
    metric.kind === "histogram"
      ? histogramLines(name, metric, each)
      : [sample(name, pairsOf(metric, each), each.value)],
  );
  return [`# HELP ${name} ${escapeHelp(metric.about)}`, `# TYPE ${name} ${metric.kind}`, ...lines];
}

/** Buckets are cumulative there. */
function histogramLines(name: string, metric: Metric, series: Series): string[] {
  const pairs = pairsOf(metric, series);
  const bounds = [...(metric.buckets ?? []).map(String), "+Inf"];
  let count = 0;
  const buckets = bounds.map((bound, index) => {
    count += series.buckets?.[index] ?? 0;
    return sample(`${name}_bucket`, [...pairs, ["le", bound]], count);
  });
  return [...buckets, sample(`${name}_sum`, pairs, series.value), sample(`${name}_count`, pairs, count)];
}

type Pair = readonly [name: string, value: string];

/** An empty label is the same as none. */
function pairsOf(metric: Metric, { labels }: Series): Pair[] {
  return metric.labels.flatMap((name, index): Pair[] => {
    const value = labels[index] ?? "";
    return value === "" ? [] : [[name.replaceAll(".", "_"), value]];
  });
}

function sample(name: string, pairs: readonly Pair[], value: number): string {
  const labels = pairs.map(([label, text]) => `${label}="${escapeLabel(text)}"`).join(",");
  return `${labels === "" ? name : `${name}{${labels}}`} ${value}`;
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
