/** What the tests notice when the sources are changed, one place at a time. */

import { availableParallelism } from "node:os";
import { measureClosings, measureMutants } from "../packages/sous/test/figures/mutation/measure.ts";
import type { Figure } from "./main.ts";

const lanes = Math.max(1, availableParallelism() - 1);

export const MUTANTS: readonly Figure[] = [
  {
    name: "mutation 66 changes of the sources, each kind equally often: 85 % are noticed, of those that wait or close 70 %",
    async measure(seed) {
      const figure = await measureMutants({ seed, count: 66, lanes });
      return { figure, isReached: figure.noticedShare >= 0.85 && figure.closingShare >= 0.7 };
    },
  },
  {
    name: "closings every finally, using and disposal of the sources dropped: each is noticed, or listed with a reason",
    async measure() {
      const figure = await measureClosings({ lanes });
      return { figure, isReached: figure.survived === 0 };
    },
  },
];
