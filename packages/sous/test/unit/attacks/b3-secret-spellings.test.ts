/** B3.3: the ways in which a known value is written, as programs and people write it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { createRedactor } from "../../../src/runtime/secrets/redact.ts";
import { randomText } from "../../support/runtime/secrets/made-up-keys.ts";

/** Long enough for two lines of base64, with characters that every spelling changes. */
const VALUE = `Zq8-${randomText("a value to be spelled", 84)}/+=_é"x9`;
const redactor = createRedactor([{ name: "SERVICE_KEY", value: VALUE }]);
const MARK = "[redacted: SERVICE_KEY]";
const bytes = (text: string): number[] => [...Buffer.from(text)];
const hex = (text: string): string => Buffer.from(text).toString("hex");
const each = (text: string, write: (byte: number) => string, between = ""): string =>
  bytes(text).map(write).join(between);
const inHex = (byte: number): string => byte.toString(16).padStart(2, "0");
const wrapped = (text: string, columns: number, end = "\n"): string =>
  text.replaceAll(new RegExp(`.{${columns}}`, "g"), `$&${end}`);
const ascii = VALUE.replace("é", "e");

/** As xxd prints: an offset, words of some bytes, letters. */
function dump(
  text: string,
  { size, turned = false, letters }: { size: number; turned?: boolean; letters: boolean },
): string {
  const all = bytes(text);
  const lines: string[] = [];
  for (let from = 0; from < all.length; from += 16) {
    const line = all.slice(from, from + 16);
    const words: string[] = [];
    for (let at = 0; at < line.length; at += size) {
      const word = line.slice(at, at + size).map(inHex);
      words.push((turned ? word.reverse() : word).join(""));
    }
    const shown = letters
      ? `  ${String.fromCharCode(...line.map((byte) => (byte < 127 && byte > 31 ? byte : 46)))}`
      : "";
    lines.push(`${from.toString(16).padStart(8, "0")}: ${words.join(" ")}${shown}`);
  }
  return lines.join("\n");
}

const SPELLINGS: Record<string, (text: string) => string> = {
  "base64 in lines of 76": (text) => wrapped(Buffer.from(text).toString("base64"), 76),
  "base64 in lines of 64": (text) => wrapped(Buffer.from(text).toString("base64"), 64),
  "base64 in lines of 20 that end as on Windows": (text) => wrapped(Buffer.from(text).toString("base64"), 20, "\r\n"),
  "base64 with indented lines": (text) => wrapped(Buffer.from(text).toString("base64"), 60, "\n    "),
  "base64 for URLs in lines": (text) => wrapped(Buffer.from(text).toString("base64url"), 64),
  "base64 behind numbers of lines": (text) =>
    wrapped(Buffer.from(text).toString("base64"), 60)
      .split("\n")
      .map((line, index) => `${index + 1}\t${line}`)
      .join("\n"),
  "base64 behind names and numbers, as grep prints it": (text) =>
    wrapped(Buffer.from(text).toString("base64"), 60)
      .split("\n")
      .map((line, index) => `notes/b64.txt:${index + 1}:${line}`)
      .join("\n"),
  "hex in small letters": hex,
  "hex in capitals": (text) => hex(text).toUpperCase(),
  "hex with blanks": (text) => each(text, inHex, " "),
  "hex with colons": (text) => each(text, inHex, ":"),
  "hex with dashes": (text) => each(text, inHex, "-"),
  "hex in lines of 60": (text) => wrapped(hex(text), 60),
  "hex behind a digit that belongs to nothing": (text) => `a${hex(text)}`,
  "bytes of source code": (text) => each(text, (byte) => `0x${inHex(byte)}`, ", "),
  "a dump in words of two bytes, with letters": (text) => dump(text, { size: 2, letters: true }),
  "a dump in bytes, with letters": (text) => dump(text, { size: 1, letters: true }),
  "a dump without letters": (text) => dump(text, { size: 1, letters: false }),
  "a dump in turned words": (text) => dump(text, { size: 2, turned: true, letters: false }),
  "percent codes for all characters": (text) => each(text, (byte) => `%${inHex(byte)}`),
  "percent codes for some characters": (text) => text.replaceAll(/[a-m]/g, (letter) => `%${hex(letter)}`),
  "\\x escapes": (text) => each(text, (byte) => `\\x${inHex(byte)}`),
  "octal escapes": (text) => each(text, (byte) => `\\${byte.toString(8).padStart(3, "0")}`),
  "\\u escapes": (text) => text.replaceAll(/./g, (letter) => `\\u${inHex(letter.charCodeAt(0)).padStart(4, "0")}`),
  "\\u escapes for some characters": (text) => text.replaceAll(/[a-m]/g, (letter) => `\\u00${hex(letter)}`),
  "\\u escapes with braces": (text) => text.replaceAll(/./g, (letter) => `\\u{${letter.charCodeAt(0).toString(16)}}`),
  "JSON in JSON": (text) => JSON.stringify(JSON.stringify({ text })),
  "entities of HTML": (text) => text.replaceAll(/./g, (letter) => `&#${letter.charCodeAt(0)};`),
  "entities in hex": (text) => text.replaceAll(/./g, (letter) => `&#x${letter.charCodeAt(0).toString(16)};`),
  "escaped HTML": (text) => text.replaceAll('"', "&quot;").replaceAll("/", "&sol;"),
  "soft hyphens": (text) => text.replaceAll(/.{5}/g, "$&\u00ad"),
  "zero-width characters": (text) => text.split("").join("\u200b"),
  "characters of other invisible kinds": (text) => text.split("").join("\u2060\ufe0f\ufeff"),
  "blanks between all letters": (text) => text.split("").join(" "),
  "a letter a line": (text) => text.split("").join("\n"),
  "lines of 20": (text) => wrapped(text, 20),
  "a list of numbers": (text) => JSON.stringify(bytes(text)),
  "letters as od sets them": (text) =>
    wrapped(text.split("").join("   "), 64)
      .split("\n")
      .map((line, at) => `${(at * 16).toString(8).padStart(7, "0")}   ${line}`)
      .join("\n"),
};

suite("B3.3: a known value is found", () => {
  for (const [what, spell] of Object.entries(SPELLINGS)) {
    test(`B3.3: a known value is found as ${what}, alone and among other text`, () => {
      for (const [before, after] of [
        ["", ""],
        ["A=1\nB=22\nKEY=", "\nC=3\n"],
        ["k", ""],
        ["ke", "y"],
      ] as const) {
        const value = what.includes("od sets") ? ascii : VALUE;
        const own = createRedactor([{ name: "SERVICE_KEY", value }]);
        const text = spell(`${before}${value}${after}`);
        const shown = own.text(`first\n${text}\nlast`);
        assert.ok(shown.includes(MARK), `${JSON.stringify(before)}: ${shown}`);
        assert.ok(shown.length < text.length + 60 - value.length / 2, `something of it is left: ${shown}`);
        assert.ok(shown.startsWith("first") && shown.endsWith("last"), "the rest is as it was");
        assert.equal(own.text(shown), shown, "a second look changes nothing");
      }
    });
  }

  test("B3.3: text of any kind without a known value is as it was", () => {
    const odd = fc.string({
      unit: fc.constantFrom("%41", "\\u0041", "&#65;", "73 6b", "0f:", " ", "\n", "12, ", "\u00ad", "x"),
    });
    fc.assert(fc.property(odd, (text) => assert.equal(redactor.text(text), text)));
  });

  test("B3.3: a value that comes in pieces is hidden from its eighth character on, wherever it is cut", () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(cuts, (sizes) => {
        const text = `Before it ${VALUE} and behind it`;
        const next = redactor.pieces();
        let shown = "";
        for (let from = 0, index = 0; from < text.length; index++) {
          const size = sizes[index % sizes.length] ?? 1;
          shown += next(text.slice(from, from + size));
          from += size;
        }
        const [start = "", end] = shown.split(MARK);
        assert.ok(start.length < "Before it ".length + 8, shown);
        assert.equal(end, " and behind it");
      }),
    );
  });

  test("B3.3: pieces without a secret come out as they went in, one by one", () => {
    const next = redactor.pieces();
    for (const piece of ["Hel", "lo ", "", "Zq8-", " is how", "\n", "it begins"]) assert.equal(next(piece), piece);
  });
});
