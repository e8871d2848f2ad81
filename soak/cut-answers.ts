/** Answers that break off in every kind of part, on every protocol. */

import { isReached, measureAllCuts } from "../packages/sous/test/figures/r4-cuts.ts";
import type { Figure } from "./main.ts";

export const CUT_ANSWERS: Figure = {
  name: "R4 answers cut in every kind of part on five protocols: the bill of the provider is within the limit and within what is counted",
  async measure(seed) {
    const figures = await measureAllCuts(seed);
    const missed = figures.filter((each) => !isReached(each));
    const highest = Math.max(...figures.map(({ ofLimit }) => ofLimit));
    const cuts = figures.reduce((sum, { bill }) => sum + bill.cuts, 0);
    return { figure: { runs: figures.length, cuts, highest, missed }, isReached: missed.length === 0 };
  },
};
