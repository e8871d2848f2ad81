import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { compileGlob } from "../../../src/core/glob.ts";

suite("a glob pattern", () => {
  const cases: [pattern: string, matching: string[], other: string[]][] = [
    ["*.ts", ["a.ts", "src/deep/b.ts", ".ts", "a.b.ts"], ["a.tsx", "ts"]],
    ["src/*.ts", ["src/a.ts"], ["a.ts", "src/deep/a.ts", "lib/src/a.ts"]],
    ["./src/*.ts", ["src/a.ts"], ["a.ts"]],
    ["/src/*.ts", ["src/a.ts"], ["lib/src/a.ts"]],
    ["src/**/*.ts", ["src/a.ts", "src/x/a.ts", "src/x/y/a.ts"], ["a.ts", "src/a.js", "lib/src/a.ts"]],
    ["**/test/**/a?.ts", ["test/ab.ts", "x/test/y/a1.ts"], ["test/a.ts", "tests/ab.ts"]],
    ["**/a/**/b/**/c", ["a/b/c", "x/a/y/b/z/c", "a/a/b/b/c/c"], ["a/c/b", "b/a/c"]],
    ["src/**", ["src/a", "src/x/y", "src/.hidden"], ["src", "lib/a"]],
    ["**", ["a", "a/b", ".c/d"], []],
    ["{a,b}/*.{ts,js}", ["a/x.ts", "b/y.js"], ["c/x.ts", "a/x.css", "a/x.{ts,js}"]],
    ["{a,{b,c}d}.ts", ["a.ts", "bd.ts", "cd.ts"], ["b.ts", "ad.ts"]],
    ["{a}.ts", ["{a}.ts"], ["a.ts"]],
    ["{a,b.ts", ["{a,b.ts"], ["a.ts"]],
    ["[a-c]?[!0-9].ts", ["bxx.ts", "a1z.ts"], ["dxx.ts", "ax1.ts"]],
    ["[]a].ts", ["].ts", "a.ts"], ["[].ts"]],
    ["[a-].ts", ["a.ts", "-.ts"], ["b.ts"]],
    ["[a.ts", ["[a.ts"], ["a.ts"]],
    ["\\*.ts", ["*.ts"], ["a.ts"]],
    ["\\{a,b\\}", ["{a,b}"], ["a"]],
    ["{a\\,b,c}", ["a,b", "c"], ["a", "b", "a\\,b"]],
    ["{a\\},b}", ["a}", "b"], ["a", "a\\", "a},b}"]],
    ["[\\]a]", ["]", "a"], ["\\", "\\]a]", "b"]],
    ["[\\a-c]", ["a", "b", "c"], ["\\", "d"]],
    ["[x-za-c]", ["x", "z", "a", "b", "c"], ["d", "w"]],
    ["[a-ed-g]", ["a", "e", "f", "g"], ["h"]],
    ["[a-gb-c]", ["a", "d", "g"], ["h"]],
    ["[a-cc-ee-g]", ["a", "c", "d", "g"], ["h"]],
    ["?", ["a", "漢", "😀"], ["ab", ""]],
    ["*a*b*c*", ["abc", "xaxbxcx"], ["acb"]],
  ];
  for (const [pattern, matching, other] of cases) {
    test(`the pattern ${pattern} matches what it should`, () => {
      const { matches } = compileGlob(pattern);
      assert.deepEqual([...matching, ...other].filter(matches), matching);
    });
  }

  test("a pattern that was made to be slow takes no longer", () => {
    const { matches } = compileGlob(`${"**/*a".repeat(60)}${"*a".repeat(200)}b`);
    assert.equal(matches(`${"a/".repeat(400)}${"a".repeat(4000)}`), false);
  });

  test("a glob pattern stands for a bounded number of patterns", () => {
    assert.throws(() => compileGlob("{a,b}".repeat(20)), /more than 256 patterns\. Use fewer\.$/);
  });

  test("a pattern knows which folders need not be entered", () => {
    const { mayMatchBelow } = compileGlob("{src,lib}/*/x/**/*.ts");
    const folders = [".", "src", "src/a", "src/a/x", "src/a/x/y", "test", "src/a/y", "lib"];
    assert.deepEqual(folders.filter(mayMatchBelow), [".", "src", "src/a", "src/a/x", "src/a/x/y", "lib"]);
  });
});

test("R16: a pattern that is large with all choices of its braces is refused", () => {
  const pattern = `*[${"b".repeat(900)}]*${"{,}".repeat(7)}`;
  assert.throws(() => compileGlob(`${"a*".repeat(400)}${"{,}".repeat(7)}`), /too large/);
  assert.equal(compileGlob(pattern).matches("abc"), true);
});
