/**
 * R4, H1: processes that race for one budget in one database neither overspend it nor lose any of it, also when some are
 * killed. The whole figure and its planted faults are `npm run soak -- R4`.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { untilShown } from "../until-shown.ts";
import { type ProcessRaceFigures, runProcessRaces } from "./r4-processes.ts";

const FAULTLESS = { overspent: 0, leaked: 0, wrongRefusals: 0, hung: 0, faults: [] };

test("R4, H1: 3 races of 8 processes on one database neither overspend, leak, hang nor refuse too early", async (t) => {
  await untilShown(
    async () => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      const figures = await runProcessRaces({ seed, races: 3, processes: 8, kills: 0 });
      t.diagnostic(`R4 ${JSON.stringify(figures)}`);
      assert.deepEqual(faultsOf(figures), FAULTLESS);
      return figures;
    },
    (rounds) => sumOf(rounds, "calls") > 20 && sumOf(rounds, "refused") > 0,
  );
});

test("R4, H1: 8 processes on one purse complete everything while enough is left, and no answer is cut", async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const figures = await runProcessRaces({ seed, races: 1, processes: 8, kills: 0, only: "enough" });
  t.diagnostic(`R4 ${JSON.stringify(figures)}`);
  assert.deepEqual([faultsOf(figures), figures.refused, figures.calls], [FAULTLESS, 0, 8 * 2 * 3]);
});

test("R4: what a killed process had reserved is spent: never negative, never leaked, never waited for", async (t) => {
  await untilShown(
    async () => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      const figures = await runProcessRaces({ seed, races: 2, processes: 4, kills: 1 });
      t.diagnostic(`R4 ${JSON.stringify(figures)}`);
      assert.deepEqual(faultsOf(figures), FAULTLESS);
      return figures;
    },
    (rounds) => sumOf(rounds, "killed") >= 2,
  );
});

function sumOf(rounds: readonly ProcessRaceFigures[], what: "calls" | "refused" | "killed"): number {
  return rounds.reduce((sum, figures) => sum + figures[what], 0);
}

function faultsOf({ overspent, leaked, wrongRefusals, hung, faults }: ProcessRaceFigures) {
  return { overspent, leaked, wrongRefusals, hung, faults };
}
