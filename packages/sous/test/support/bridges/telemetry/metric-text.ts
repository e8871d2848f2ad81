/** Reads Prometheus's text format as strictly as Prometheus does: what it would refuse throws here. */

import { METRICS, type MetricName, prometheusName } from "../../../../src/bridges/telemetry/names.ts";

export type MetricText = {
  /** Values by series, `name{label="value"}` with the labels as they were written. */
  readonly samples: ReadonlyMap<string, number>;
  /** `counter`, `gauge` or `histogram`, by name. */
  readonly types: ReadonlyMap<string, string>;
};

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)$/;

export function readMetricText(text: string): MetricText {
  const samples = new Map<string, number>();
  const types = new Map<string, string>();
  const helped = new Set<string>();
  if (text !== "" && !text.endsWith("\n")) throw new Error("The last line has no end");
  for (const line of text.split("\n").slice(0, -1)) {
    const [, help] = /^# HELP (\S+) \S/.exec(line) ?? [];
    const [, typed = "", type] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? [];
    if (help !== undefined) helped.add(help);
    else if (type !== undefined) {
      if (types.has(typed) || !helped.has(typed)) throw new Error(`TYPE of ${typed} comes twice, or before HELP`);
      types.set(typed, type);
    } else {
      const [, name = "", labels = "", value = ""] = SAMPLE.exec(line) ?? [];
      if (name === "") throw new Error(`Not a sample: ${line}`);
      const series = labels === "" ? name : `${name}{${labels}}`;
      const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "");
      if (!types.has(family)) throw new Error(`${series} has no TYPE`);
      if (samples.has(series)) throw new Error(`${series} comes twice`);
      const number = Number(value);
      if (value === "" || Number.isNaN(number)) throw new Error(`${series} is ${value}`);
      samples.set(series, number);
    }
  }
  return { samples, types };
}

/** Samples of one metric, by what follows its name. */
export function samplesOf(text: string, metric: MetricName): Record<string, number> {
  const name = prometheusName(METRICS[metric]);
  const found = [...readMetricText(text).samples].filter(
    ([series]) => series === name || series.startsWith(`${name}{`),
  );
  return Object.fromEntries(found.map(([series, value]) => [series.slice(name.length), value]));
}

/** `_sum` and `_count` of one histogram, by what follows its name. */
export function sumsOf(text: string, metric: MetricName): Record<string, number> {
  const name = prometheusName(METRICS[metric]);
  const found = [...readMetricText(text).samples].filter(([series]) => /^_(sum|count)\b/.test(rest(series, name)));
  return Object.fromEntries(found.map(([series, value]) => [rest(series, name), value]));
}

function rest(series: string, name: string): string {
  return series.startsWith(name) ? series.slice(name.length) : "";
}

/** Only the metrics that a database has too, without gauges. */
export function storedPart(text: string): Record<string, number> {
  const names = Object.values(METRICS)
    .filter((metric) => metric.from === "both")
    .map(prometheusName);
  return Object.fromEntries(
    [...readMetricText(text).samples].filter(([series]) =>
      names.some((name) => series.startsWith(name) && /^(_bucket|_sum|_count)?(\{|$)/.test(series.slice(name.length))),
    ),
  );
}
