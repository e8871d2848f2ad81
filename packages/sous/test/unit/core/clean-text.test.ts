import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { cleanText, plainText, visibleJson, visibleText } from "../../../src/core/clean-text.ts";

const tags = (text: string): string =>
  [...text].map((each) => String.fromCodePoint(0xe0000 + (each.codePointAt(0) ?? 0))).join("");

suite("B3.1: nothing in a result acts on a terminal", () => {
  const rows: [what: string, given: string, read: string][] = [
    ["colours go", "\u001b[1;31mred\u001b[0m", "red"],
    ["one-byte sequences go", "\u009b31mred\u009b0m", "red"],
    ["the clipboard is not written (OSC 52)", "a\u001b]52;c;aGk=\u0007b", "ab"],
    ["a link shows its text only (OSC 8)", "\u001b]8;;https://evil.test\u001b\\here\u001b]8;;\u001b\\", "here"],
    ["a title is not set", "a\u001b]0;title\u009cb", "ab"],
    ["a string without an end swallows its own line only", "a\u001b]52;c;aGk=\nb", "a\nb"],
    ["device strings go", "a\u001bPq#0\u001b\\b", "ab"],
    ["the screen is not reset", "a\u001bcb", "ab"],
    ["half a sequence at the end goes", "a\u001b[", "a"],
    ["other control characters are shown", "a\u0000\u0007\u0008\u007f\u0085", "a\\u{0}\\u{7}\\u{8}\\u{7f}\\u{85}"],
    ["half a character is replaced", "a\ud83d", "a\ufffd"],
    ["tabs and line ends stay", "a\tb\r\nc\n", "a\tb\r\nc\n"],
  ];
  for (const [what, given, read] of rows) test(`B3.1: ${what}`, () => assert.equal(cleanText(given), read));
});

suite("B3.2: nothing in a result is there for models only", () => {
  const rows: [what: string, given: string, read: string][] = [
    ["tag characters are counted", `a${tags("run rm")}b`, "a[6 invisible tag characters were removed]b"],
    ["tags after a flag too", `\u{1f3f4}${tags("evil")}`, "\u{1f3f4}[4 invisible tag characters were removed]"],
    ["bidi overrides are shown", "a\u202eb\u202c", "a\\u{202e}b\\u{202c}"],
    ["bidi isolates are shown", "\u2066a\u2069", "\\u{2066}a\\u{2069}"],
    ["a zero-width character in a word is shown", "pass\u200bword", "pass\\u{200b}word"],
    ["a joiner in a word is shown", "pass\u200dword", "pass\\u{200d}word"],
    ["runs are counted", `a${"\u200b\u200c".repeat(8)}`, "a[16 invisible characters were removed]"],
    [
      "runs after other scripts too",
      `\u0645${"\u200b\u200c".repeat(8)}`,
      "\u0645[16 invisible characters were removed]",
    ],
    ["selectors are no channel", `\u{1f600}${"\u{e0110}".repeat(9)}`, "\u{1f600}[9 invisible characters were removed]"],
    ["a filler that looks like a space is shown", "a\u3164b", "a\\u{3164}b"],
  ];
  for (const [what, given, read] of rows) test(`B3.2: ${what}`, () => assert.equal(cleanText(given), read));
});

test("B3.2: what people write stays: emoji, flags and scripts that need joiners", () => {
  const family =
    "\u{1f469}\u200d\u2764\ufe0f\u200d\u{1f469} \u{1f469}\u{1f3fd}\u200d\u{1f4bb} 1\ufe0f\u20e3 \u2714\ufe0f";
  const england = `\u{1f3f4}${tags("gbeng")}\u{e007f}`;
  const persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645";
  const variants = "葛\u{e0100} 羽\ufe00 ∩\ufe00 \u1820\u180b";
  for (const text of [family, england, persian, variants, "日本語 é \u00a0 ∑", "plain"])
    assert.equal(cleanText(text), text);
  assert.equal(cleanText("a\u{e0100}b\ufe00c\u180b"), "a\\u{e0100}b\\u{fe00}c\\u{180b}");
});

test("B3.1: cleaning what is clean changes nothing, and it takes time in proportion to the text", () => {
  for (const text of ["\u001b]".repeat(200_000), "\u200b\u001b[".repeat(100_000), `\u001b${" ".repeat(200_000)}`]) {
    const once = cleanText(text);
    assert.equal(cleanText(once), once);
  }
});

test("B3.1: a string for the terminal that never ends hides no further line from a person or a model", () => {
  for (const end of ["\n", "\r", "\r\n"]) {
    assert.equal(plainText(`a\u001b]0;x${end}rm -rf y`), "a\nrm -rf y");
    assert.equal(cleanText(`a\u001b]0;x${end}rm -rf y`), `a${end}rm -rf y`);
  }
});

test("B3.1: a file says to a model what an editor shows of it: of a code the control character goes, and its text stays", () => {
  const code = "a\u001b]0;b\u0007\u202e\u200bc";
  assert.deepEqual([visibleText(code), plainText(code)], ["a]0;bc", "ac"]);
});

test("B3.1: JSON says the same with everything hidden written as escapes, however it is laid out", () => {
  const value = {
    "k\u009b\u202e": ["\u001b]0;x\u0007\t\r\n\u2028\u007f", `\u{1f3f4}${tags("gbeng")}`, "\u{1f469}\u200d\u{1f467}"],
  };
  for (const indent of [0, 2]) {
    const json = visibleJson(JSON.stringify(value, undefined, indent));
    assert.deepEqual(JSON.parse(json), value);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there.
    assert.doesNotMatch(json, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e\u{e0000}-\u{e007f}]/u);
  }
});
