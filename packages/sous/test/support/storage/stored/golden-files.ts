/**
 * The files of `golden/` for tests: read in place, except the database, of which each test opens a copy.
 *
 * A folder of `golden/` is named for the commit that stored it. `4eaacef` was written by the sources of commit 4eaacef; the program
 * that ran them is `packages/sous/test/stored/make-golden.ts` of commit f89b03e4. A folder is never written again, by no test and
 * no flag: it stands for the databases and files that people have. A commit that stores something in another way gets a folder of
 * its own, beside the old ones.
 */

import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoredEvent } from "../../../../src/index.ts";
import { openSqliteStore, type SqliteStore } from "../../../../src/sqlite.ts";
import type { StoreSummary } from "./summary.ts";

const GOLDEN = join(import.meta.dirname, "golden");

/** The commits whose stored data is checked in. */
export const COMMITS: readonly string[] = readdirSync(GOLDEN);

/** Trees with an open question. The commit called their runs without an end `interrupted`; they are `waiting`. */
const WAITING: Readonly<Record<string, readonly string[]>> = { "4eaacef": ["parked"] };

/** What one commit has stored. */
export type GoldenFiles = {
  /** As the commit saw its own database, but for the word `waiting`. */
  readonly summary: StoreSummary;
  path(name: string): string;
  rootId(tree: string): string;
  /** The events of a tree as it was exported, and the text of that file. */
  exported(tree: string): { text: string; events: StoredEvent[] };
};

export type DatabaseCopy = AsyncDisposable & { readonly file: string; readonly store: SqliteStore };

export function goldenFiles(commit: string): GoldenFiles {
  const path = (name: string): string => join(GOLDEN, commit, name);
  const summary: StoreSummary = JSON.parse(readFileSync(path("summary.json"), "utf8"));
  for (const name of WAITING[commit] ?? [])
    for (const run of summary.trees[name]?.runs ?? []) if (run.status === "interrupted") run.status = "waiting";
  return {
    summary,
    path,
    rootId: (tree) => summary.trees[tree]?.rootId ?? "",
    exported(tree) {
      const text = readFileSync(path(`${tree}.export.json`), "utf8");
      return { text, events: JSON.parse(text).events };
    },
  };
}

/** A copy in a folder of its own, removed with everything in it when it is disposed. */
export async function openCopy(files: GoldenFiles): Promise<DatabaseCopy> {
  const folder = mkdtempSync(join(tmpdir(), "sous-stored-"));
  const file = join(folder, "runs.db");
  copyFileSync(files.path("runs.db"), file);
  const store = await openSqliteStore(file);
  return {
    file,
    store,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, maxRetries: 5 });
    },
  };
}
