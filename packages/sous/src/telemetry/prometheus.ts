/** Metrics as Prometheus reads them: its text format 0.0.4. */

import type { LabelValues } from "./meter.ts";
import { type Metric, prometheusName } from "./names.ts";

/** The content type of the text. */
export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** One combination of labels. */
export type Series = {
  readonly labels: LabelValues;
  /** Of a histogram the sum of what was recorded. */
  value: number;
  /** Of a histogram: how many values fell into each bucket; the last one has no upper bound. */
  buckets?: number[] | undefined;
};

export type Family = { readonly metric: Metric; readonly series: readonly Series[] };

export function prometheusText(families: readonly Family[]): string {
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
