/** Trees over worker processes in full: kills, lost workers, cancels and width. */

import { runWorkersBudget } from "../packages/sous/test/figures/workers-budget.ts";
import { cancelWorkers } from "../packages/sous/test/figures/workers-cancels.ts";
import { runWorkersKills } from "../packages/sous/test/figures/workers-kills.ts";
import { measureBeginning, measureScale } from "../packages/sous/test/figures/workers-scale.ts";
import { type Ending, loseWorker } from "../packages/sous/test/figures/workers-sleepers.ts";
import type { Figure } from "./main.ts";

/** The time until the runs of a lost worker are at work again. */
const BACK_MS: Record<Ending, number> = {
  killed: 2_000,
  "killed elsewhere": 2_000,
  stopped: 12_000,
  "stopped and cut off": 12_000,
};
/** Each child makes five calls of the model and four of tools, 12 seconds, and their root one call before them and one behind. */
const SCALE = { children: 1_000, callMs: 2_000, toolMs: 500 };

export const WORKERS: readonly Figure[] = [
  {
    name: "workers 100 trees of 8 x 8 on two workers, through kills of workers, of the server and of both",
    async measure(seed) {
      const whole = await runWorkersKills({ seed, trees: 80, shape: [8, 8] });
      // More than they need, so that all of them complete: what counts is that the rows of the budget survive.
      const metered = await runWorkersKills({ seed: seed + 1, trees: 20, shape: [8, 8], tokens: 100_000_000 });
      const isReached = [whole, metered].every(({ broken }) => broken.length === 0);
      return { figure: [whole, metered], isReached: isReached && whole.trees + metered.trees === 100 };
    },
  },
  {
    name: "workers 64 children on four of them race for a budget with room for ten, with and without shares, through kills",
    async measure(seed) {
      const race = { seed, trees: 20, shape: [8, 8], workers: 4, kills: 2, tokens: 52_000 };
      const figure = [await runWorkersBudget(race), await runWorkersBudget({ ...race, share: 9_000 })];
      return { figure, isReached: figure.every(({ broken, trees }) => broken.length === 0 && trees === 20) };
    },
  },
  {
    name: "workers that are killed here and elsewhere, stopped past their lease, and cut off",
    async measure() {
      const figure = [];
      for (const ending of Object.keys(BACK_MS) as Ending[]) figure.push(await loseWorker(ending));
      const isReached = figure.every(
        ({ ending, backMs, problems }) => problems.length === 0 && backMs <= BACK_MS[ending],
      );
      return { figure, isReached };
    },
  },
  {
    name: "workers a cancel of 10 x 100 placed children: no request after 250 ms, all ended in 2 s, also with a kill",
    async measure() {
      const shape = [10, 100];
      const figure = [await cancelWorkers({ shape }), await cancelWorkers({ shape, killAfterMs: 50 })];
      const isReached = figure.every(
        ({ lastRequestMs, allEndedMs, problems }) =>
          problems.length === 0 && lastRequestMs <= 250 && allEndedMs <= 2_000,
      );
      return { figure, isReached };
    },
  },
  {
    name: "workers 1,000 placed children on two: within 1.5 times the least time, with a kill within 1.3 times that",
    async measure() {
      const whole = await measureScale(SCALE);
      const killed = await measureScale({ ...SCALE, killAfterMs: 6_000 });
      const areSound = whole.problems.length + killed.problems.length === 0;
      return {
        figure: { whole, killed },
        isReached: areSound && whole.ratio <= 1.5 && killed.seconds <= 1.3 * whole.seconds,
      };
    },
  },
  {
    name: "workers 10,000 children begun from a pool of 8 within 60 seconds",
    async measure() {
      const figure = await measureBeginning(10_000, 8);
      return { figure, isReached: figure.seconds <= 60 };
    },
  },
];
