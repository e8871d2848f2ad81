/** Any code point, halves of pairs included. The unit "binary" of fast-check is the same, after a second of making a table of all. */

import fc from "fast-check";

export const codePoint: fc.Arbitrary<string> = fc.integer({ min: 0, max: 0x10ffff }).map(
  (code) => String.fromCodePoint(code),
  (text) => {
    const code = typeof text === "string" ? text.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== text) throw new Error("It is not one code point");
    return code;
  },
);
