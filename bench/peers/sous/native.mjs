/** sous in memory, on a model that implements its own port. */

import { childPlan, parentPlan, workerPlan } from "../../mock/brain.mjs";
import { createOwnModel } from "./own-model.mjs";
import { runAlone, runAloneByIterator, runTree } from "./tree.mjs";

export function single(load) {
  return runAlone(createOwnModel(workerPlan(load)));
}

export function singleByIterator(load) {
  return runAloneByIterator(createOwnModel(workerPlan(load)));
}

export function delegate(load) {
  const parent = createOwnModel(parentPlan(load, "subagent_child", (task) => ({ task })));
  return runTree(parent, createOwnModel(childPlan(load)), load.fan);
}
