/** Figures and files in words, and characters that cannot be seen by their names. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { noUsage } from "../../../../src/core/usage.ts";
import {
  costInWords,
  countInWords,
  fileInWords,
  showHidden,
  timeInWords,
  tokensInWords,
  valueInWords,
} from "../../../../src/storage/store/export/words.ts";

test("times, tokens and money are short and say when they are not known for sure", () => {
  assert.deepEqual(
    [-5, 0, 440, 9_940, 9_960, 59_400, 59_600, 72_000, 3_599_400, 3_600_000, 7_500_000].map(timeInWords),
    [
      "0.0 s",
      "0.0 s",
      "0.4 s",
      "9.9 s",
      "10 s",
      "59 s",
      "1 min 0 s",
      "1 min 12 s",
      "59 min 59 s",
      "1 h 0 min",
      "2 h 5 min",
    ],
  );
  assert.deepEqual([null, 0, 0.00123, 0.5, 12].map(costInWords), ["cost unknown", "$0", "$0.0012", "$0.50", "$12.00"]);
  assert.equal(tokensInWords({ ...noUsage(), totalTokens: 12_345, estimated: true }), "~12,345 tokens");
  assert.deepEqual([countInWords(1, "run"), countInWords(1_000, "run")], ["1 run", "1,000 runs"]);
});

test("a value is shown as it was meant: text as text, anything else as JSON, nothing as nothing", () => {
  assert.deepEqual(["a\nb", { a: [1] }, null, undefined].map(valueInWords), [
    "a\nb",
    '{\n  "a": [\n    1\n  ]\n}',
    "null",
    "",
  ]);
});

test("a file is named with its kind and its size, or with its address", () => {
  const file = { type: "file", mediaType: "image/png", data: "aGk=" } as const;
  assert.equal(fileInWords(file), "a file (image/png, 2 bytes)");
  assert.equal(fileInWords({ ...file, filename: "a.png" }), "a.png (image/png, 2 bytes)");
  assert.equal(fileInWords({ ...file, data: "data:image/png;base64,aGk=" }), "a file (image/png, 2 bytes)");
  assert.equal(
    fileInWords({ ...file, data: "https://example.com/a.png" }),
    "a file (image/png) at https://example.com/a.png",
  );
});

test("every character that cannot be seen is named, and the ones that emoji and lines are made of stay", () => {
  const show = (text: string) => showHidden(text, (name) => `<${name}>`);
  assert.equal(show("\u0000\u0007\u001b\u007f\u0085\r"), "<␀><␇><␛><␡><U+0085><␍>");
  assert.equal(show("\u00ad\u034f\u061c\u3164\ufeff\ufff9"), "<U+00AD><U+034F><U+061C><U+3164><U+FEFF><U+FFF9>");
  assert.equal(show("\u200b\u200e\u202a\u2066\u2069\u2028"), "<U+200B><U+200E><U+202A><U+2066><U+2069><U+2028>");
  assert.equal(show("\u{e0041}\u{e01ef}\ufe00\ud800"), "<U+E0041><U+E01EF><U+FE00>\ufffd");
  assert.equal(show("a\r\nb\tc 👩‍🚀 ❤️ ❤︎ é 漢 שלום"), "a\nb\tc 👩‍🚀 ❤️ ❤︎ é 漢 שלום");
});
