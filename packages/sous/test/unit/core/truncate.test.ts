import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { truncateMiddle, truncateUtf8, truncateUtf8Start, utf8Slice } from "../../../src/core/truncate.ts";
import { codePoint } from "../code-point.ts";

const bytes = (text: string): number => Buffer.byteLength(text.toWellFormed());

const CHARACTERS = [
  "a",
  "\r\n",
  "é",
  "e\u0301",
  "漢",
  "한",
  "\u1112\u1161\u11ab",
  "😀",
  "👍🏽",
  "👩‍👩‍👧‍👦",
  "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
  "🇩🇪",
  "❤️",
  "नि",
];

test("B8: a text that fits is left as it is", () => {
  assert.deepEqual(truncateUtf8("grün", 5), { text: "grün", originalBytes: 5, keptBytes: 5, truncated: false });
  assert.deepEqual(truncateUtf8("", 0), { text: "", originalBytes: 0, keptBytes: 0, truncated: false });
});

test("B8: a text that does not fit is cut between two characters, and the sizes are told", () => {
  assert.deepEqual(truncateUtf8("grün", 3), { text: "gr", originalBytes: 5, keptBytes: 2, truncated: true });
  assert.deepEqual(truncateUtf8("a👩‍👩‍👧‍👦b", 20), { text: "a", originalBytes: 27, keptBytes: 1, truncated: true });
  assert.deepEqual(truncateUtf8("🇩🇪🇫🇷", 12), { text: "🇩🇪", originalBytes: 16, keptBytes: 8, truncated: true });
  assert.deepEqual(truncateUtf8("ab", -1), { text: "", originalBytes: 2, keptBytes: 0, truncated: true });
});

test("B8: the end of a text is kept by the same rule", () => {
  assert.deepEqual(truncateUtf8Start("grün", 3), { text: "ün", originalBytes: 5, keptBytes: 3, truncated: true });
  assert.deepEqual(truncateUtf8Start("grün", 2), { text: "n", originalBytes: 5, keptBytes: 1, truncated: true });
  assert.deepEqual(truncateUtf8Start("🇩🇪🇫🇷", 12), { text: "🇫🇷", originalBytes: 16, keptBytes: 8, truncated: true });
  assert.deepEqual(truncateUtf8Start("ab", 0), { text: "", originalBytes: 2, keptBytes: 0, truncated: true });
});

test("B8: marks piled on one letter are cut between code points instead of eating the text", () => {
  const piled = `abc${"\u0301".repeat(5000)}`;
  assert.equal(truncateUtf8(piled, 4001).keptBytes, 4001);
  assert.equal(truncateUtf8Start(piled, 4001).keptBytes, 4000);
  const wide = `abc${"\u{e0100}".repeat(5000)}`;
  for (const bytesLeft of [4000, 4001, 4002, 4003]) {
    assert.equal(truncateUtf8Start(wide, bytesLeft).text, "\u{e0100}".repeat(1000));
    assert.equal(truncateUtf8(wide, 3 + bytesLeft).text, `abc${"\u{e0100}".repeat(1000)}`);
  }
});

test("B8: lone surrogates become replacement characters, cut or not", () => {
  assert.deepEqual(truncateUtf8("a\ud83d", 9), { text: "a\ufffd", originalBytes: 4, keptBytes: 4, truncated: false });
  assert.deepEqual(truncateUtf8("\udc00ab\ud83d", 5), {
    text: "\ufffdab",
    originalBytes: 8,
    keptBytes: 5,
    truncated: true,
  });
});

test("B8: every cut of every text is whole characters, as many as fit", () => {
  const texts = fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 80 });
  fc.assert(
    fc.property(texts, fc.nat(700), (characters, maxBytes) => {
      // Neighbours can join into one character (a carriage return and a line feed, two flags), so split again.
      const text = characters.join("");
      const whole = [...new Intl.Segmenter("en").segment(text)].map(({ segment }) => segment);
      const head: string[] = [];
      for (const each of whole)
        if (bytes(head.join("") + each) <= maxBytes) head.push(each);
        else break;
      const tail: string[] = [];
      for (const each of whole.toReversed())
        if (bytes(each + tail.join("")) <= maxBytes) tail.unshift(each);
        else break;
      assert.equal(truncateUtf8(text, maxBytes).text, head.join(""));
      assert.equal(truncateUtf8Start(text, maxBytes).text, tail.join(""));
    }),
  );
});

test("B8: any string at all comes back well-formed and small enough", () => {
  fc.assert(
    fc.property(fc.string({ unit: codePoint, maxLength: 60 }), fc.nat(90), (text, maxBytes) => {
      for (const cut of [truncateUtf8(text, maxBytes), truncateUtf8Start(text, maxBytes)]) {
        assert.ok(cut.text.isWellFormed());
        assert.equal(cut.keptBytes, bytes(cut.text));
        assert.equal(cut.originalBytes, bytes(text));
        assert.ok(cut.keptBytes <= maxBytes);
      }
    }),
  );
});

test("B3.1: a long output keeps its head and its tail, whole characters, and says how much is missing", () => {
  const notice = (missing: number, of: number): string => `\n[Notice: ${missing} of ${of} bytes were cut here]\n`;
  assert.deepEqual(truncateMiddle("short 😀", 20), {
    text: "short 😀",
    originalBytes: 10,
    keptBytes: 10,
    truncated: false,
  });
  assert.deepEqual(truncateMiddle(`head${"x".repeat(100)}tail`, 8), {
    text: `head${notice(100, 108)}tail`,
    originalBytes: 108,
    keptBytes: 8,
    truncated: true,
  });
  assert.equal(truncateMiddle("ab👩‍👩‍👧cd", 10).text, `ab${notice(18, 22)}cd`);
});

test("B8: a text read page by page is the whole text, also where marks pile up", () => {
  const texts = fc.array(fc.constantFrom(...CHARACTERS, "x".repeat(50), "\u0301".repeat(200)), {
    maxLength: 60,
    size: "max",
  });
  fc.assert(
    fc.property(texts, fc.integer({ min: 400, max: 1200 }), (characters, pageBytes) => {
      const text = characters.join("");
      let read = "";
      for (let offset = 0, total = 1; offset < total; ) {
        const page = utf8Slice(text, offset, pageBytes);
        assert.ok(page.end > offset || page.total === 0, "every page goes on");
        assert.ok(bytes(page.text) <= pageBytes);
        read += page.text;
        offset = page.end;
        total = page.total;
      }
      assert.equal(read, text);
    }),
    { numRuns: 300 },
  );
});
