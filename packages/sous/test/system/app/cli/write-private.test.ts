/** A private file is written whole or not at all: what fails leaves nothing behind. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { writePrivate } from "../../../../src/app/cli/files/file-access.ts";
import { sous } from "../../../support/app/cli/sous-process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

test("B8.1: a file that is replaced is private, and no draft of it is left", async () => {
  await using tree = await temporaryTree({ "notes.md": "old" });
  const file = join(tree.path, "notes.md");
  await writePrivate(file, "new", true);
  assert.deepEqual([await readFile(file, "utf8"), await readdir(tree.path)], ["new", ["notes.md"]]);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
});

test("a folder in the place of the file stays as it is, and no draft is left beside it", async () => {
  await using tree = await temporaryTree({ "folder/kept.md": "kept" });
  const folder = join(tree.path, "folder");
  await assert.rejects(writePrivate(folder, "new", true), {
    name: "CommandError",
    message: /folder cannot be written: /,
  });
  assert.deepEqual([await readdir(tree.path), await readdir(folder)], [["folder"], ["kept.md"]]);
});

test("a file for which the disk has no room is not left there, empty", async () => {
  await using tree = await temporaryTree({ "work/": "" });
  const env = { HOME: tree.path };
  const { code, stdout, stderr } = await sous(["agents", "new", "scout", "--user"], {
    cwd: join(tree.path, "work"),
    env,
    maxFileKb: 0,
  });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^error: .*scout\.md cannot be written: EFBIG/);
  assert.deepEqual(
    [existsSync(join(tree.path, ".config/sous/agents")), await readdir(join(tree.path, ".config/sous/agents"))],
    [true, []],
  );
});
