/** Tests which texts are secrets: the values of variables, the shapes of keys, and everything that looks like neither. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { isRedacted, NO_REDACTION } from "../../../../src/core/clean-text.ts";
import { createRedactor } from "../../../../src/runtime/secrets/redact.ts";
import { randomText } from "../../../support/runtime/secrets/made-up-keys.ts";
import { codePoint } from "../../code-point.ts";

const VALUE = `Zq8-${randomText("a value", 36)}/+"é`;
const OTHER = randomText("another value", 20);
const redactor = createRedactor([
  { name: "SERVICE_KEY", value: VALUE },
  { name: "OTHER_TOKEN", value: OTHER },
]);
const MARK = "[redacted: SERVICE_KEY]";

suite("B3.3: a value that is known", () => {
  test("a known value is replaced wherever it stands, by the name of its variable", () => {
    assert.equal(redactor.text(VALUE), MARK);
    assert.equal(
      redactor.text(`key=${VALUE};other=${OTHER}\n${VALUE}`),
      `key=${MARK};other=[redacted: OTHER_TOKEN]\n${MARK}`,
    );
    assert.equal(redactor.text(`${OTHER}${OTHER}`), "[redacted: OTHER_TOKEN][redacted: OTHER_TOKEN]");
  });

  test("a known value is found as JSON, in a URL and inside base64 at any place", () => {
    assert.equal(redactor.text(JSON.stringify({ key: VALUE })), `{"key":"${MARK}"}`);
    assert.equal(
      redactor.text(`https://a.example/?key=${encodeURIComponent(VALUE)}&x=1`),
      `https://a.example/?key=${MARK}&x=1`,
    );
    for (const before of ["", "u", "us", "usr", "user:"]) {
      const encoded = Buffer.from(`${before}${VALUE}\n`).toString("base64");
      const shown = redactor.text(encoded);
      assert.match(shown, /\[redacted: SERVICE_KEY\]/, before);
      assert.ok(!Buffer.from(shown.replace(MARK, ""), "base64").toString().includes(VALUE.slice(2, -2)), before);
      const forUrl = Buffer.from(`${before}${VALUE}`).toString("base64url");
      assert.match(redactor.text(forUrl), /\[redacted: SERVICE_KEY\]/, before);
    }
  });

  test("a known value is found when only its beginning is left at the end, or its end at the beginning", () => {
    for (let length = 8; length < VALUE.length; length++) {
      assert.equal(redactor.text(`the key is ${VALUE.slice(0, length)}`), `the key is ${MARK}`);
      assert.equal(redactor.text(`${VALUE.slice(-length)} is the key`), `${MARK} is the key`);
      assert.equal(redactor.text(`cut: ${VALUE.slice(0, length)}… [9 more bytes]`), `cut: ${MARK}… [9 more bytes]`);
      assert.equal(redactor.text(`cut: …${VALUE.slice(-length)}`), `cut: …${MARK}`);
    }
  });

  test("a known value is told from an ordinary word by more than its beginning", () => {
    const wordy = createRedactor([{ name: "DB_PASSWORD", value: "postgres-7f3a9b2c" }]);
    for (const text of ["it runs on postgres", "postgres", "postgres… and more", "see postgres-7f3a8 for more"])
      assert.equal(wordy.text(text), text);
  });

  test("a known value leaves nothing behind where two of them overlap", () => {
    const one = `${OTHER}abcdef12`;
    const two = createRedactor([
      { name: "ONE", value: one },
      { name: "TWO", value: `abcdef12${VALUE}` },
      { name: "THREE", value: OTHER },
    ]);
    assert.equal(two.text(`<${one}${VALUE}>`), "<[redacted: ONE]>");
    assert.equal(two.text(`<${one}>`), "<[redacted: ONE]>");
  });

  test("a known value is not looked for when it is part of a mark, which would change again and again", () => {
    const names = createRedactor([
      { name: "MY_TOKEN", value: "redacted" },
      { name: "MY_KEY", value: "MY_TOKEN" },
      { name: "REAL_KEY", value: OTHER },
    ]);
    assert.equal(names.text(`redacted ${OTHER} MY_TOKEN`), "redacted [redacted: REAL_KEY] MY_TOKEN");
  });
});

suite("B3.3: redaction in general", () => {
  test("whatever surrounds a value, it is no longer there, and a second look changes nothing", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: codePoint }),
        fc.string({ unit: "grapheme" }),
        fc.constantFrom(VALUE, OTHER),
        (before, after, value) => {
          const shown = redactor.text(before + value + after);
          assert.ok(!shown.includes(value));
          assert.ok(shown.includes("[redacted: "));
          assert.equal(redactor.text(shown), shown);
        },
      ),
    );
  });

  test("any value of any letters is found among any others", () => {
    const value = fc.string({ unit: codePoint, minLength: 8, maxLength: 40 });
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 8 }),
        fc.array(fc.string({ unit: codePoint })),
        (values, texts) => {
          const secrets = values.map((each, index) => ({ name: `V${index}`, value: each }));
          const shown = createRedactor(secrets).text(
            values.flatMap((each, index) => [texts[index] ?? "", each]).join(""),
          );
          for (const each of values) assert.ok(!shown.includes(each) || "[redacted: V0]".includes(each));
        },
      ),
    );
  });

  test("a text without a secret is given back as it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 2_000 }), (text) => {
        assert.equal(redactor.text(text), text);
      }),
    );
  });

  test("a long text that was looked at before is remembered, and one that differs in a letter is not taken for it", () => {
    const long = "All is well. ".repeat(100);
    assert.equal(redactor.text(long), long);
    assert.equal(redactor.text(long), long);
    const changed = `${long.slice(0, -OTHER.length)}${OTHER}`;
    assert.equal(redactor.text(changed), `${long.slice(0, -OTHER.length)}[redacted: OTHER_TOKEN]`);
  });
});

suite("B3.3: a plain value", () => {
  test("a plain value is redacted in every text and every name, and stays the same object when there is nothing", () => {
    const clean = { path: "src/auth.ts", deep: [{ line: 3, text: "const token = read();" }], none: null };
    assert.equal(redactor.value(clean), clean);
    const input = { command: `curl -H "${VALUE}"`, list: ["a", { [VALUE]: 1 }], count: 2, clean };
    const shown = redactor.value(input);
    assert.deepEqual(shown, { command: `curl -H "${MARK}"`, list: ["a", { [MARK]: 1 }], count: 2, clean });
    assert.equal(shown.clean, clean);
    assert.equal(input.command, `curl -H "${VALUE}"`, "the original is as it was");
  });

  test("a plain value keeps two fields whose names are redacted alike", () => {
    const shown = redactor.value({ [`a ${VALUE}`]: 1, [`a ${encodeURIComponent(VALUE)}`]: 2 });
    assert.deepEqual(shown, { [`a ${MARK}`]: 1, [`a ${MARK} 2`]: 2 });
  });

  test("a plain value keeps a field that is called __proto__ as a field", () => {
    const shown = redactor.value(JSON.parse(`{"__proto__":{"admin":true},"key":${JSON.stringify(VALUE)}}`));
    assert.equal(JSON.stringify(shown), `{"__proto__":{"admin":true},"key":"${MARK}"}`);
  });

  test("a plain value with a secret far down is looked at once, not twice on every level", () => {
    let deep: unknown = OTHER;
    for (let depth = 0; depth < 300; depth++) deep = { inside: deep };
    assert.equal(
      JSON.stringify(redactor.value(deep)),
      `${'{"inside":'.repeat(300)}"[redacted: OTHER_TOKEN]"${"}".repeat(300)}`,
    );
  });

  test("a plain value that is deeper than anything can be kept is not looked into for ever", () => {
    let deep: unknown = VALUE;
    for (let depth = 0; depth < 20_000; depth++) deep = [deep];
    assert.match(JSON.stringify(redactor.value(deep)), /^\[+"\[redacted: too deep to look into\]"\]+$/);
  });

  test("the redaction of a plain value says whether something was taken out of it", () => {
    assert.equal(isRedacted(redactor.value({ list: [{ [VALUE]: 1 }] })), true);
    assert.equal(isRedacted({ list: [{ text: "redacted", count: 1, none: null }] }), false);
  });
});

suite("B3.3: a file", () => {
  test("a file that holds a value is replaced as a whole, and any other is given back as it is", () => {
    const data = Buffer.from(`# settings\nkey: ${VALUE}\n`).toString("base64");
    const file = { type: "file", mediaType: "application/pdf", data, filename: `${OTHER}.pdf` } as const;
    assert.deepEqual(redactor.file(file), {
      type: "file",
      mediaType: "text/plain",
      data: btoa("[redacted: a file that holds a secret]"),
      filename: "[redacted: OTHER_TOKEN].pdf",
    });
    const picture = { type: "file", mediaType: "image/png", data: randomText("picture", 50_000) } as const;
    assert.equal(redactor.file(picture), picture);
  });

  test("a file at an address loses only the secret in the address", () => {
    const file = { type: "file", mediaType: "image/png", data: `https://a.example/x.png?token=${OTHER}` } as const;
    assert.deepEqual(redactor.file(file), { ...file, data: "https://a.example/x.png?token=[redacted: OTHER_TOKEN]" });
  });
});

test("hiding nothing gives back what it was given", () => {
  const file = { type: "file", mediaType: "text/plain", data: VALUE } as const;
  assert.deepEqual([NO_REDACTION.text(VALUE), NO_REDACTION.value(file), NO_REDACTION.file(file)], [VALUE, file, file]);
});

test("R16: a value of one repeated character is hidden in long texts of that character, in few pieces", () => {
  const value = "x".repeat(32);
  const redactor = createRedactor([{ name: "API_KEY", value }]);
  for (const text of [value, `a ${"x".repeat(200_000)} b`, "x ".repeat(100_000), "%78".repeat(100_000)]) {
    const shown = redactor.text(text);
    assert.ok(
      shown.includes("[redacted: API_KEY]") && !shown.includes(value) && shown.length < 200,
      shown.slice(0, 300),
    );
  }
});
