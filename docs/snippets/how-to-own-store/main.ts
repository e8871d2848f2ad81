/** A store of your own at work: a run is stored, the file is opened again after a crash, and the run is continued. */

import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, resume, run } from "sous";
import { says, scriptedModel } from "sous/testing";
import { openJournalStore } from "./journal-store.ts";

const folder = mkdtempSync(join(tmpdir(), "sous-example-"));
const file = join(folder, "runs.jsonl");
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const model = scriptedModel(says("Blue."), says("And green."));
const lead = agent({ name: "lead", model });

// #region use
let runId: string;
{
  await using store = openJournalStore(file);
  ({ runId } = await run(lead, "Which colour?", { store, requireStore: true }));
}
// #endregion
console.log(`${readFileSync(file, "utf8").trim().split("\n").length} lines`);
appendFileSync(file, '{"type":"events","roo'); // a process that is killed while it writes

// #region again
await using store = openJournalStore(file);
const { text } = await resume(runId, { store, agent: lead, message: "Any other?" });
console.log(text);
for (const { status, task } of await store.list()) console.log(status, task);
// #endregion
console.log(`deleted: ${await store.delete(runId)}, lines in the totals: ${(await store.totals()).tallies.length}`);
rmSync(folder, { recursive: true, maxRetries: 5 });
