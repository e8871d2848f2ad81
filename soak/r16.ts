/** R16 in full: texts of strangers are read in bounded time. */

import { measureExpressions } from "../packages/sous/test/figures/r16-expressions.ts";
import { HOSTILE_TEXTS } from "../packages/sous/test/figures/r16-texts.ts";
import { runTextTrials } from "../packages/sous/test/figures/r16-trials.ts";
import type { Figure } from "./main.ts";

export const STRANGE_TEXTS: readonly Figure[] = [
  {
    name: `R16 ${HOSTILE_TEXTS.length} texts of strangers that were built to be slow`,
    async measure() {
      const late = await runTextTrials({ texts: HOSTILE_TEXTS, endings: ["deadline", "TERM"], lanes: 1 });
      const texts = new Set(HOSTILE_TEXTS.map(({ name }) => name)).size;
      return { figure: { texts, late }, isReached: late.length === 0 && texts >= 40 };
    },
  },
  {
    name: "R16 every expression of the sources: 16 times the text in under 40 times the time",
    async measure() {
      const figure = measureExpressions();
      return { figure, isReached: figure.slow.length === 0 && figure.expressions > 300 };
    },
  },
];
