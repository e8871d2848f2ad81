/** R13: random trees are run again in this process, from the real definitions, with tools that must not run. */

import { rerun } from "../../src/rerun.ts";
import { seededRandom } from "../../src/testing/world.ts";
import { storeOf } from "../support/rerun/support.ts";
import { agentsOf, recordTree, toolsOf } from "./r13-tree.ts";

export type RerunFigures = { seed: number; trees: number; different: { seed: number; difference: string }[] };

/** The trees of the seeds `seed`, `seed + 1`, …, each of at least so many events. */
export async function runReruns(given: { seed: number; count: number; events: number }): Promise<RerunFigures> {
  const figures: RerunFigures = { seed: given.seed, trees: given.count, different: [] };
  for (let seed = given.seed; seed < given.seed + given.count; seed++) {
    const difference = await differenceOfRerun(seed, given.events);
    if (difference !== undefined) figures.different.push({ seed, difference });
  }
  return figures;
}

async function differenceOfRerun(seed: number, events: number): Promise<string | undefined> {
  const recorded = await recordTree(seed, events);
  const never = () => Promise.reject(new Error("A tool has run"));
  const agents = agentsOf(toolsOf(never, seededRandom(seed, "never")));
  const { firstDifference } = await rerun(recorded[0]?.runId ?? "", { store: storeOf(recorded), agents });
  return firstDifference?.sentence;
}
