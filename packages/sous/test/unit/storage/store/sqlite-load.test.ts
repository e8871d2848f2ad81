/** SQLite is loaded quietly, and everything else can still be heard. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { loadSqlite } from "../../../../src/storage/store/sqlite/connection.ts";

test("warnings are as they were once SQLite is loaded", () => {
  const { emitWarning } = process;
  assert.equal(typeof loadSqlite().DatabaseSync, "function");
  assert.equal(process.emitWarning, emitWarning);
});

test("only the warning about SQLite itself is kept back while it loads", (context) => {
  const heard = context.mock.method(process, "emitWarning", () => {}).mock;
  const { getBuiltinModule } = process;
  context.mock.method(process, "getBuiltinModule", (name: string) => {
    process.emitWarning("SQLite is an experimental feature and might change at any time");
    process.emitWarning("Something else", "Warning");
    return getBuiltinModule(name);
  });
  loadSqlite();
  assert.deepEqual(
    heard.calls.map(({ arguments: given }) => given),
    [["Something else", "Warning"]],
  );
});

test("a Node.js without SQLite is named, and warnings are as they were", (context) => {
  const { emitWarning } = process;
  context.mock.method(process, "getBuiltinModule", () => undefined);
  assert.throws(loadSqlite, { message: "This Node.js was built without SQLite: use another, or Postgres" });
  assert.equal(process.emitWarning, emitWarning);
});
