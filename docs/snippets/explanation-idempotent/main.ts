/** A payment that happens once, although the process that made it died before it could say so. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resume } from "sous";
import { openSqliteStore } from "sous/sqlite";

const folder = mkdtempSync(join(tmpdir(), "sous-example-"));
process.argv[2] = folder;
const file = join(folder, "runs.db");
const worker = spawn(process.execPath, [...process.execArgv, join(import.meta.dirname, "worker.ts"), folder, file]);
console.log(`the worker ended with ${(await once(worker, "exit"))[1]}`);

const { clerk } = await import("./shop.ts");
{
  await using store = await openSqliteStore(file);
  for (const { id, status } of await store.list({ rootsOnly: true })) {
    console.log(status);
    console.log((await resume(id, { store, agent: clerk })).text);
  }
}
console.log(`payments: ${readdirSync(folder).filter((name) => name.endsWith(".json")).length}`);
rmSync(folder, { recursive: true, maxRetries: 5 });
