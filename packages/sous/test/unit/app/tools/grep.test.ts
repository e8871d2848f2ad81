import assert from "node:assert/strict";
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import fc from "fast-check";
import { compileLinearPattern } from "../../src/core/linear-pattern.ts";
import { UnusablePattern } from "../../src/core/pattern-syntax.ts";
import { answer, call, temporaryTree } from "./temporary-tree.ts";

const ignoreSteps = (): void => {};

/** Whether the pattern is found, and after how many characters the first match to end ends. */
function find(pattern: string, line: string, options: { isLiteral?: boolean; ignoreCase?: boolean } = {}): number {
  const compiled = compileLinearPattern(pattern, { isLiteral: false, ignoreCase: false, dialect: "lines", ...options });
  const end = compiled.find(line, ignoreSteps);
  if (end !== -1 && compiled.required !== undefined) assert.ok(line.includes(compiled.required));
  return end;
}

suite("a pattern of grep", () => {
  const cases: [pattern: string, line: string, end: number][] = [
    ["abc", "xxabcxx", 5],
    ["a.c", "abc", 3],
    [".", "😀", 2],
    ["^a", "ba", -1],
    ["a$", "ab", -1],
    ["^$", "", 0],
    ["", "abc", 0],
    ["a|bc|", "xbc", 0],
    ["(a|bc)d", "xbcd", 4],
    ["(?:a|b)+c", "ababc", 5],
    ["(?<name>a)", "a", 1],
    ["a{2}", "aba", -1],
    ["a{2,3}b", "aaab", 4],
    ["a{2,}b", "aaaaab", 6],
    ["a{,2}", "a{,2}", 5],
    ["{a}", "{a}", 3],
    ["x*?y", "xxy", 3],
    ["[a-cx]+$", "zabcx", 5],
    ["[^a-c]", "abcd", 4],
    ["[]]", "]", 1],
    ["[a\\]-]", "-", 1],
    ["[\\w.]+@", "a.b@c", 4],
    ["\\d\\D\\w\\W\\s\\S", "1a_- x", 6],
    ["\\bfoo\\b", "a foo.", 5],
    ["\\bfoo\\b", "afoo", -1],
    ["\\Bfoo", "afoo", 4],
    ["\\.\\*\\(", "a.*(", 4],
    ["\\x41\\u0042\\u{1F600}", "AB😀", 4],
    ["\\p{Lu}\\P{L}", "aÄ1", 3],
    ["\\t", "\t", 1],
    ["(a*)*b", "aaab", 4],
    ["(|a)+b", "aab", 3],
  ];
  for (const [pattern, line, end] of cases) {
    test(`${pattern} in ${JSON.stringify(line)}`, () => assert.equal(find(pattern, line), end));
  }

  test("can ignore case, or be plain text", () => {
    assert.equal(find("straße|[a-f]x", "STRASSE DX", { ignoreCase: true }), 10);
    assert.equal(find("ÄB", "äb", { ignoreCase: true }), 2);
    for (const pattern of ["[^a-z]", "[^A-Z]", "\\P{L}", "[^\\p{Lu}]"])
      assert.equal(find(pattern, "bB", { ignoreCase: true }), -1, `${pattern} is no letter in either case`);
    assert.equal(find("[^a-z]", "bB1", { ignoreCase: true }), 3);
    assert.equal(find("a.c(", "abc( a.c(", { isLiteral: true }), 9);
    assert.equal(find("A.C(", "abc( a.c(", { isLiteral: true, ignoreCase: true }), 9);
  });

  const refused: [pattern: string, message: RegExp][] = [
    ["a(?=b)", /look-around and flags are not supported, at character 2\./],
    ["(a)\\1", /back-references are not supported, at character 5/],
    ["(a", /a "\(" is not closed, at character 1/],
    ["a)", /there is a "\)" without a "\("/],
    ["[a", /a "\[" is not closed/],
    ["*a", /"\*" has nothing to repeat/],
    ["a**", /a repetition cannot be repeated/],
    ["^*", /an anchor cannot be repeated/],
    ["[z-a]", /a range is out of order/],
    ["[\\d-z]", /a range needs a character at both ends/],
    ["\\q", /"\\q" has no meaning here/],
    ["a\\", /there is nothing after the last/],
    ["\\p{Nope}", /"\\p" needs a property of Unicode/],
    ["\\u{110000}", /"\\u" needs the number of a character/],
    ["a{3,2}", /a repetition counts from 0 to 1000/],
    ["a{5000}", /a repetition counts from 0 to 1000/],
    ["((a{50}){50}){50}", /The pattern is too large\. Use fewer or smaller repetitions\./],
    ["(".repeat(60) + ")".repeat(60), /groups are nested too deeply/],
  ];
  for (const [pattern, message] of refused) {
    test(`${pattern.slice(0, 20)} is refused with a sentence`, () => {
      assert.throws(
        () => find(pattern, ""),
        (error) => error instanceof UnusablePattern && message.test(error.message),
      );
    });
  }

  test("agrees with the engine of the language about every pattern and line", () => {
    const atom = fc.constantFrom(
      "a",
      "b",
      ".",
      "[ab]",
      "[^a]",
      "\\w",
      "\\W",
      "\\d",
      "\\s",
      "^",
      "$",
      "\\b",
      "\\B",
      "é",
      "😀",
    );
    const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
      pattern: fc.array(tie("part"), { maxLength: 3 }).map((parts) => parts.join("")),
      part: fc.oneof(
        { maxDepth: 2 },
        atom,
        fc
          .tuple(tie("pattern"), fc.constantFrom("", "*", "+", "?", "{2}", "{1,3}", "{0,}", "*?"))
          .map(([inner, times]) => `(${inner})${times}`),
        fc.tuple(tie("pattern"), tie("pattern")).map(([one, other]) => `(?:${one}|${other})`),
      ),
    }));
    // No character beyond the basic plane: there V8 finds \B between the halves of a pair.
    const line = fc.array(fc.constantFrom("a", "b", "1", " ", "_", "é"), { maxLength: 8 }).map((all) => all.join(""));
    fc.assert(
      fc.property(pattern, line, (one, text) => {
        assert.equal(find(one, text) !== -1, new RegExp(one, "u").test(text), `/${one}/ in ${JSON.stringify(text)}`);
      }),
      { numRuns: 1000 },
    );
  });

  test("takes time in proportion to the line, also for patterns made to be slow", () => {
    for (const pattern of ["(a+)+$", "(a|aa)+$", "(.*a){20}$", "(a?){100}a{100}$", "(x+x+)+y", "((){1000}){1000}b"]) {
      const compiled = compileLinearPattern(pattern, { isLiteral: false, ignoreCase: false, dialect: "lines" });
      let steps = 0;
      assert.equal(
        compiled.find(`${"a".repeat(2000)}!`, (taken) => {
          steps += taken;
        }),
        -1,
      );
      assert.ok(steps < 2_000_000, `${pattern} took ${steps}`);
    }
  });
});

suite("the grep tool", () => {
  test("answers with file:line:text in the order of the names", async () => {
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

  test("refuses a pattern that it does not understand, and says what to do", async () => {
    await using tree = await temporaryTree({ "a.ts": "a\n" });
    const said = await answer("grep", { pattern: "a(?=b)" }, tree.path);
    assert.match(said, /^failed: .*look-around .* at character 2\. Change it, or set literal to true/);
  });

  test("shows a bounded number of matches and says so", async () => {
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

  test("a pattern that takes too long ends with what was found so far", async () => {
    await using tree = await temporaryTree({ "a.txt": `found b\n${`${"a".repeat(16_000)}\n`.repeat(40)}` });
    const output = await answer("grep", { pattern: "(.?){240}[b]" }, tree.path);
    assert.equal(
      output,
      "a.txt:1:found b\n[the pattern takes too long to search for; make it simpler, or give a path or a glob]",
    );
  });

  test("of a very long file the first 64 MiB are searched, and the answer says so", async () => {
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
