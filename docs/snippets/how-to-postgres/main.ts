/** Runs in Postgres: open the store, query it, continue a run, delete what is old. The server is named in DATABASE_URL. */

import { Pool } from "pg";
import { agent, resume, run } from "sous";
import { openPostgresStore } from "sous/postgres";
import { calls, says, scriptedModel } from "sous/testing";

const model = scriptedModel({
  lead: [
    calls("subagent_scout", { task: "Find the retries." }),
    says("There is one, in fetch.ts."),
    says("In line 12."),
  ],
  "lead/scout": [says("fetch.ts")],
});

// #region open
await using store = await openPostgresStore({ connectionString: process.env.DATABASE_URL });

// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const scout = agent({ name: "scout", description: "Finds code.", model });
const lead = agent({ name: "lead", model, subagents: [scout] });
const { runId, text } = await run(lead, "Where do we retry?", { store, requireStore: true });
console.log(text);
// #endregion

// #region look
for (const { path, status, turns } of await store.tree(runId)) console.log(`${path}: ${status}, ${turns} turns`);
const newest = await store.list({ rootsOnly: true, limit: 20 });
console.log(newest.map(({ label, task }) => `${label}: ${task}`));
// #endregion

// #region resume
const { text: more } = await resume(runId, { store, agent: lead, message: "In which line?" });
console.log(more);
// #endregion

// #region prune
const month = 30 * 24 * 60 * 60 * 1000;
console.log(`${await store.prune(Date.now() - month)} deleted`);
console.log(await store.delete(runId));
// #endregion

// #region pool
const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
{
  await using other = await openPostgresStore({ pool, schema: "agents" });
  console.log(`${(await other.list()).length} runs`);
}
await pool.end();
// #endregion
