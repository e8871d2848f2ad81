import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { answer, call, temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

suite("the glob tool", () => {
  test("glob answers with sorted paths from the top, also when it looks in one folder", async () => {
    await using tree = await temporaryTree({ "b.ts": "", "a/z.ts": "", "a/b/c.ts": "", "a.ts": "", "a/x.js": "" });
    assert.deepEqual(await call("glob", { pattern: "*.ts" }, tree.path), {
      success: true,
      output: "a/b/c.ts\na/z.ts\na.ts\nb.ts",
      metadata: { pattern: "*.ts", files: 4, truncated: false },
    });
    assert.equal(await answer("glob", { pattern: "b/*.ts", path: "a" }, tree.path), "a/b/c.ts");
  });

  test("glob leaves out what .gitignore names, as git does", async () => {
    await using tree = await temporaryTree({
      ".gitignore":
        "# a comment\n*.log\n!keep.log\n/top.txt\nbuild/\ndocs/*.html\n**/deep/*.tmp\nlogs/**\n\\#odd\ntrailing   \n!/a/\n",
      "a/.gitignore": "!own.log\nlocal\n",
      "a/own.log": "",
      "a/other.log": "",
      "a/local": "",
      "a/top.txt": "",
      "b/local": "",
      "b/build/x": "",
      "b/docs/page.html": "",
      "build.txt": "",
      "docs/page.html": "",
      "docs/sub/page.html": "",
      "keep.log": "",
      "logs/x/y": "",
      "top.txt": "",
      trailing: "",
      "x/deep/a.tmp": "",
      "#odd": "",
      "z/build": "",
      ".git/config": "",
      "node_modules/zod/index.js": "",
    });
    const expected = [
      ".gitignore",
      "a/.gitignore",
      "a/own.log",
      "a/top.txt",
      "b/docs/page.html",
      "b/local",
      "build.txt",
      "docs/sub/page.html",
      "keep.log",
      "z/build",
    ];
    assert.equal(await answer("glob", { pattern: "**" }, tree.path), expected.join("\n"));
    assert.equal(await answer("glob", { pattern: "**", path: "a" }, tree.path), expected.slice(1, 4).join("\n"));
    assert.match(
      await answer("glob", { pattern: "*.log", include_ignored: true }, tree.path),
      /^a\/other\.log\na\/own\.log\nkeep\.log$/,
    );
    assert.equal(
      await answer("glob", { pattern: "*.js", include_ignored: true }, tree.path),
      "node_modules/zod/index.js",
    );
    assert.equal(
      await answer("glob", { pattern: "*.js" }, tree.path),
      "No files match. node_modules and what .gitignore names were left out: set include_ignored to look there.",
    );
  });

  test("the rules of every folder above the one that is asked for hold in it", async () => {
    await using tree = await temporaryTree({
      ".gitignore": "*.log\n",
      "a/.gitignore": "*.tmp\n",
      "a/b/.gitignore": "*.bak\n",
      "a/b/c/.gitignore": "*.own\n",
      ...Object.fromEntries(["log", "tmp", "bak", "own", "txt"].map((end) => [`a/b/c/x.${end}`, ""])),
    });
    assert.equal(await answer("glob", { pattern: "x.*", path: "a/b/c" }, tree.path), "a/b/c/x.txt");
    assert.equal(await answer("glob", { pattern: "x.*", path: "a/b" }, tree.path), "a/b/c/x.txt");
  });

  test("glob shows a bounded number of files and says so", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 1005 }, (_, index) => [`f${String(index).padStart(4, "0")}`, ""]),
    );
    await using tree = await temporaryTree(files);
    const lines = (await answer("glob", { pattern: "f*" }, tree.path)).split("\n");
    assert.deepEqual(
      [lines.length, lines[0], lines[999], lines[1000]],
      [1001, "f0000", "f0999", "[only the first 1000 files are shown; use a narrower pattern or a path]"],
    );
  });

  test("a name that holds a line break is one line", async () => {
    await using tree = await temporaryTree({ "a\nb\u001b[31m.ts": "" });
    assert.equal(await answer("glob", { pattern: "*" }, tree.path), "a\ufffdb\ufffd[31m.ts");
  });

  test("a stopped run stops the walk", async () => {
    await using tree = await temporaryTree({ "a.ts": "" });
    const reason = new Error("stopped");
    await assert.rejects(call("glob", { pattern: "*" }, tree.path, AbortSignal.abort(reason)), reason);
  });
});

test("list_files shows one folder, and what each name is", async () => {
  await using tree = await temporaryTree({ "b.txt": "", "a/inner.txt": "", ".env": "", "empty/": "" });
  await symlink("b.txt", join(tree.path, "link"));
  assert.deepEqual(await call("list_files", {}, tree.path), {
    success: true,
    output: ".env\na/\nb.txt\nempty/\nlink@",
    metadata: { path: ".", files: 5, truncated: false },
  });
  assert.equal(await answer("list_files", { path: "a" }, tree.path), "inner.txt");
  assert.equal(await answer("list_files", { path: "empty" }, tree.path), "[the folder is empty]");
});
