/** sous in memory, on an AI SDK model as it is. */

import { createAiSdkModel } from "../../mock/ai-sdk-model.mjs";
import { childPlan, parentPlan, workerPlan } from "../../mock/brain.mjs";
import { runAlone, runAloneByIterator, runTree } from "./tree.mjs";

export function single(load) {
  return runAlone(createAiSdkModel(workerPlan(load)));
}

export function singleByIterator(load) {
  return runAloneByIterator(createAiSdkModel(workerPlan(load)));
}

export function delegate(load) {
  const parent = createAiSdkModel(parentPlan(load, "subagent_child", (task) => ({ task })));
  return runTree(parent, createAiSdkModel(childPlan(load)), load.fan);
}
