/** The patterns of JSON Schemas: what JavaScript means by them, in steps that grow with the text. The dialect of `grep` is in its own test. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { compileLinearPattern } from "../../src/core/linear-pattern.ts";

const TEXT = { isLiteral: false, ignoreCase: false, dialect: "text" } as const;

function isFound(pattern: string, text: string): boolean {
  return compileLinearPattern(pattern, TEXT).find(text, () => {}) !== -1;
}

function stepsOf(pattern: string, text: string): number {
  let steps = 0;
  compileLinearPattern(pattern, TEXT).find(text, (more) => {
    steps += more;
  });
  return steps;
}

suite("a pattern for a text", () => {
  test("agrees with the engine of the language, also about line ends and sets", () => {
    const atom = fc.constantFrom(
      "a",
      ".",
      "[^a]",
      "[\\s\\S]",
      "\\s",
      "\\S",
      "\\n",
      "^",
      "$",
      "\\b",
      "[a-z\\d]",
      "\\p{L}",
    );
    const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { maxDepth: 3 },
        fc.array(atom, { maxLength: 3 }).map((parts) => parts.join("")),
        fc
          .tuple(tie("pattern"), fc.constantFrom("", "*", "+?", "{2}", "{0,2}"), tie("pattern"))
          .map(([one, times, other]) => `(?:${one})${times}${other}`),
        fc.tuple(tie("pattern"), tie("pattern")).map(([one, other]) => `^(?:${one}|${other})$`),
      ),
    }));
    const character = fc.constantFrom("a", "b", "1", " ", "\n", "\r", "\u2028", "\u00a0", "é");
    fc.assert(
      fc.property(pattern, fc.array(character, { maxLength: 8 }), (one, characters) => {
        const text = characters.join("");
        assert.equal(isFound(one, text), new RegExp(one, "u").test(text), `/${one}/ in ${JSON.stringify(text)}`);
      }),
      { numRuns: 1000 },
    );
  });

  const slow = [
    "^(a+)+$",
    "(a|aa|a?)+$",
    "a*a*a*a*b$",
    "(.*a){20}$",
    "(a?){100}a{100}b",
    "(x+x+)+y",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(\\p{L}|[a-z])*1",
    "\\b(a*)*\\B1",
  ];
  for (const pattern of slow) {
    test(`${pattern} takes under 20 times the steps for 16 times the text`, () => {
      const [short, long] = [stepsOf(pattern, `${"a".repeat(300)}!`), stepsOf(pattern, `${"a".repeat(4800)}!`)];
      assert.ok(long < 20 * short, `${short} and ${long}`);
    });
  }

  test("that can match at the beginning only does not look at the rest", () => {
    assert.ok(stepsOf("^(b|c)+d", "a".repeat(100_000)) < 100);
    assert.equal(isFound("^(b|c)+d|^a", "a"), true);
    assert.equal(isFound("(^a|b)c", "bc"), true);
  });

  test("with a large set counts its members for characters outside ASCII", () => {
    const members = Array.from({ length: 500 }, (_, index) => String.fromCodePoint(0x4e00 + 2 * index)).join("");
    assert.ok(stepsOf(`[${members}]`, "é".repeat(1000)) > 500 * 1000);
    assert.ok(stepsOf(`[${members}]`, "e".repeat(1000)) < 10 * 1000);
  });

  test("a repetition may be lazy, and then matches the same texts", () => {
    for (const pattern of ["^a*?b$", "^a+?b$", "^a??b$", "^a{0,2}?b$", "^a{2}?b$"]) {
      for (const text of ["b", "ab", "aab", "aaab", "ac"])
        assert.equal(isFound(pattern, text), new RegExp(pattern).test(text), `${pattern} ${text}`);
    }
  });

  test("can be stopped while it searches", () => {
    const pattern = compileLinearPattern("(.?){900}[bc]$", TEXT);
    let calls = 0;
    const stop = (): void => {
      calls += 1;
      throw new Error("enough");
    };
    assert.throws(() => pattern.find("a".repeat(100_000), stop), /enough/);
    assert.equal(calls, 1);
  });
});

test("\\\\b in a set is a backspace, as in the language, and outside of one the edge of a word", () => {
  for (const [pattern, text] of [
    ["^[\\b]$", "\b"],
    ["^[\\b]$", "b"],
    ["^[\\ba]+$", "a\ba"],
    ["^[\\ba]+$", "ab"],
    ["^[\\b-\\n]$", "\t"],
    ["\\bb", "b"],
  ] as const)
    assert.equal(isFound(pattern, text), new RegExp(pattern).test(text), `${pattern} in ${JSON.stringify(text)}`);
});
