/** Patterns of `grep` and of JSON Schemas: what they find, what is refused, and how long they take at most. */

import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import fc from "fast-check";
import { loadPatternEngine, Pattern, type PatternOptions } from "../../../src/core/pattern.ts";
import { UnusablePattern } from "../../../src/core/pattern-syntax.ts";
import { assertGolden } from "../../support/app/cli/golden.ts";

const TEXTS: readonly string[] = [
  ...["", "a", "b", "A", "1", "_", " ", "é", "😀", "ж", "Ж", "\n", "\t", "\u00a0", "\u2028", "\ufeff", "\b", "\0"],
  ...[
    "ab",
    "ba",
    "aab",
    "abab",
    "aaaab",
    "a b",
    "a\nb",
    "a\r",
    "x1y2",
    "foo",
    "a foo.",
    "afoo",
    "foo_bar",
    "{a}",
    "a{,2}",
  ],
  ...[
    "a.c",
    "abc",
    "[a]",
    "-",
    "]",
    "^$",
    "\\",
    "a-b",
    "AB😀",
    "aÄ1",
    "αβγ",
    "2024-02-29",
    "user@example.com",
    "v1.2.3",
  ],
  ...[
    "const one = 1;",
    "  return value;",
    "https://example.com/a?b=c",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
    "error: E404",
  ],
];

const PATTERNS: readonly string[] = [
  ...["", "a", "abc", "a.c", ".", "..", "^a", "a$", "^$", "^", "$", "a|b", "a|", "|a", "a|bc|", "(a|b)c", "(?:a|b)+c"],
  ...[
    "(?<name>a)b",
    "(?<name>a)(?<name>b)",
    "()",
    "()*a",
    "(|a)+b",
    "(a*)*b",
    "(a+)+b",
    "(a?){5}b",
    "((a)(b))",
    "^(?:a|ab)+$",
  ],
  ...[
    "a*",
    "a+",
    "a?",
    "a{2}",
    "a{2,}",
    "a{2,3}",
    "a{0}",
    "a{0,1}b",
    "a*?b",
    "a+?b",
    "a??b",
    "a{2}?b",
    "a{,2}",
    "{a}",
    "a{",
    "{2}",
  ],
  ...[
    "a{1,1000}",
    "(?:ab){1000}",
    "a{12345}",
    "}",
    "]",
    "a-b",
    "[ab]",
    "[^ab]",
    "[a-c]",
    "[a-]",
    "[-a]",
    "[a\\-z]",
    "[]]",
    "[^]]",
  ],
  ...[
    "[]a]",
    "[a\\]]",
    "[\\w.]+@",
    "[\\d_]",
    "[^\\s]",
    "[\\S]",
    "[^\\W]",
    "[\\D]",
    "[\\b]",
    "[\\n-\\r]",
    "[.]",
    "[*+?]",
    "[[:alpha:]]",
    "[a&&b]",
  ],
  ...["[а-ж]", "[😀]", "[\\u{1F600}-\\u{1F64F}]", "[\\x41-\\x43]", "[\\p{L}_]", "[^\\p{L}]", "[\\P{L}]", "[^\\P{Lu}]"],
  ...[
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "\\b",
    "\\B",
    "\\bfoo\\b",
    "\\Bfoo",
    "\\b(a*)*\\B1",
    "\\t",
    "\\n",
    "\\r",
    "\\0",
    "\\f",
    "\\v",
  ],
  ...[
    "\\x41",
    "\\u0042",
    "\\u{1F600}",
    "\\.",
    "\\*",
    "\\/",
    "\\-",
    "\\_",
    "\\{",
    "\\é",
    "\\ ",
    "/",
    "#",
    "~",
    "&&",
    "'",
    '"',
    "é",
    "😀",
    "ж+",
  ],
  ...[
    "\\p{L}",
    "\\P{L}",
    "\\p{Lu}",
    "\\p{Ll}+",
    "\\p{N}",
    "\\p{Nd}",
    "\\p{P}",
    "\\p{S}",
    "\\p{Z}",
    "\\p{Zs}",
    "\\p{C}",
    "\\p{Cc}",
    "\\p{Letter}",
  ],
  ...[
    "\\p{Uppercase_Letter}",
    "\\p{Alphabetic}",
    "\\p{White_Space}",
    "\\p{Emoji}",
    "\\p{Emoji_Presentation}",
    "\\p{Any}",
    "\\p{General_Category=Lu}",
  ],
  ...[
    "\\p{gc=L}",
    "\\p{Script=Greek}",
    "\\P{Script=Greek}",
    "\\p{sc=Cyrillic}",
    "\\p{Script=Thai}",
    "\\p{Script=Han}",
    "\\p{Extended_Pictographic}",
  ],
  ...[
    "^\\d{4}-\\d{2}-\\d{2}$",
    "^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$",
    "^v?\\d+(?:\\.\\d+){0,2}$",
    "const \\w+ =",
    "^\\s*return\\b",
    "https?://\\S+",
  ],
  ...[
    "E\\d{3}",
    "(foo|bar)_(foo|bar)",
    "^(a+)+$",
    "^(a|aa|a?)+$",
    "a*a*a*a*b$",
    "(.*a){20}$",
    "(x+x+)+y",
    "^[a-z]+(?:-[a-z]+)*$",
    "(.?){900}!$",
  ],
  ...[
    "a(?=b)",
    "a(?!b)",
    "(?<=a)b",
    "(?<!a)b",
    "(?i)a",
    "(?P<n>a)",
    "(?<1>a)",
    "(?",
    "(a)\\1",
    "\\k<n>",
    "\\01",
    "\\8",
    "(a",
    "a)",
    ")",
    "(()",
  ],
  ...[
    "[a",
    "[",
    "[^",
    "[]",
    "[z-a]",
    "[\\d-z]",
    "[a-\\d]",
    "[\\B]",
    "*a",
    "+",
    "?",
    "a|*",
    "(*a)",
    "a**",
    "a+*",
    "a{2}{3}",
    "a*??",
    "^*",
    "$+",
    "\\b?",
  ],
  ...[
    "\\q",
    "\\A",
    "\\z",
    "\\Z",
    "\\Q",
    "\\G",
    "\\h",
    "\\c",
    "\\cA",
    "a\\",
    "\\x4",
    "\\x{41}",
    "\\u12",
    "\\u{}",
    "\\u{110000}",
    "\\p",
    "\\pL",
    "\\p{}",
    "\\p{Nope}",
  ],
  ...[
    "\\p{Script=Nope}",
    "\\p{L",
    "[\\p]",
    "a{3,2}",
    "a{1001}",
    "a{5000}",
    "a{2,1001}",
    "((a{50}){50}){50}",
    "(ab){1000}c{600}",
    "(|a){1000}b{999}",
  ],
  ...["(".repeat(60) + ")".repeat(60), "(".repeat(50) + ")".repeat(50), "a".repeat(2600), "((){1000}){1000}b"],
];

/** One mark for each text, `+` where the pattern is found, and the text that every match holds; or the refusal. */
function described(pattern: string, options: PatternOptions): string {
  try {
    const compiled = new Pattern(pattern, options);
    const marks = TEXTS.map((text) => (compiled.isIn(text) ? "+" : ".")).join("");
    return compiled.required === undefined ? marks : `${marks} needs ${JSON.stringify(compiled.required)}`;
  } catch (error) {
    return error instanceof UnusablePattern ? error.message : String(error);
  }
}

function isFound(pattern: string, text: string, options: Partial<PatternOptions> = {}): boolean {
  return new Pattern(pattern, { dialect: "text", ...options }).isIn(text);
}

before(loadPatternEngine);

test("what 250 patterns find in 60 texts, and which are refused, is what it was with our own engine", () => {
  const lines = PATTERNS.flatMap((pattern) => {
    const inLines = described(pattern, { dialect: "lines" });
    const inText = described(pattern, { dialect: "text" });
    const inAnyCase = described(pattern, { dialect: "lines", ignoreCase: true });
    return [
      JSON.stringify(pattern),
      `  ${inLines}`,
      ...(inText === inLines ? [] : [`  text: ${inText}`]),
      ...(inAnyCase === inLines.replace(/ needs .*/, "") ? [] : [`  any case: ${inAnyCase}`]),
    ];
  });
  assertGolden("pattern-answers.txt", lines, import.meta.dirname);
});

test("a pattern is compiled when it is first matched, and every pattern that is read can be compiled", () => {
  for (const pattern of PATTERNS) {
    for (const dialect of ["lines", "text"] as const) {
      const answer = described(pattern, { dialect });
      assert.doesNotMatch(answer, /RE2JS|Unreachable/, pattern);
    }
  }
});

test("names of scripts are known to the engine, except short ones", () => {
  const known = [
    "Latin",
    "Greek",
    "Cyrillic",
    "Han",
    "Hiragana",
    "Arabic",
    "Hebrew",
    "Thai",
    "Lao",
    "Yi",
    "Old_Italic",
  ];
  for (const script of known) assert.equal(isFound(`\\p{Script=${script}}`, "0"), false, script);
  assert.throws(() => isFound("\\p{Script=Grek}", "α"), UnusablePattern);
});

suite("a pattern for a text", () => {
  test("a pattern agrees with the engine of the language, also about line ends and sets", () => {
    const atoms = ["a", ".", "[^a]", "[\\s\\S]", "\\s", "\\S", "\\n", "^", "$", "\\b", "[a-z\\d]", "\\p{L}"];
    const atom = fc.constantFrom(...atoms);
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

  test("a set with a backslash and b holds a backspace, as in the language", () => {
    for (const [pattern, text] of [
      ["^[\\b]$", "\b"],
      ["^[\\b]$", "b"],
      ["^[\\ba]+$", "a\ba"],
      ["^[\\b-\\n]$", "\t"],
    ] as const)
      assert.equal(isFound(pattern, text), new RegExp(pattern).test(text), `${pattern} in ${JSON.stringify(text)}`);
  });
});

suite("a pattern for a line", () => {
  const ends: [pattern: string, line: string, end: number][] = [
    ["abc", "xxabcxx", 5],
    [".", "😀", 2],
    ["^a", "ba", -1],
    ["", "abc", 0],
    ["a|bc|", "xbc", 0],
    ["(a|bc)d", "xbcd", 4],
    ["a{2,3}b", "aaab", 4],
    ["a+", "aaa", 1],
    [".*foo.*", "a foo and more", 5],
    ["[\\w.]+@", "a.b@c", 4],
    ["\\x41\\u0042\\u{1F600}", "AB😀", 4],
  ];
  for (const [pattern, line, end] of ends) {
    test(`the first match of ${pattern} in ${JSON.stringify(line)} ends at ${end}`, () => {
      assert.equal(new Pattern(pattern, { dialect: "lines" }).endIn(line), end);
    });
  }

  test("a pattern can ignore case, or be plain text", () => {
    const anyCase = { dialect: "lines", ignoreCase: true } as const;
    assert.equal(isFound("straße|[a-f]x", "STRASSE DX", anyCase), true);
    assert.equal(isFound("ÄB", "äb", anyCase), true);
    for (const pattern of ["[^a-z]", "[^A-Z]", "\\P{L}", "[^\\p{Lu}]"])
      assert.equal(isFound(pattern, "bB", anyCase), false, `${pattern} is no letter in either case`);
    assert.equal(isFound("a.c(", "abc( a.c(", { isLiteral: true }), true);
    assert.equal(isFound("a.c(", "abc(", { isLiteral: true }), false);
    assert.equal(isFound("A.C(", "a.c(", { isLiteral: true, ignoreCase: true }), true);
  });
});
