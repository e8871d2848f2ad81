/** A column of a run is described once: a new one changes two files, and both stores write, read and migrate it. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { RunRecord, Store } from "../../../../src/core/store.ts";
import { RUN_COLUMNS } from "../../../../src/storage/store/run-columns.ts";
import { SQLITE_KINDS } from "../../../../src/storage/store/sqlite/column-kinds.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { ChangedSources } from "../../../support/changed-sources.ts";
import { NEW_COLUMN } from "../../../support/core/new-words.ts";
import { sourceFiles, sourceFolder } from "../../../support/source-files.ts";
import { type PostgresServer, startPostgresServer } from "../../../support/storage/store/postgres-server.ts";

let changed: ChangedSources;
let server: PostgresServer;
before(async () => {
  changed = new ChangedSources(NEW_COLUMN);
  server = await startPostgresServer();
});
after(async () => {
  await server[Symbol.asyncDispose]();
  changed[Symbol.dispose]();
});

test("SQLite writes and reads a new column of a run, and adds it to a database of before", async () => {
  const file = join(changed.folder, "runs.db");
  await checkNewColumn(async (sources) => {
    const { openSqliteStore } = await import(urlOf(sources, "storage/store/sqlite/store.ts"));
    return openSqliteStore(file);
  });
});

test("Postgres writes and reads a new column of a run, and adds it to a schema of before", async () => {
  const connectionString = server.connectionString();
  await checkNewColumn(async (sources) => {
    const { openPostgresStore } = await import(urlOf(sources, "storage/store/postgres/store.ts"));
    return openPostgresStore({ connectionString, schema: "columns" });
  });
});

/** Version 1 of a schema never changes, so a new column does not touch it. */
const TABLES = ["storage/store/postgres/schema.ts", "storage/store/sqlite/schema.ts"];
const LIST = "storage/store/run-columns.ts";
/** Words that mean nothing else in the stores. */
const NAMES = ["stop_reason", "tool_count", "summary_prompt", "allowed_tools"];
const FIELDS = ["toolCount", "summaryPrompt", "allowedTools"];

test("the stores name a column of a run in the list and in their first tables, and nowhere else", () => {
  const files = sourceFiles().filter(
    ({ path }) => path.startsWith("storage/store/") && !path.startsWith("storage/store/export/"),
  );
  const naming = (word: string) =>
    files.filter(({ text }) => new RegExp(`\\b${word}\\b`).test(text)).map(({ path }) => path);
  for (const word of NAMES) assert.deepEqual(naming(word), [LIST, ...TABLES].sort(), word);
  for (const word of FIELDS) assert.deepEqual(naming(word), [LIST], word);
});

test("a column of a run has the type of its kind in the table of SQLite", async () => {
  const { openSqliteStore } = await import("../../../../src/storage/store/sqlite/store.ts");
  const file = join(changed.folder, "types.db");
  await (await openSqliteStore(file))[Symbol.asyncDispose]();
  using database = new DatabaseSync(file, { readOnly: true });
  const columns = database.prepare("PRAGMA table_info(runs)").all();
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  for (const { name, kind } of RUN_COLUMNS) assert.equal(types.get(name), SQLITE_KINDS[kind].type, name);
});

/** A store of now writes, then one of the changed sources reads and writes, and the one of now refuses what it cannot know. */
async function checkNewColumn(open: (sources: string) => Promise<Store>): Promise<void> {
  {
    await using store = await open(sourceFolder);
    await store.append("before", failed("before"));
    assert.equal("faultType" in ((await store.run("before")) ?? {}), false);
  }
  for (const rootId of ["first", "second"]) {
    await using store = await open(join(changed.folder, "src"));
    await store.append(rootId, failed(rootId).slice(0, 1));
    assert.equal(faultTypeOf(await store.run(rootId)), undefined);
    await store.append(rootId, failed(rootId).slice(1));
    assert.equal(faultTypeOf(await store.run(rootId)), "tool");
    assert.equal(faultTypeOf(await store.run("before")), undefined);
    assert.equal((await store.run("before"))?.status, "failed");
  }
  await assert.rejects(open(sourceFolder), /was written by a newer version of sous/);
}

function failed(rootId: string) {
  const tree = sampleTree(rootId);
  tree.start(rootId);
  tree.end(rootId, { status: "failed", fault: { type: "tool", message: "It broke." } });
  return tree.events;
}

function faultTypeOf(record: RunRecord | undefined): unknown {
  assert.ok(record !== undefined && "faultType" in record);
  return record.faultType;
}

function urlOf(sources: string, path: string): string {
  return pathToFileURL(join(sources, path)).href;
}
