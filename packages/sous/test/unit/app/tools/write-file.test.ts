import assert from "node:assert/strict";
import { chmod, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { writeFileTool } from "../../../../src/app/tools/edit-file.ts";
import { contextIn, temporaryTree } from "../../../support/app/tools/temporary-tree.ts";
import { contentsOf, edit, write } from "../../../support/app/tools/write-tools.ts";

suite("H6: write_file", () => {
  test("H6: write_file makes a file and the folders on the way, and says what it holds", async () => {
    await using tree = await temporaryTree();
    const content = "one\ntwo é";
    assert.equal(await write({ path: "a/b/new.txt", content }, tree.path), "Created a/b/new.txt: 2 lines, 10 bytes.");
    assert.deepEqual(await contentsOf(tree.path), { a: "folder", "a/b": "folder", "a/b/new.txt": content });
  });

  test("H6: write_file replaces a file in one step, keeps its mode and leaves nothing beside it", async () => {
    await using tree = await temporaryTree({ "run.sh": "old\n" });
    await chmod(join(tree.path, "run.sh"), 0o751);
    const answer = await write({ path: "run.sh", content: "new\n" }, tree.path);
    assert.equal(answer, "Replaced run.sh: 1 lines, 4 bytes; before it had 4 bytes.");
    assert.equal((await stat(join(tree.path, "run.sh"))).mode & 0o777, 0o751);
    assert.deepEqual(await contentsOf(tree.path), { "run.sh": "new\n" });
  });

  test("H6: a new file has the mode that the system gives new files", async () => {
    await using tree = await temporaryTree({ plain: "" });
    await write({ path: "new", content: "" }, tree.path);
    const [plain, made] = await Promise.all(["plain", "new"].map((name) => stat(join(tree.path, name))));
    assert.equal(made?.mode, plain?.mode);
  });

  test("H6: write_file refuses too much and half characters, and changes nothing", async () => {
    await using tree = await temporaryTree({ a: "old" });
    assert.match(await write({ path: "a", content: "x".repeat(5 * 1024 * 1024 + 1) }, tree.path), /^failed: .*at most/);
    assert.match(await write({ path: "a", content: "\ud83d" }, tree.path), /^failed: .*half of a character/);
    assert.deepEqual(await contentsOf(tree.path), { a: "old" });
  });

  test("H6: a call that is stopped leaves the old file and no draft", async () => {
    await using tree = await temporaryTree({ a: "old" });
    const context = contextIn(tree.path, AbortSignal.abort(new Error("stopped")));
    await assert.rejects(async () => writeFileTool().execute({ path: "a", content: "new" }, context), /stopped/);
    assert.deepEqual(await contentsOf(tree.path), { a: "old" });
  });

  test("H6: writes to one file at once leave one of them whole", async () => {
    await using tree = await temporaryTree({ a: "old" });
    const contents = Array.from({ length: 20 }, (_, index) => `${index}`.repeat(50_000));
    const answers = await Promise.all(contents.map((content) => write({ path: "a", content }, tree.path)));
    assert.ok(answers.some((answer) => answer.startsWith("Replaced")));
    for (const answer of answers) assert.match(answer, /^Replaced|^failed: .*(changed by another program|is gone)/);
    assert.ok(contents.includes(await readFile(join(tree.path, "a"), "utf8")));
    assert.deepEqual(await readdir(tree.path), ["a"]);
  });

  test("H6: a workspace of its own is used whatever the working directory is", async () => {
    await using tree = await temporaryTree({ "work/": "", "other/": "" });
    await write({ path: "a", content: "" }, join(tree.path, "other"), { root: join(tree.path, "work") });
    assert.deepEqual(Object.keys(await contentsOf(tree.path)).sort(), ["other", "work", "work/a"]);
  });
});

suite("H6: edit_file", () => {
  test("H6: edit_file replaces the one place and shows what changed", async () => {
    await using tree = await temporaryTree({ a: "1\n2\n3\nold\n5\n6\n7\n" });
    const answer = await edit({ path: "a", old: "old\n", new: "new\nnewer\n" }, tree.path);
    assert.equal(answer, "Edited a in 1 place.\n@@ -2,5 +2,6 @@\n 2\n 3\n-old\n+new\n+newer\n 5\n 6");
    assert.equal(await readFile(join(tree.path, "a"), "utf8"), "1\n2\n3\nnew\nnewer\n5\n6\n7\n");
  });

  test("H6: edit_file replaces every place when asked to, and shows them apart", async () => {
    await using tree = await temporaryTree({ a: "x\n1\n2\n3\n4\n5\n6\nx\n" });
    const answer = await edit({ path: "a", old: "x", new: "y", all: true }, tree.path);
    assert.equal(answer, "Edited a in 2 places.\n@@ -1,3 +1,3 @@\n-x\n+y\n 1\n 2\n@@ -6,3 +6,3 @@\n 5\n 6\n-x\n+y");
    assert.equal(await readFile(join(tree.path, "a"), "utf8"), "y\n1\n2\n3\n4\n5\n6\ny\n");
  });

  const NOT_SHOWN = "[the rest of the change is not shown]";

  test("H6: edit_file shows the beginning of one large change, and that there is more", async () => {
    const line = (letter: string): string => `${letter.repeat(99)}\n`;
    await using tree = await temporaryTree({ a: line("a").repeat(60), small: line("a").repeat(40) });
    const shown = await edit({ path: "a", old: line("a").repeat(60), new: line("b").repeat(60) }, tree.path);
    const head = `@@ -1,60 +1,60 @@\n${`-${line("a")}`.repeat(60)}${`+${line("b")}`.repeat(60)}`.slice(0, 8192);
    assert.equal(shown, `Edited a in 1 place.\n${head}\n${NOT_SHOWN}`);
    const whole = await edit({ path: "small", old: line("a").repeat(40), new: line("b").repeat(40) }, tree.path);
    assert.ok(!whole.includes(NOT_SHOWN) && whole.endsWith(`+${"b".repeat(99)}`));
  });

  test("H6: edit_file shows those of many changes that fit whole, and that there are more", async () => {
    await using tree = await temporaryTree({ a: `x\n${"-\n".repeat(9)}`.repeat(400) });
    const shown = (await edit({ path: "a", old: "x", new: "y", all: true }, tree.path)).split("\n");
    assert.equal(shown[0], "Edited a in 400 places.");
    assert.equal(shown.at(-1), NOT_SHOWN);
    assert.deepEqual(shown.slice(-8, -1), [shown.at(-8), " -", " -", "-x", "+y", " -", " -"]);
    assert.match(shown.at(-8) ?? "", /^@@ -\d+,5 \+\d+,5 @@$/);
    const bytes = Buffer.byteLength(shown.slice(1, -1).join("\n"));
    assert.ok(bytes > 8100 && bytes <= 8192 + 400, `${bytes}`);
  });

  test("H6: edit_file says of more than two thousand changes in one line that not all are shown", async () => {
    await using tree = await temporaryTree({ many: "x".repeat(2001), fewer: "x".repeat(2000) });
    const many = await edit({ path: "many", old: "x", new: "y", all: true }, tree.path);
    assert.match(many, /^Edited many in 2001 places\.\n@@ -1,1 \+1,1 @@\n-x+….*\n\+y+….*\n/);
    assert.ok(many.endsWith(`\n${NOT_SHOWN}`), many);
    const fewer = await edit({ path: "fewer", old: "x", new: "y", all: true }, tree.path);
    assert.ok(!fewer.includes(NOT_SHOWN), fewer);
    assert.equal(await readFile(join(tree.path, "many"), "utf8"), "y".repeat(2001));
  });

  test("H6: edit_file names the lines when there is more than one place, also when they overlap", async () => {
    await using tree = await temporaryTree({ a: "x\n\nx x\n", b: "aaa" });
    assert.match(
      await edit({ path: "a", old: "x", new: "y" }, tree.path),
      /occurs 3 times in a, at the lines 1, 3, 3\. Give/,
    );
    assert.match(await edit({ path: "b", old: "aa", new: "y" }, tree.path), /occurs 2 times in b, at the lines 1, 1\./);
    assert.deepEqual(await contentsOf(tree.path), { a: "x\n\nx x\n", b: "aaa" });
  });

  test("H6: a text that begins with the end of a line is named by that line", async () => {
    await using tree = await temporaryTree({ a: "1\nx\n3\nx\n", b: "1\n2\ny\n\ny\n" });
    assert.match(await edit({ path: "a", old: "\nx", new: "" }, tree.path), /at the lines 1, 3\. Give/);
    assert.match(await edit({ path: "b", old: "\nx", new: "\ny" }, tree.path), /already there, at line 2: perhaps/);
  });

  test("H6: edit_file names the first twenty of many places, and counts the others", async () => {
    await using tree = await temporaryTree({ twenty: "x\n".repeat(20), more: "x\n".repeat(23) });
    const lines = Array.from({ length: 20 }, (_, index) => index + 1).join(", ");
    const said = async (path: string) => (await edit({ path, old: "x", new: "y" }, tree.path)).split(". ")[0];
    assert.equal(await said("twenty"), `failed: The old text occurs 20 times in twenty, at the lines ${lines}`);
    assert.equal(await said("more"), `failed: The old text occurs 23 times in more, at the lines ${lines} and 3 more`);
  });

  test("H6: places that overlap the one before stay when all is set", async () => {
    await using tree = await temporaryTree({ a: "aaa aa" });
    assert.match(await edit({ path: "a", old: "aa", new: "b", all: true }, tree.path), /^Edited a in 2 places\./);
    assert.deepEqual(await contentsOf(tree.path), { a: "ba b" });
  });

  test("H6: a text that is part of the new one in one place and not in another is not taken for done", async () => {
    await using tree = await temporaryTree({ a: "xy\nx\n" });
    assert.match(await edit({ path: "a", old: "x", new: "xy" }, tree.path), /occurs 2 times in a, at the lines 1, 2\./);
  });

  test("H6: line endings stay as they are in the file, whatever the model writes", async () => {
    await using tree = await temporaryTree({ crlf: "a\r\nb\r\nc\r\n", mixed: "a\r\nb\nc\nd\r\n", lf: "a\nb\n" });
    await edit({ path: "crlf", old: "a\nb", new: "x\ny\nz" }, tree.path);
    await edit({ path: "mixed", old: "b\nc", new: "x\ny" }, tree.path);
    await edit({ path: "lf", old: "a\r\nb", new: "x\r\ny" }, tree.path);
    assert.deepEqual(await contentsOf(tree.path), {
      crlf: "x\r\ny\r\nz\r\nc\r\n",
      mixed: "a\r\nx\ny\nd\r\n",
      lf: "x\ny\n",
    });
  });

  test("H6: a byte order mark and a missing last line end stay", async () => {
    await using tree = await temporaryTree({ a: "\ufeffone\ntwo" });
    await edit({ path: "a", old: "one", new: "1" }, tree.path);
    await edit({ path: "a", old: "two", new: "2" }, tree.path);
    assert.deepEqual(await contentsOf(tree.path), { a: "\ufeff1\n2" });
  });

  test("H6: patterns of replacement are plain text", async () => {
    await using tree = await temporaryTree({ a: "cost" });
    await edit({ path: "a", old: "cost", new: "$& $1 $`" }, tree.path);
    assert.deepEqual(await contentsOf(tree.path), { a: "$& $1 $`" });
  });

  test("H6: more than 100,000 places are not changed at once, and a text that overlaps itself is found in bounded time", async () => {
    await using tree = await temporaryTree({ many: "a\n".repeat(100_001), long: "ab".repeat(500_000) });
    const many = await edit({ path: "many", old: "a", new: "b", all: true }, tree.path);
    assert.match(many, /^failed: The old text occurs 100001 times in many, and at most 100000 are replaced/);
    const long = await edit({ path: "long", old: "ba".repeat(50_000), new: "c" }, tree.path);
    assert.match(long, /^failed: The old text occurs 450000 times in long/);
  });

  test("H6: binary files and other encodings are not damaged", async () => {
    await using tree = await temporaryTree({ binary: "a\0b", latin: Buffer.from("caf\xe9", "latin1") });
    assert.match(await edit({ path: "binary", old: "a", new: "b" }, tree.path), /^failed: binary is a binary file/);
    assert.match(await edit({ path: "latin", old: "caf", new: "b" }, tree.path), /^failed: latin is not UTF-8/);
  });

  const near: [what: string, file: string, old: string, says: RegExp][] = [
    [
      "tabs for spaces",
      "if (a) {\n\treturn 1;\n}\n",
      "if (a) {\n    return 1;",
      /only in white space: line 2 begins with 1 tab, the old text with 4 spaces:\n1\tif \(a\) \{\n2\t\treturn 1;$/,
    ],
    [
      "spaces at the end",
      "first = 1;  \nsecond = 2;\n",
      "first = 1;\nsecond = 2;",
      /only in white space: line 1 ends with 2 spaces, the old text with none:\n1\tfirst = 1; {2}\n2\tsecond = 2;$/,
    ],
    ["a line end that is not there", "alpha", "alpha\n", /only in white space:\n1\talpha$/],
    ["blanks inside", "a  =  1\n", "a = 1", /only in white space: inside line 1:\n1\ta {2}= {2}1$/],
    [
      "a changed word",
      "x\nconst total = add(first, second);\n",
      "const total = sum(first, second);",
      /The most similar lines are:\n2\tconst total = add\(first, second\);$/,
    ],
    ["line numbers", "alpha\nbeta\n", "1\talpha\n2\tbeta", /leave out the number and the tab/],
    ["nothing alike", "alpha\n", "something else entirely", /Nothing in the file is like it\. Read the file again\.$/],
  ];
  test("H6: lines are the same but for white space only if all of them are, also where the first ones come twice", async () => {
    const said = async (a: string, old: string) => {
      await using tree = await temporaryTree({ a });
      return (await edit({ path: "a", old, new: "" }, tree.path)).includes("only in white space");
    };
    assert.equal(await said(" one\n two\n two\n three\n", "one\ntwo\nthree"), false);
    assert.equal(await said(" one\n two\n one\n two\n three\n", "one\ntwo\nthree"), true);
    assert.equal(await said(" one\n one\n two\n", "one\none\none\ntwo"), false);
    assert.equal(await said(" one\n one\n one\n two\n", "one\none\ntwo"), true);
  });

  test("H6: a line that has only a few letters in common is not called near", async () => {
    await using tree = await temporaryTree({ a: "const total = price * count;\nexport default total;\n" });
    const said = await edit({ path: "a", old: "function restart(port) {", new: "" }, tree.path);
    assert.equal(said, "failed: The old text is not in a. Nothing in the file is like it. Read the file again.");
  });

  for (const [what, file, old, says] of near) {
    test(`H6: edit_file says what is near when the old text is not there: ${what}`, async () => {
      await using tree = await temporaryTree({ a: file });
      assert.match(await edit({ path: "a", old, new: "" }, tree.path), says);
      assert.deepEqual(await contentsOf(tree.path), { a: file });
    });
  }

  test("H6: the same edit made again changes nothing, so that a call may be repeated after a crash", async () => {
    await using tree = await temporaryTree({ a: "call(one)\n", b: "old\n", c: "x = 1\nx = 2\n" });
    const edits = [
      { path: "a", old: "call(", new: "call(first, " },
      { path: "b", old: "old", new: "new" },
      { path: "c", old: "x", new: "xx", all: true },
    ];
    for (const each of edits) assert.match(await edit(each, tree.path), /^Edited/);
    const whole = await contentsOf(tree.path);
    for (const each of edits) assert.match(await edit(each, tree.path), /^failed: .*the new text is already there/i);
    assert.deepEqual(await contentsOf(tree.path), whole);
  });

  test("H6: a file that is not there is not made", async () => {
    await using tree = await temporaryTree();
    assert.match(await edit({ path: "a/b", old: "x", new: "y" }, tree.path), /^failed: No file at a\/b\./);
    assert.match(
      await edit({ path: "a", old: "x", new: "x" }, tree.path),
      /^failed: The old and the new text are the same/,
    );
    assert.deepEqual(await contentsOf(tree.path), {});
  });
});

test("B4: a protected file is named as such before anything is looked for, also where its folder is not there", async () => {
  await using tree = await temporaryTree({ "a.txt": "a" });
  for (const path of [".git/config", ".git/hooks/pre-commit"]) {
    assert.match(await edit({ path, old: "a", new: "b" }, tree.path), /is not written: /, path);
  }
});
