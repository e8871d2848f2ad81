import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { suite, test } from "node:test";
import { answer, temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

suite("B5.1: a named pipe in the workspace", () => {
  test("a named pipe is refused at once instead of waiting for a writer, and a search passes over it", async () => {
    await using tree = await temporaryTree({ "src/inside.txt": "inside\n" });
    execFileSync("mkfifo", [join(tree.path, "pipe")]);
    const refusal = "failed: pipe is not a regular file (a device, pipe, socket or link) and is not opened.";
    assert.equal(await answer("read_file", { path: "pipe" }, tree.path), refusal);
    assert.equal(await answer("grep", { pattern: "x", path: "pipe" }, tree.path), refusal);
    assert.equal(await answer("grep", { pattern: "canary" }, tree.path), "No matches.");
    assert.equal(await answer("glob", { pattern: "**" }, tree.path), "src/inside.txt");
  });
});
