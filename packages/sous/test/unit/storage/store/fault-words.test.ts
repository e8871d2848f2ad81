/** The words about a fault of a database, for the person who must act. */

import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { UserError } from "../../../../src/core/errors.ts";
import { toStoreError } from "../../../../src/storage/store/postgres/errors.ts";
import { createPrivateFile, faultOf } from "../../../../src/storage/store/sqlite/file.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

test("a file of SQLite that cannot be opened is told with what to check", async () => {
  await using tree = await temporaryTree({});
  const file = join(tree.path, "nowhere", "runs.db");
  try {
    new DatabaseSync(file);
    assert.fail("it was opened");
  } catch (error) {
    const { message } = faultOf(error, file);
    assert.equal(
      message,
      `${file} cannot be opened (unable to open database file): check that its folder exists and that you may use it`,
    );
  }
});

test("a file that is there stays as it is, or is refused where it must be new", async () => {
  await using tree = await temporaryTree({ "runs.db": "old" });
  const file = join(tree.path, "runs.db");
  createPrivateFile(file);
  assert.equal(readFileSync(file, "utf8"), "old");
  assert.throws(() => createPrivateFile(file, false), UserError);
  createPrivateFile(join(tree.path, "a/b/new.db"), false);
  assert.equal(statSync(join(tree.path, "a/b/new.db")).mode & 0o777, 0o600);
  writeFileSync(join(tree.path, "in-the-way"), "");
  assert.throws(() => createPrivateFile(join(tree.path, "in-the-way/new.db")), UserError);
});

test("a server with several addresses fails in the words of the first, and one without words by its code", () => {
  const refused = Object.assign(new AggregateError([new Error("connect ECONNREFUSED ::1:5432"), new Error("other")]), {
    code: "ECONNREFUSED",
  });
  const place = "The database app on db.example";
  const end = "check that it runs and what its address is";
  const reached = (error: Error) => toStoreError(error, place).message;
  assert.equal(reached(refused), `${place} cannot be reached (connect ECONNREFUSED ::1:5432): ${end}`);
  const silent = Object.assign(new Error(""), { code: "ECONNREFUSED" });
  assert.equal(reached(silent), `${place} cannot be reached (ECONNREFUSED): ${end}`);
});
