import assert from "node:assert/strict";
import { open, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { answer, call, temporaryTree, toolNamed } from "../../../support/app/tools/temporary-tree.ts";

test("a file is shown with its line numbers, whatever its line endings", async () => {
  await using tree = await temporaryTree({ "a.txt": "\ufeffone\r\ntwo\n\nvier — 漢😀" });
  assert.deepEqual(await call("read_file", { path: "a.txt" }, tree.path), {
    success: true,
    output: "1\tone\n2\ttwo\n3\t\n4\tvier — 漢😀",
    metadata: { path: "a.txt", lines: 4, truncated: false },
  });
});

test("a part of a file is shown with the way to continue", async () => {
  await using tree = await temporaryTree({ "a.txt": "1\n2\n3\n4\n5\n" });
  const read = (input: object) => answer("read_file", { path: "a.txt", ...input }, tree.path);
  assert.equal(
    await read({ offset: 2, limit: 2 }),
    "2\t2\n3\t3\n[lines 2 to 3 of a.txt, 10 bytes in all; continue with offset 4]",
  );
  assert.equal(await read({ offset: 4, limit: 2 }), "4\t4\n5\t5");
  assert.equal(await read({ offset: 6 }), "failed: a.txt has 5 lines; offset 6 is past its end.");
});

test("an empty file says that it is empty", async () => {
  await using tree = await temporaryTree({ empty: "" });
  assert.equal(await answer("read_file", { path: "empty" }, tree.path), "[the file is empty]");
});

test("a binary file is named as such and not shown", async () => {
  await using tree = await temporaryTree({ "a.bin": Uint8Array.of(0x89, 0x50, 0, 1, 2) });
  assert.equal(
    await answer("read_file", { path: "a.bin" }, tree.path),
    "failed: a.bin is a binary file of 5 bytes and cannot be read as text.",
  );
});

test("bytes that are not UTF-8 are replaced, and the answer stays well-formed", async () => {
  await using tree = await temporaryTree({ "a.txt": Uint8Array.of(0x61, 0xff, 0xc3, 0x0a, 0xed, 0xa0, 0x80) });
  const text = await answer("read_file", { path: "a.txt" }, tree.path);
  assert.ok(text.isWellFormed());
  assert.equal(text, "1\ta\ufffd\ufffd\n2\t\ufffd\ufffd\ufffd");
});

test("a long line is cut between characters and says how much is missing", async () => {
  await using tree = await temporaryTree({ "a.txt": `x${"😀".repeat(1000)}\nnext\n` });
  assert.equal(
    await answer("read_file", { path: "a.txt" }, tree.path),
    `1\tx${"😀".repeat(499)}… [2004 more bytes]\n2\tnext`,
  );
});

test("an answer is bounded, and reading on from where it ends gives the whole file", async () => {
  const lines = Array.from({ length: 5000 }, (_, index) => `line ${index + 1} ${"·".repeat(index % 40)}`);
  await using tree = await temporaryTree({ "a.txt": lines.join("\n") });
  const seen: string[] = [];
  for (let offset = 1; offset <= lines.length; ) {
    const { output, metadata } = await call("read_file", { path: "a.txt", offset }, tree.path);
    assert.ok(Buffer.byteLength(output) < 49 * 1024);
    const shown = output.split("\n").filter((line) => !line.startsWith("["));
    assert.equal(metadata?.lines, shown.length);
    seen.push(...shown.map((line) => line.slice(line.indexOf("\t") + 1)));
    offset += shown.length;
  }
  assert.deepEqual(seen, lines);
});

test("R12: a file of a gigabyte is read in less than 64 MB, and its beginning is shown", async () => {
  await using tree = await temporaryTree();
  const path = join(tree.path, "huge.txt");
  await writeFile(path, "first\nsecond\n");
  await truncate(path, 1024 ** 3);
  // A hole reads as NUL bytes: spaces at the beginning keep it from being taken for a binary file.
  await using file = await open(path, "r+");
  await file.write(" ".repeat(9000), 13);
  const before = process.memoryUsage().rss;
  assert.match(
    await answer("read_file", { path: "huge.txt", limit: 2 }, tree.path),
    /^1\tfirst\n2\tsecond\n\[lines 1 to 2/,
  );
  assert.equal(
    await answer("read_file", { path: "huge.txt", offset: 4 }, tree.path),
    "failed: Line 4 of huge.txt lies too far into the file. Use grep to find what you need.",
  );
  assert.ok(process.memoryUsage().rss - before < 64 * 1024 * 1024);
});

test("a stopped run stops the reading", async () => {
  await using tree = await temporaryTree({ "a.txt": "text" });
  const reason = new Error("stopped");
  await assert.rejects(call("read_file", { path: "a.txt" }, tree.path, AbortSignal.abort(reason)), reason);
});

test("A3: all four tools run freely and may run again", () => {
  assert.deepEqual(
    ["read_file", "list_files", "glob", "grep"]
      .map(toolNamed)
      .map(({ name, category, tier, effect }) => [name, category, tier, effect]),
    [
      ["read_file", "read", "observe", "read"],
      ["list_files", "search", "observe", "read"],
      ["glob", "search", "observe", "read"],
      ["grep", "search", "observe", "read"],
    ],
  );
});
