/** R13 in full: trees that are run again, from what was recorded of them. */

import { type ReplayFigure, runReplays } from "../packages/sous/test/figures/r13-replay.ts";
import { runReruns } from "../packages/sous/test/figures/r13-reruns.ts";
import type { Figure } from "./main.ts";

export const RERUNS: readonly Figure[] = [
  {
    name: "R13 10 runs of 10,000 events, run again without network",
    async measure(seed) {
      const trees = Array.from({ length: 10 }, (_, index) => ({ seed: seed + index, events: 10_000 }));
      const { figures } = await runReplays(trees);
      const isSame = ({ different, networkCalls, providersLoaded, events, reruns }: ReplayFigure) =>
        different.length + networkCalls + providersLoaded === 0 && events >= 10_000 && reruns === 2;
      return { figure: figures, isReached: figures.length === trees.length && figures.every(isSame) };
    },
  },
  {
    name: "R13 1,000 runs of at least 60 events, run again",
    async measure(seed) {
      const figure = await runReruns({ seed, count: 1_000, events: 60 });
      return { figure, isReached: figure.different.length === 0 };
    },
  },
];
