/** R8 in small: every state twice. The whole figure and its planted fault are `npm run soak -- R8`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type CancelFigure, runCancels } from "./r8-cancels.ts";

suite("R8: soon after a cancel no model is asked, and after two seconds nothing runs", () => {
  test("in every state, of a fixed and of a fresh seed", async (context) => {
    for (const [seed, trials] of [
      [1, 11],
      [Math.floor(Math.random() * 2 ** 31), 11],
    ] as const) {
      const figure = await runCancels({ seed, trials, lanes: 6 });
      context.diagnostic(inWords(figure));
      assert.deepEqual(figure.broken, []);
      assert.ok(figure.lastRequestP99 <= 250, inWords(figure));
      assert.ok(figure.withPrograms >= 1, inWords(figure));
    }
  });
});

function inWords(figure: CancelFigure): string {
  const { seed, trials, withPrograms, lastRequestP99, slowestEndMilliseconds, milliseconds } = figure;
  return `seed ${seed}: ${trials} cancels, ${withPrograms} with programs; last request after ${lastRequestP99} ms, slowest end ${slowestEndMilliseconds} ms, ${milliseconds} ms in all`;
}
