/** Two processes and one tree, in small. The whole figure is `npm run soak`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type RivalFigure, runRivals, runSleepers } from "./kill-rivals.ts";

test("G5: of two processes that resume one tree at the same moment one wins, and the other says so", async (context) => {
  const figure = await runRivals({ seed: Math.floor(Math.random() * 2 ** 31), trials: 3 });
  context.diagnostic(inWords("pairs of processes", figure));
  assert.deepEqual(figure.broken, []);
});

test("G5: a process that slept past its lease adds nothing to what its heir does, and says so", async (context) => {
  const figure = await runSleepers({ seed: Math.floor(Math.random() * 2 ** 31), trials: 3 });
  context.diagnostic(inWords("sleepers", figure));
  assert.deepEqual(figure.broken, []);
});

function inWords(who: string, { seed, trials, broken, refusals, milliseconds }: RivalFigure): string {
  return `${trials} ${who}, seed ${seed}: ${broken.length} broken; ${JSON.stringify(refusals)}; ${milliseconds} ms`;
}
