/** Prices that a program gives, and the length of texts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Price, utf8Length } from "../../../src/core/usage.ts";
import { createRuntime } from "../../../src/runtime.ts";

test("prices that are not valid are refused when the runtime is made, with the name of the model", () => {
  const withPrice = (price: unknown) => createRuntime({ models: { prices: { "a/b": price as Price } } });
  const wrong = {
    message: /^models\.prices must be an object of prices \(input and output, each 0 or more\); found .* for "a\/b"$/,
  };
  const free = { input: 0, output: 0 };
  for (const price of [
    null,
    3,
    "free",
    {},
    { input: 1 },
    { ...free, output: -1 },
    { ...free, cachedInput: Number.NaN },
  ])
    assert.throws(() => withPrice(price), wrong, JSON.stringify(price));
  assert.throws(() => withPrice({ ...free, cacheWrite: Number.POSITIVE_INFINITY }), wrong);
  for (const price of [free, { ...free, cachedInput: 0.1, cacheWrite: 2 }]) assert.ok(withPrice(price));
});

/** Units of UTF-16 on both sides of every place where the length in UTF-8 changes. */
const UNITS = [0x00, 0x41, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xd801, 0xdbff, 0xdc00, 0xdc01, 0xdfff, 0xe000]
  .concat([0xfffd, 0xffff])
  .map((unit) => String.fromCharCode(unit));

test("the length of a text in UTF-8 is that of its encoding, also with halves of characters in it", () => {
  const texts = ["", ...UNITS];
  for (const first of UNITS)
    for (const second of UNITS) texts.push(first + second, ...UNITS.map((third) => first + second + third));
  const wrong = texts.filter((text) => utf8Length(text) !== Buffer.byteLength(text));
  assert.deepEqual(
    wrong.map((text) => JSON.stringify(text)),
    [],
  );
});
