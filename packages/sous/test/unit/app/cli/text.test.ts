import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { chooseStyle, statusWords } from "../../../../src/app/cli/terminal/style.ts";
import {
  cost,
  cutToWidth,
  displayWidth,
  duration,
  fitToWidth,
  inert,
  inertLine,
  localTime,
  plural,
  tokens,
  wrapToWidth,
} from "../../../../src/app/cli/terminal/text.ts";
import { describeInput, describeOutput } from "../../../../src/app/cli/view/plain-lines.ts";

suite("B3.1: text from outside is inert", () => {
  const cases: [what: string, given: string, shown: string][] = [
    ["colours", "\u001b[1;31mred\u001b[0m", "red"],
    ["cursor movement", "a\u001b[2J\u001b[Hb\u009b5Cc", "abc"],
    ["a write to the clipboard", "a\u001b]52;c;aGVsbG8=\u0007b", "ab"],
    ["a title and a link", "\u001b]0;owned\u001b\\a\u001b]8;;http://evil\u001b\\b", "ab"],
    ["an unfinished sequence", "a\u001b]52;c;aGVsbG8", "a"],
    ["device control", "a\u001bPq#0\u001b\\b\u0090x\u009cc", "abc"],
    ["charset switches", "a\u001b(0b\u001bcd", "abd"],
    ["bells, backspaces and NUL", "a\u0007\b\u0000b\u007f", "ab"],
    ["a carriage return that hides the start of a line", "danger\rsafe", "danger\nsafe"],
    ["letters that run the other way", "user\u202etxt.exe\u2066\u2069", "usertxt.exe"],
    ["invisible characters", "a\u200bb\u2060\ufeff\u00adc", "abc"],
    ["instructions in tag characters", "hi\u{e0049}\u{e0067}\u{e006e}", "hi"],
    ["lone surrogates", "a\ud83d", "a\ufffd"],
    ["letters of other scripts and a tab", "grün 漢字 👩‍👧 ❤️\n\tnext", "grün 漢字 👩‍👧 ❤️\n    next"],
  ];
  for (const [what, given, shown] of cases)
    test(`B3.1: a text with ${what} is inert when it is shown`, () => assert.equal(inert(given), shown));

  test("a text from outside has no line breaks and an end when it is one line", () => {
    assert.equal(inertLine(" a\n\nb\t c\u2028d "), "a b cd");
    assert.equal(inertLine("x".repeat(900), 10), `${"x".repeat(10)}...`);
  });

  test("nothing that a terminal obeys survives, whatever the text", () => {
    const pieces = fc.constantFrom(
      "\u001b",
      "[",
      "]",
      "2J",
      "\u009b",
      "\u0090",
      "\u0007",
      "\u009c",
      "\\",
      "a",
      "\r",
      "\n",
      "\u202e",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 20 }), (all) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there.
        assert.doesNotMatch(inert(all.join("")), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
      }),
    );
  });
});

test("width counts columns, not characters", () => {
  const widths = ["abc", "漢字", "e\u0301", "👩‍👩‍👧‍👦", "🇩🇪", "❤️", "✓→│", "한글", "ｆｕｌｌ", ""].map(displayWidth);
  assert.deepEqual(widths, [3, 4, 1, 2, 2, 2, 3, 4, 8, 0]);
});

test("text is cut, filled and wrapped by columns", () => {
  assert.equal(cutToWidth("漢字漢字", 5), "漢字…");
  assert.equal(cutToWidth("漢字漢字", 4), "漢…");
  assert.equal(cutToWidth("abc", 3), "abc");
  assert.equal(cutToWidth("abcd", 3, "..."), "...");
  assert.equal(cutToWidth("abcd", 0), "");
  assert.equal(fitToWidth("漢", 4), "漢  ");
  assert.deepEqual(wrapToWidth("one two three", 8), ["one two", "three"]);
  assert.deepEqual(wrapToWidth("unbreakable x", 5), ["unbr…", "x"]);
});

test("numbers are short", () => {
  assert.deepEqual([0, 420, 9949, 9950, 58_400, 59_600, 72_000, 3_900_000].map(duration), [
    "0.0s",
    "0.4s",
    "9.9s",
    "10s",
    "58s",
    "1m00s",
    "1m12s",
    "1h05m",
  ]);
  assert.deepEqual(
    [tokens(950, false), tokens(48_200, true), tokens(999_960, false)],
    ["950 tok", "~48.2k tok", "1.0M tok"],
  );
  assert.deepEqual([-5, 59_499, 59_500, 3_599_499, 3_599_500, 36_300_000].map(duration), [
    "0.0s",
    "59s",
    "1m00s",
    "59m59s",
    "1h00m",
    "10h05m",
  ]);
  assert.deepEqual(
    [999, 1000, 999_949, 999_950].map((count) => tokens(count, false)),
    ["999 tok", "1.0k tok", "999.9k tok", "1.0M tok"],
  );
  assert.deepEqual([cost(0.0049), cost(0.005)], ["<$0.01", "$0.01"]);
  assert.deepEqual([cost(0), cost(null), cost(0.001), cost(0.09), cost(12)], ["", "$?", "<$0.01", "$0.09", "$12.00"]);
  assert.deepEqual([plural(1, "turn"), plural(2, "child", "children")], ["1 turn", "2 children"]);
});

test("a tool call is told by what it is about and what came back", () => {
  assert.equal(describeInput({ limit: 3, pattern: "a\nb" }), "a b");
  assert.equal(describeInput({ other: 1 }), "");
  assert.equal(describeInput(undefined), "");
  assert.equal(describeOutput({ output: "x", isError: false, metadata: { matches: 1 } }), "1 match");
  assert.equal(describeOutput({ output: "x", isError: false, metadata: { lines: 93, truncated: true } }), "93+ lines");
  assert.equal(describeOutput({ output: "x", isError: false, metadata: { files: 0 } }), "0 files");
  assert.equal(describeOutput({ output: "first\nsecond", isError: false }), "first second");
  assert.equal(describeOutput({ output: "No file at x.", isError: true }), "failed: No file at x.");
});

test("colour: the flag, then NO_COLOR, then FORCE_COLOR, then the terminal; live only on a real one", () => {
  const choose = (
    color: "auto" | "always" | "never",
    isTerminal: boolean,
    env: Record<string, string>,
  ): [isLive: boolean, hasColour: boolean] => {
    const style = chooseStyle({ color, isAscii: false, isTerminal, env });
    return [style.isLive, style.paint("red", "x") !== "x"];
  };
  assert.deepEqual(choose("auto", true, {}), [true, true]);
  assert.deepEqual(choose("auto", false, {}), [false, false]);
  assert.deepEqual(choose("auto", true, { CI: "true" }), [false, false]);
  assert.deepEqual(choose("auto", true, { TERM: "dumb" }), [false, false]);
  assert.deepEqual(choose("auto", true, { NO_COLOR: "1", FORCE_COLOR: "1" }), [true, false]);
  assert.deepEqual(choose("auto", true, { NO_COLOR: "" }), [true, true]);
  assert.deepEqual(choose("auto", false, { FORCE_COLOR: "1" }), [false, true]);
  assert.deepEqual(choose("auto", true, { FORCE_COLOR: "0" }), [true, false]);
  assert.deepEqual(choose("always", false, { NO_COLOR: "1" }), [false, true]);
  assert.deepEqual(choose("never", true, { FORCE_COLOR: "1" }), [true, false]);
});

test("B8: glyphs are plain where the locale is not UTF-8: LC_ALL, then LC_CTYPE, then LANG", () => {
  const isPlain = (env: Record<string, string>, isAscii = false): boolean =>
    !/[^ -~]/.test(JSON.stringify(chooseStyle({ color: "never", isAscii, isTerminal: true, env }).glyphs));
  for (const env of [
    { LC_ALL: "C" },
    { LANG: "POSIX" },
    { LC_ALL: "C", LC_CTYPE: "C.UTF-8", LANG: "C.UTF-8" },
    { LC_CTYPE: "C", LANG: "C.UTF-8" },
    { LANG: "de_DE.ISO-8859-1" },
  ])
    assert.equal(isPlain(env), true, JSON.stringify(env));
  for (const env of [
    {},
    { LC_ALL: "", LANG: "" },
    { LC_ALL: "C.UTF-8", LANG: "C" },
    { LC_CTYPE: "UTF-8", LANG: "C" },
    { LC_ALL: "", LANG: "de_DE.utf8" },
  ])
    assert.equal(isPlain(env), false, JSON.stringify(env));
  assert.equal(isPlain({ LANG: "C.UTF-8" }, true), true, "--ascii wins");
});

test("the characters at both ends of a wide block are two columns wide, and those beside it one; marks take none", () => {
  const BLOCKS: [from: number, to: number][] = [
    [0x1100, 0x115f],
    [0x2e80, 0x303e],
    [0xa960, 0xa97f],
    [0xac00, 0xd7a3],
    [0xff00, 0xff60],
    [0x20000, 0x3fffd],
  ];
  for (const [from, to] of BLOCKS) {
    const widths = [from - 1, from, to, to + 1].map((point) => displayWidth(String.fromCodePoint(point)));
    assert.deepEqual(widths.slice(1, 3), [2, 2], from.toString(16));
    assert.ok((widths[0] ?? 2) < 2 && (widths[3] ?? 2) < 2, from.toString(16));
  }
  const texts = [" ", "~", "\u001f", "\u007f", "\u0080", "\u00a0", "\u0301", "e\u0301", "\u200b", "🇨🇭", "❤", "❤\ufe0f"];
  assert.deepEqual(texts.map(displayWidth), [1, 1, 0, 0, 0, 1, 0, 1, 0, 2, 1, 2]);
});

test("a moment is told as the clock on the wall shows it, and one that is none as a question mark", () => {
  const moment = new Date(2026, 0, 5, 7, 3).getTime();
  assert.deepEqual([localTime(moment), localTime(Number.NaN), localTime(9e15)], ["2026-01-05 07:03", "?", "?"]);
});

test("the state of a run is told in words that people use", () => {
  const words = (status: Parameters<typeof statusWords>[0]["status"], stopReason?: string) =>
    statusWords({ status, stopReason });
  assert.deepEqual(
    [
      words("queued"),
      words("waiting"),
      words("incomplete"),
      words("incomplete", "consent"),
      words("timeout"),
      words("completed"),
    ],
    ["queued", "waiting for an answer", "out of turns", "lacked approval", "timed out", "completed"],
  );
});
