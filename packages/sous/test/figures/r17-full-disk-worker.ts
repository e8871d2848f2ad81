/** Closes databases on a disk that is almost full, in a process of its own that has the disk to itself. */

import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { importWithout } from "../support/mutation.ts";
import { isCut } from "../support/storage/store/cut-checkpoint.ts";
import type { FullDiskOrder, FullDiskResult } from "./r17-full-disk.ts";
import { judgeStore, longTree } from "./r17-trees.ts";

const PAGE = 4096;
const TURNS = 8;

const [folder = "", given = ""] = process.argv.slice(2);
const order = JSON.parse(given) as FullDiskOrder;
const open = order.isMutant === true ? await openAsBefore() : openSqliteStore;
const result: FullDiskResult = { trials: 0, cutCheckpoints: 0, broken: [] };
for (let freePages = 0, isDone = false; !isDone; freePages += order.step) {
  const file = join(folder, String(freePages), "runs.db");
  mkdirSync(join(folder, String(freePages)));
  const store = await openSqliteStore(file);
  store.append("t0", longTree(0, TURNS));
  const filler = fill(join(folder, "filler"), freePages);
  await store[Symbol.asyncDispose]();
  // Without a log it was copied to its end: there was room for all of it.
  isDone = statSync(`${file}-wal`, { throwIfNoEntry: false }) === undefined;
  if (isCut(readFileSync(file))) result.cutCheckpoints += 1;
  const problems = await whileFull(file);
  rmSync(filler);
  problems.push(...(await judgeStore(file, [0], { open, turns: TURNS })));
  if (statSync(`${file}-wal`, { throwIfNoEntry: false }) !== undefined) problems.push("The log is still there");
  if (problems.length > 0) result.broken.push({ freePages, problems });
  result.trials += 1;
  rmSync(join(folder, String(freePages)), { recursive: true, maxRetries: 5 });
}
process.stdout.write(JSON.stringify(result));

/** On a disk that is full it need not open, but whatever is said is true. */
async function whileFull(file: string): Promise<string[]> {
  const problems: string[] = [];
  for (const readOnly of [true, false]) {
    try {
      await using store = await open(file, { readOnly });
      if ((await store.read("t0")).length !== longTree(0, TURNS).length) problems.push("full: events are missing");
    } catch (error) {
      if (/damaged|not a database/.test(String(error))) problems.push(`full: ${error}`);
    }
  }
  return problems;
}

/** Takes all of the disk but this many pages. */
function fill(file: string, freePages: number): string {
  const descriptor = openSync(file, "w");
  const page = Buffer.alloc(PAGE);
  try {
    for (;;) writeSync(descriptor, page);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  }
  ftruncateSync(descriptor, Math.max(0, statSync(file).size - freePages * PAGE));
  closeSync(descriptor);
  return file;
}

/** With a header that is read from the file alone, whatever lies beside it. */
async function openAsBefore(): Promise<typeof openSqliteStore> {
  const module = import.meta.resolve("../../src/storage/store/sqlite/store.ts");
  const mutant = await importWithout<typeof import("../../src/storage/store/sqlite/store.ts")>(module, {
    guard: "header-beside-a-log",
  });
  return mutant.openSqliteStore;
}
