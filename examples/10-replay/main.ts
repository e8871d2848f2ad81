/** A stored tree is run again from its recorded answers, also with definitions that have changed since. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { agent, openMemoryStore, run, tool } from "sous";
import { rerun } from "sous/replay";
import { calls, cassetteModel, saveCassette, says, scriptedModel } from "sous/testing";
import * as z from "zod";

const store = openMemoryStore(); // or openSqliteStore("runs.db") from "sous/sqlite"
let readings = 0;
const measure = tool({
  name: "measure",
  description: "Reads the water level.",
  effect: "read",
  inputSchema: z.object({ well: z.string() }),
  execute: () => {
    readings += 1;
    return "41 cm";
  },
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

const file = join(mkdtempSync(join(tmpdir(), "sous-example-")), "wells.json");
// #region cassette
await saveCassette(store, runId, file);

// A test runs the same agents on answers that were given once.
const played = cassetteModel(file);
const lone = lead.with({ model: played, subagents: [surveyor.with({ model: played })] });
const { text } = await run(lone, "How are the wells?");
console.log(text);
// #endregion
rmSync(dirname(file), { recursive: true, maxRetries: 5 });

console.log(`measured ${readings} times, asked ${model.requestCount} times`);
