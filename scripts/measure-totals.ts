/**
 * Measures the totals of a SQLite database with many runs: the first scan, what an answer costs afterwards, the bytes of a line.
 *
 *   node --conditions=sous-source scripts/measure-totals.ts 1000000
 */

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Store } from "../packages/sous/src/core/store.ts";
import { openSqliteStore } from "../packages/sous/src/storage/store/sqlite/store.ts";
import { sampleTree } from "../packages/sous/src/testing/sample-tree.ts";

const RUNS_OF_A_TREE = 100;
const ASKED_AGAIN = 1_000;

const runs = Number(process.argv[2] ?? 100_000);
const folder = mkdtempSync(join(tmpdir(), "sous-totals-"));
const file = join(folder, "runs.db");
try {
  let mark = "";
  {
    await using store = await openSqliteStore(file);
    await timed(`${runs} runs written`, () => write(store));
    mark = await timed("the first scan", () => scan(store));
    await timed(`${ASKED_AGAIN} answers without anything new`, async () => {
      for (let count = 0; count < ASKED_AGAIN; count++) await store.totals({ after: mark });
    });
  }
  {
    using database = new DatabaseSync(file);
    database.exec("DROP TABLE tallies; PRAGMA user_version = 2; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const before = statSync(file).size;
  await timed("an older database filled", async () => (await openSqliteStore(file))[Symbol.asyncDispose]());
  console.log(`${Math.round((statSync(file).size - before) / runs)} bytes a line`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function timed<Result>(what: string, work: () => Result | Promise<Result>): Promise<Result> {
  const [start, used] = [performance.now(), process.cpuUsage()];
  const result = await work();
  const { user, system } = process.cpuUsage(used);
  console.log(`${what}: ${Math.round(performance.now() - start)} ms, ${Math.round((user + system) / 1000)} ms of CPU`);
  return result;
}

async function write(store: Store): Promise<void> {
  const usage = { inputTokens: 12_345, outputTokens: 678, cachedInputTokens: 9_000, cacheWriteTokens: 0 };
  for (let tree = 0; tree < runs / RUNS_OF_A_TREE; tree++) {
    const root = `root${tree}`;
    const sample = sampleTree(root);
    sample.start(root, { details: { cwd: "/srv/projects/shop", model: "anthropic/claude-sonnet-4-5" } });
    for (let index = 1; index < RUNS_OF_A_TREE; index++) {
      const id = `${root}-${index}`;
      sample.start(id, { parent: root, label: "scout", details: { model: "anthropic/claude-sonnet-4-5" } });
      sample.end(id, { costUsd: 0.0123, usage: { ...usage, totalTokens: 13_023, estimated: false } });
    }
    sample.end(root);
    await store.append(root, sample.events);
  }
}

async function scan(store: Store): Promise<string> {
  for (let after: string | undefined; ; ) {
    const { mark, isComplete } = await store.totals({ after });
    if (isComplete) return mark;
    after = mark;
  }
}
