/** R2 in small: some kills, and two processes that want one tree. The whole figure and its planted faults are `npm run soak -- R2`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { untilShown } from "../until-shown.ts";
import { type RivalFigure, runRivals, runSleepers } from "./kill-rivals.ts";
import { type KillFigure, runKills } from "./r2-kills.ts";

const KILLS = 8;

test(`R2: what a process has finished before kill -9 is not done again by the next, in ${KILLS} kills`, async (context) => {
  await untilShown(
    async (seed) => {
      const figure = await runKills({ seed, kills: KILLS });
      context.diagnostic(inWords(figure));
      assert.deepEqual(figure.broken, []);
      return figure;
    },
    (figures) =>
      figures.some(({ repeatedQuestions }) => repeatedQuestions > 0) &&
      figures.some(({ repeatedCalls }) => repeatedCalls > 0) &&
      figures.some(({ mostLives }) => mostLives > 2),
  );
});

test("G5: of two processes that resume one tree at the same moment one wins, and the other says so", async (context) => {
  const figure = await runRivals({ seed: Math.floor(Math.random() * 2 ** 31), trials: 1 });
  context.diagnostic(rivalsInWords("pairs of processes", figure));
  assert.deepEqual(figure.broken, []);
});

test("G5: a process that slept past its lease adds nothing to what its heir does, and says so", async (context) => {
  const figure = await runSleepers({ seed: Math.floor(Math.random() * 2 ** 31), trials: 1 });
  context.diagnostic(rivalsInWords("sleepers", figure));
  assert.deepEqual(figure.broken, []);
});

function inWords(figure: KillFigure): string {
  const { seed, kills, trees, mostLives, broken, repeatedQuestions, repeatedCalls, events, milliseconds } = figure;
  return `R2, seed ${seed}: ${kills} kills, ${trees} trees, up to ${mostLives} processes each, ${events} events; ${broken.length} broken; made again because nobody had kept the outcome: ${repeatedQuestions} questions, ${repeatedCalls} calls; ${milliseconds} ms`;
}

function rivalsInWords(who: string, { seed, trials, broken, refusals, milliseconds }: RivalFigure): string {
  return `${trials} ${who}, seed ${seed}: ${broken.length} broken; ${JSON.stringify(refusals)}; ${milliseconds} ms`;
}
