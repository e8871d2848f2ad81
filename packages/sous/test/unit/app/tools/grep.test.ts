import assert from "node:assert/strict";
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { grepTool } from "../../../../src/app/tools/grep.ts";
import { answer, call, temporaryTree } from "../../../support/app/tools/temporary-tree.ts";
import { answerOf } from "../../../support/app/tools/write-tools.ts";

suite("the grep tool", () => {
  test("grep answers with file:line:text in the order of the names", async () => {
    await using tree = await temporaryTree({
      "b.ts": "const one = 1;\r\nconst two = 2;\n",
      "a/c.ts": "\n\n  const three = 3;",
      "a/d.md": "const in prose",
      ".gitignore": "skipped.ts",
      "skipped.ts": "const four = 4;",
      "a/binary.ts": Uint8Array.of(99, 111, 110, 115, 116, 0, 1),
    });
    assert.deepEqual(await call("grep", { pattern: "const \\w+ =" }, tree.path), {
      success: true,
      output: "a/c.ts:3:  const three = 3;\nb.ts:1:const one = 1;\nb.ts:2:const two = 2;",
      metadata: { pattern: "const \\w+ =", matches: 3, files: 2, truncated: false },
    });
    const found = {
      glob: await answer("grep", { pattern: "const", glob: "*.md" }, tree.path),
      path: await answer("grep", { pattern: "const", path: "a" }, tree.path),
      file: await answer("grep", { pattern: "ONE", path: "b.ts", ignore_case: true }, tree.path),
      ignored: await answer("grep", { pattern: "four", include_ignored: true }, tree.path),
      named: await answer("grep", { pattern: "four", path: "skipped.ts" }, tree.path),
      binary: await answer("grep", { pattern: "const", path: "a/binary.ts" }, tree.path),
      none: await answer("grep", { pattern: "five" }, tree.path),
      missing: await answer("grep", { pattern: "five", path: "lib" }, tree.path),
    };
    assert.deepEqual(found, {
      glob: "a/d.md:1:const in prose",
      path: "a/c.ts:3:  const three = 3;\na/d.md:1:const in prose",
      file: "b.ts:1:const one = 1;",
      ignored: "skipped.ts:1:const four = 4;",
      named: "skipped.ts:1:const four = 4;",
      binary: "No matches.\n[a/binary.ts is a binary file and was not searched]",
      none: "No matches.",
      missing: "failed: No folder at lib. Use list_files on its parent to see the names.",
    });
  });

  test("grep refuses a pattern that it does not understand, and says what to do", async () => {
    await using tree = await temporaryTree({ "a.ts": "a\n" });
    const said = await answer("grep", { pattern: "a(?=b)" }, tree.path);
    assert.match(said, /^failed: .*look-around .* at character 2\. Change it, or set literal to true/);
  });

  test("grep shows a bounded number of matches and says so", async () => {
    await using tree = await temporaryTree({ "a.txt": "x\n".repeat(500) });
    const { output, metadata } = await call("grep", { pattern: "x", limit: 2 }, tree.path);
    assert.equal(
      output,
      "a.txt:1:x\na.txt:2:x\n[only the first 2 matches are shown; make the pattern narrower or give a path]",
    );
    assert.deepEqual(metadata, { pattern: "x", matches: 2, files: 1, truncated: true });
    const unlimited = await answer("grep", { pattern: "x" }, tree.path);
    assert.equal(unlimited.split("\n").length, 201);
  });

  test("an answer of long lines is bounded in bytes too", async () => {
    await using tree = await temporaryTree({ "a.txt": `${"needle ".repeat(60)}\n`.repeat(1000) });
    const output = await answer("grep", { pattern: "needle", limit: 1000 }, tree.path);
    assert.ok(Buffer.byteLength(output) < 49 * 1024);
    assert.match(output, /\[only the first \d+ matches are shown/);
  });

  test("a long line is shown where the match ends, between characters", async () => {
    await using tree = await temporaryTree({ "a.txt": `${"😀".repeat(300)}needle${"é".repeat(500)}` });
    const output = await answer("grep", { pattern: "needle" }, tree.path);
    assert.equal(output, `a.txt:1:…${"😀".repeat(73)}needle${"é".repeat(51)}…`);
  });

  test("a line without an end is searched in its beginning and says so", async () => {
    await using tree = await temporaryTree({ "a.txt": `needle${"x".repeat(20_000)}needle2` });
    assert.match(
      await answer("grep", { pattern: "needle" }, tree.path),
      /^a\.txt:1:needlex+…\n\[1 lines are longer than 16384 bytes; only their beginning was searched\]$/,
    );
    assert.equal(
      await answer("grep", { pattern: "needle2" }, tree.path),
      "No matches.\n[1 lines are longer than 16384 bytes; only their beginning was searched]",
    );
  });

  test("a pattern that takes more than a second ends with what was found so far", async () => {
    await using tree = await temporaryTree({ "a.txt": "found b\nfound b\nnot searched: b\n" });
    let milliseconds = 0;
    const slowly = (): number => {
      milliseconds += 501;
      return milliseconds;
    };
    assert.equal(
      await answerOf(grepTool(undefined, undefined, slowly), { pattern: "found|not" }, tree.path),
      "a.txt:1:found b\na.txt:2:found b\n[the pattern takes too long to search for; make it simpler, or give a path or a glob]",
    );
  });

  test("grep searches the first 64 MiB of a very long file, and the answer says so", async () => {
    await using tree = await temporaryTree({ "long.txt": `needle\n${"x".repeat(8000)}\n`, "whole.txt": "needle\n" });
    const longest = 64 * 1024 * 1024;
    // Behind its beginning the file is a hole.
    await truncate(join(tree.path, "long.txt"), longest + 1);
    const notice = `[only the first ${longest} bytes of long.txt were searched]`;
    assert.equal(
      await answer("grep", { pattern: "needle" }, tree.path),
      `long.txt:1:needle\nwhole.txt:1:needle\n${notice}`,
    );
  });

  test("a stopped run stops the search", async () => {
    await using tree = await temporaryTree({ "a.txt": "x" });
    const reason = new Error("stopped");
    await assert.rejects(call("grep", { pattern: "x" }, tree.path, AbortSignal.abort(reason)), reason);
  });
});
