/** The rest of the budget of a live tree, as its events tell: limits in tokens and money of the tree and of its children. */

import type { EventOf } from "../../core/event.ts";
import type { StoredBudget } from "../../core/units.ts";

export type SpentSums = { tokens: number; costUsd: number };

export type MeasuredLimit = "tokens" | "cost";

/** One for each live tree that has such a limit. */
export class TreeBudget {
  readonly #tree: StoredBudget;
  readonly #children: StoredBudget;
  readonly #spent: SpentSums;
  readonly #byChildren: SpentSums;

  /** A further root run of a tree continues with what `earlier` ones spent. */
  constructor({ budget, terms }: EventOf<"run-start">, earlier?: TreeBudget) {
    this.#tree = budget ?? {};
    this.#children = terms?.limits.children ?? {};
    this.#spent = earlier === undefined ? { tokens: 0, costUsd: 0 } : earlier.#spent;
    this.#byChildren = earlier === undefined ? { tokens: 0, costUsd: 0 } : earlier.#byChildren;
  }

  get isLimited(): boolean {
    return [this.#tree, this.#children].some((limits) => limits.tokens !== undefined || limits.costUsd !== undefined);
  }

  add({ tokens, costUsd }: SpentSums, depth: number): void {
    for (const sums of depth > 0 ? [this.#spent, this.#byChildren] : [this.#spent]) {
      sums.tokens += tokens;
      sums.costUsd += costUsd;
    }
  }

  /** The part that is left, from 1 to 0; undefined without a limit. */
  remaining(limit: MeasuredLimit): number | undefined {
    const unit = limit === "tokens" ? "tokens" : "costUsd";
    const parts = [part(this.#tree[unit], this.#spent[unit]), part(this.#children[unit], this.#byChildren[unit])];
    const known = parts.filter((each) => each !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }
}

function part(limit: number | undefined, spent: number): number | undefined {
  if (limit === undefined) return undefined;
  return limit > 0 ? Math.max(0, 1 - spent / limit) : 0;
}
