/** Tells the trees of a process when most of a shared budget is spent, each of them once for each limit. */

import type { LimitState } from "../core/limits.ts";
import type { Line } from "./line.ts";
import { isNear } from "./meter.ts";

export class PurseNear {
  /** The limits that each tree was told about. */
  readonly #told = new WeakMap<Line, Set<LimitState["unit"]>>();

  tell(trees: Iterable<Line>, limits: readonly LimitState[]): void {
    const near = limits.filter(isNear);
    if (near.length === 0) return;
    for (const tree of trees) {
      const told = this.#told.get(tree) ?? new Set();
      this.#told.set(tree, told);
      for (const limit of near) {
        if (!told.has(limit.unit)) tree.onNear(limit, undefined);
        told.add(limit.unit);
      }
    }
  }
}
