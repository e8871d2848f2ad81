/** A budget that several runs share, in one process or in many. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, resume, run } from "sous";
import { openSqliteStore } from "sous/sqlite";
import { says, scriptedModel, uses } from "sous/testing";

const folder = mkdtempSync(join(tmpdir(), "sous-example-"));
process.on("exit", () => rmSync(folder, { recursive: true, maxRetries: 5 }));
const file = join(folder, "runs.db");
const answers = {
  lead: [
    [says("In src/retry.ts."), uses({ input: 1_000, output: 100 })],
    [says("In src/log.ts."), uses({ input: 1_200, output: 100 })],
  ],
};
const model = scriptedModel(answers, { price: { input: 0, output: 0 } });
const lead = agent({ name: "lead", model });

// #region open
await using store = await openSqliteStore(file);
const team = await store.sharedBudget("team-today", { tokens: 1_000_000, costUsd: 20, executions: 200 });

const { text, runId } = await run(lead, "Where do we retry?", { store, budget: { tokens: 50_000, from: team } });
console.log(text);
console.log(await team.left());
// #endregion

// #region join
const joined = await store.sharedBudget("team-today");
console.log(await joined.spent());
// #endregion

// #region replace
const raised = await store.sharedBudget("team-today", { tokens: 2_000_000 }, { existing: "replace" });
console.log(await raised.left());
// #endregion

// #region resume
const more = await resume(runId, { store, agent: lead, sharedBudget: raised, message: "Where do we log?" });
console.log(more.text);
// #endregion
