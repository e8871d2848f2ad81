/** A stored tree is run again from its recorded answers, also with definitions that have changed since. */

import { agent, openMemoryStore, rerun, run, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import * as z from "zod";

const store = openMemoryStore(); // or openSqliteStore("runs.db") from "sous/sqlite"
let readings = 0;
const measure = tool({
  name: "measure",
  description: "Reads the water level.",
  effect: "read",
  inputSchema: z.object({ well: z.string() }),
  execute: () => `${40 + ++readings} cm`,
});
const model = scriptedModel({
  lead: [calls("subagent_surveyor", { task: "Measure the north well." }), says("The north well is low.")],
  "lead/surveyor": [calls("measure", { well: "north" }), says("41 cm.")],
});
const surveyor = agent({ name: "surveyor", instructions: "You measure.", model, tools: [measure] });
const lead = agent({ name: "lead", model, subagents: [surveyor] });
const { runId } = await run(lead, "How are the wells?", { store });

// #region rerun
const same = await rerun(runId, { store, agents: [lead] });
console.log(`identical: ${same.matches}`);

const changed = lead.with({ subagents: [surveyor.with({ instructions: "You measure twice." })] });
const other = await rerun(runId, { store, agents: [changed] });
console.log(other.firstDifference?.sentence);
// #endregion

console.log(`measured ${readings} time, asked ${model.requestCount} times`);
