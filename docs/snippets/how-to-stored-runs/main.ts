/** Stored runs: listed, read, branched, compared, written to a file and taken in again. */

import { agent, createRuntime, fork, openMemoryStore, run } from "sous";
import { diffRuns, exportTree, importTree, readMessages, readTree } from "sous/replay";
import { calls, says, scriptedModel } from "sous/testing";
import { readOnlyTools } from "sous/tools";

const store = openMemoryStore(); // or openSqliteStore("runs.db") from "sous/sqlite"

// #region read-only
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const model = scriptedModel(calls("glob", { pattern: "*.ts" }), says("One file: main.ts."));
const reader = agent({ name: "reader", model, tools: readOnlyTools({ root: import.meta.dirname }) });
const { runId } = await run(reader, "Which files are here?", { store });
// #endregion

const patient = reader.with({ model: scriptedModel(says("A program."), says("It is.")) });
const hurried = reader.with({ model: scriptedModel(says("I have not read it.")) });
// #region fork
const whole = await fork(runId, { store, agent: patient, message: "What is in it?" });
const early = await fork(runId, { store, agent: hurried, afterTurn: 1, message: "What is in it?" });
console.log(whole.text, early.text);
// #endregion

// #region runtime
// Several runs share the store, and the definitions that stored runs are continued with.
const runtime = createRuntime({ store, agents: [patient] });
const continued = await runtime.resume(whole.runId, { message: "Is that all?" });
console.log(continued.status);
// #endregion

// #region list
const DAY_MS = 24 * 60 * 60 * 1000;
for (const { label, status, task } of await store.list()) console.log(label, status, task);
const messages = await readMessages(store, runId);
console.log(messages?.map(({ role }) => role).join(", "));
console.log(`deleted: ${await store.prune(Date.now() - 30 * DAY_MS)}`);
// #endregion

for await (const { seq, path, type } of readTree(store, runId)) if (type === "run-end") console.log(seq, path, type);

// #region totals
const { tallies } = await store.totals({ since: Date.now() - 30 * DAY_MS });
const tokens = tallies.map((tally) => (tally.kind === "run" ? tally.usage.totalTokens : 0));
console.log(`${tallies.length} lines, ${tokens.reduce((sum, more) => sum + more, 0)} tokens`);
// #endregion

// #region diff
const { isSame, agents } = await diffRuns(store, whole.runId, early.runId);
const changed = agents.flatMap(({ rows }) => rows.filter(({ mark }) => mark !== "same"));
console.log(`same: ${isSame}, steps that differ: ${changed.length}`);
// #endregion

// #region export
const file = await exportTree(store, runId, "json");
const elsewhere = openMemoryStore();
const { runs, events } = await importTree(elsewhere, file);
console.log(`${runs} run, ${events} events`);
// #endregion
