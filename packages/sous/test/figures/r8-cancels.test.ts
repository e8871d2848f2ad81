/** R8 in small: every state twice. The whole figure and its planted fault are `npm run soak -- R8`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { untilShown } from "../until-shown.ts";
import { type CancelFigure, runCancels } from "./r8-cancels.ts";

suite("R8: soon after a cancel no model is asked, and after two seconds nothing runs", () => {
  test("in every state, of a fixed and of a fresh seed", async (context) => {
    await untilShown(
      async (round) => {
        const seed = round === 1 ? 1 : Math.floor(Math.random() * 2 ** 31);
        const figure = await runCancels({ seed, trials: 11, lanes: 6 });
        context.diagnostic(inWords(figure));
        assert.deepEqual(figure.broken, []);
        assert.ok(figure.lastRequestP99 <= 250, inWords(figure));
        return figure;
      },
      (figures) => figures.length > 1 && figures.some(({ withPrograms }) => withPrograms > 0),
    );
  });
});

function inWords(figure: CancelFigure): string {
  const { seed, trials, withPrograms, lastRequestP99, slowestEndMilliseconds, milliseconds } = figure;
  return `seed ${seed}: ${trials} cancels, ${withPrograms} with programs; last request after ${lastRequestP99} ms, slowest end ${slowestEndMilliseconds} ms, ${milliseconds} ms in all`;
}
