/** Bounds the values of labels: names and models come from users, and every value is one more series for ever. */

import type { LabelValues } from "./meter.ts";
import { METRICS, type MetricName } from "./names.ts";

export const MAX_LABEL_VALUES = 100;
/** Stands for every value beyond the first `MAX_LABEL_VALUES`. */
export const OTHER = "other";
const MAX_LABEL_LENGTH = 200;

/** Labels with values that users choose, each with a bound of its own. All other labels have closed sets. */
const OPEN_LABELS = ["agent", "model", "gen_ai.request.model", "gen_ai.provider.name"] as const;

type OpenLabel = (typeof OPEN_LABELS)[number];

/** The open labels of a metric at their places; a metric without one is not listed. */
const OPEN_IN: ReadonlyMap<string, readonly (OpenLabel | undefined)[]> = new Map(
  Object.entries(METRICS)
    .map(([metric, { labels }]) => [metric, labels.map((label) => OPEN_LABELS.find((open) => open === label))] as const)
    .filter(([, labels]) => labels.some((label) => label !== undefined)),
);

/** Every adapter of the port `Meter` has one of its own and passes all labels through it. */
export class LabelCap {
  /** Each value and what it became, by label. */
  readonly #known = Object.fromEntries(OPEN_LABELS.map((label) => [label, new Map()])) as Record<
    OpenLabel,
    Map<string, string>
  >;

  /** The same labels, with values beyond the bound replaced. */
  bound(metric: MetricName, labels: LabelValues): LabelValues {
    const openLabels = OPEN_IN.get(metric);
    if (openLabels === undefined) return labels;
    let bounded: string[] | undefined;
    for (const [index, label] of openLabels.entries()) {
      if (label === undefined) continue;
      const value = labels[index] ?? "";
      const allowed = this.#boundValue(label, value);
      if (allowed === value) continue;
      bounded ??= [...labels];
      bounded[index] = allowed;
    }
    return bounded ?? labels;
  }

  #boundValue(label: OpenLabel, value: string): string {
    const known = this.#known[label];
    const earlier = known.get(value);
    if (earlier !== undefined) return earlier;
    // The value is not stored: the number of values has no bound.
    if (known.size >= MAX_LABEL_VALUES) return OTHER;
    const clean = cleanLabel(value);
    known.set(value, clean);
    return clean;
  }
}

/** One line of valid Unicode: a NUL ends the text for some readers, and half a character would make two series one. */
function cleanLabel(value: string): string {
  return value
    .slice(0, MAX_LABEL_LENGTH)
    .replaceAll(/\p{Cc}/gu, " ")
    .toWellFormed();
}
