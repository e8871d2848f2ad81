/** The figures with faults planted in the sources: a fault that is not noticed is a figure that is missed. */

import { PLANTED_FAULTS } from "../packages/sous/test/figures/planted-faults.ts";
import type { Figure } from "./main.ts";

export const PLANTED: readonly Figure[] = [...Map.groupBy(PLANTED_FAULTS, ({ figure }) => figure)].map(
  ([figure, faults]) => ({
    name: `${figure} ${faults.length} planted faults are noticed`,
    async measure() {
      const missed: { what: string; seen: readonly string[] }[] = [];
      for (const { what, find } of faults) {
        const { isFound, seen } = await find();
        if (!isFound) missed.push({ what, seen });
      }
      return { figure: { noticed: faults.length - missed.length, missed }, isReached: missed.length === 0 };
    },
  }),
);
