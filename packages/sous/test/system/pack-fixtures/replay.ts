/** Stored runs from their own subpath. */

import { agent, openMemoryStore, run } from "sous";
import { diffRuns, exportTree, importTree, type Rerun, rerun } from "sous/replay";
import { says, scriptedModel } from "sous/testing";

const store = openMemoryStore();
const lead = agent({ name: "lead", model: scriptedModel(says("Seen.")) });
const { runId } = await run(lead, "Look.", { store }).result;
const again: Rerun = await rerun(runId, { store, agents: [lead] });
const { isSame } = await diffRuns(store, runId, runId);
const { runs } = await importTree(openMemoryStore(), await exportTree(store, runId, "json"));
console.log(`replay: ${again.matches} ${isSame} ${runs}`);
