/** Bounds the values of labels: names and models come from users, and every value is one more series for ever. */

import type { LabelValues } from "./meter.ts";
import { METRICS, type MetricName } from "./names.ts";

export const MAX_LABEL_VALUES = 100;
/** Stands for every value beyond the first `MAX_LABEL_VALUES`. */
export const OTHER = "other";
const MAX_LABEL_LENGTH = 200;

type LabelSet = "agents" | "models" | "requested" | "providers";

/** Labels with values that users choose; those of one set share its bound. All other labels have closed sets. */
const SETS: Readonly<Record<string, LabelSet>> = {
  agent: "agents",
  model: "models",
  "gen_ai.request.model": "requested",
  "gen_ai.provider.name": "providers",
};

/** The set of each label of a metric; a metric without one is not listed. */
const SETS_OF: ReadonlyMap<string, readonly (LabelSet | undefined)[]> = new Map(
  Object.entries(METRICS)
    .map(([metric, { labels }]) => [metric, labels.map((label) => SETS[label])] as const)
    .filter(([, sets]) => sets.some((set) => set !== undefined)),
);

/** Every adapter of the port `Meter` has one of its own and passes all labels through it. */
export class LabelCap {
  /** The label that each value became, by set. */
  readonly #known: Readonly<Record<LabelSet, Map<string, string>>> = {
    agents: new Map(),
    models: new Map(),
    requested: new Map(),
    providers: new Map(),
  };

  /** The same labels, with values beyond the bound replaced. */
  bound(metric: MetricName, labels: LabelValues): LabelValues {
    const sets = SETS_OF.get(metric);
    if (sets === undefined) return labels;
    let bounded: string[] | undefined;
    for (const [index, set] of sets.entries()) {
      if (set === undefined) continue;
      const value = labels[index] ?? "";
      const allowed = this.#boundValue(set, value);
      if (allowed === value) continue;
      bounded ??= [...labels];
      bounded[index] = allowed;
    }
    return bounded ?? labels;
  }

  #boundValue(set: LabelSet, value: string): string {
    const known = this.#known[set];
    const earlier = known.get(value);
    if (earlier !== undefined) return earlier;
    // Not remembered: the number of values has no bound.
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
