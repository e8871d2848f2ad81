/** A tree in a file: the process that runs it is killed, and another one continues it. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { resume } from "sous";
import { openSqliteStore } from "sous/sqlite";

const folder = mkdtempSync(join(tmpdir(), "sous-example-"));
const file = join(folder, "runs.db");
const visits = join(folder, "visits.txt");
process.argv[3] = visits;
writeFileSync(visits, "");

const worker = spawn(process.execPath, [...process.execArgv, join(import.meta.dirname, "worker.ts"), file, visits], {
  stdio: ["ignore", "pipe", "inherit"],
});
const [id] = await once(worker.stdout, "data");
const runId = String(id).trim();

// #region resume
await using store = await openSqliteStore(file);
await untilBarnIsDone();
worker.kill("SIGKILL");
await once(worker, "exit");
for (const { path, status } of await store.tree(runId)) console.log(`${path}: ${status}`);

const { lead } = await import("./crew.ts");
const { text } = await resume(runId, { store, agent: lead });
console.log(text);
// #endregion

for (const { path, status } of await store.tree(runId)) console.log(`${path}: ${status}`);
console.log(readFileSync(visits, "utf8").trim().split("\n").sort().join(", "));
rmSync(folder, { recursive: true, maxRetries: 5 });

/** Another process may look into the file at any time. */
async function untilBarnIsDone(): Promise<void> {
  const isDone = async () =>
    (await store.tree(runId)).some(({ label, status }) => label === "barn" && status === "completed");
  while (!(await isDone()) || !readFileSync(visits, "utf8").includes("mill")) await sleep(20);
  writeFileSync(`${visits}.again`, "");
}
