/** sous with its SQLite store, on an AI SDK model. The store is opened once, as a user does. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAiSdkModel } from "../../mock/ai-sdk-model.mjs";
import { childPlan, parentPlan, workerPlan } from "../../mock/brain.mjs";
import { builtSous } from "./build.mjs";
import { runAlone, runAloneByIterator, runTree } from "./tree.mjs";

const { openSqliteStore } = await builtSous("sqlite.js");

const folder = mkdtempSync(join(tmpdir(), "bench-sous-durable-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const store = await openSqliteStore(join(folder, "runs.db"));

/** The adapter whose agents have this tool. */
export function withStore(work) {
  return {
    single: (load) => runAlone(createAiSdkModel(workerPlan(load)), store, work),
    singleByIterator: (load) => runAloneByIterator(createAiSdkModel(workerPlan(load)), store, work),
    delegate(load) {
      const parent = createAiSdkModel(parentPlan(load, "subagent_child", (task) => ({ task })));
      return runTree(parent, createAiSdkModel(childPlan(load)), load.fan, store, work);
    },
  };
}
