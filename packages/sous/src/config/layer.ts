/** One source of settings: a file, the environment, or the flags. Higher layers go before lower ones. */

import type { ProblemPlace } from "../core/problem.ts";

export type LayerName = "flag" | "variable" | "project" | "user";

/** Where a value came from, as people are told. */
export type Origin = {
  readonly layer: LayerName | "default";
  /** `--model`, `SOUS_MODEL`, `/home/ada/.config/sous/config.yaml:3`, `default`. */
  readonly where: string;
};

export type Layer = { readonly name: LayerName; readonly entries: ReadonlyMap<string, Entry> };

/** What a layer says about one setting, before it is checked. */
export type Entry = {
  readonly given: unknown;
  /** Of a part of the value, when a path is given. */
  origin(path?: readonly (string | number)[]): Origin;
  /** The same for a problem. */
  place(path: readonly (string | number)[], part: "key" | "value"): ProblemPlace;
};
