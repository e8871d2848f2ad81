/** The ways in which a secret can be written down. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { asBytes, spellingsOf } from "../../../../src/runtime/secrets/known-texts.ts";

const starts = (value: string) => spellingsOf({ name: "KEY", value }).map(({ start }) => start);

test("a plain value is looked for once as it is, once by its end, and in base64", () => {
  const value = "q7Rt9ZkLm2Xw";
  const found = starts(value);
  assert.deepEqual(found.slice(0, 2), ["q7Rt9ZkL".slice(0, found[0]?.length), value.slice(-(found[1]?.length ?? 0))]);
  assert.equal(found.filter((start) => value.startsWith(start)).length, 1);
  assert.equal(found.length, 2 + 3);
});

test("a value is also looked for as JSON and as a part of a URL where those read differently", () => {
  const value = 'q7"t9Z Lm2Xw';
  const found = starts(value);
  assert.ok(found.some((start) => JSON.stringify(value).slice(1).startsWith(start) && start.includes("\\")));
  assert.ok(found.some((start) => start.includes("%22")));
});

test("bytes written down one by one read differently only where a character has several", () => {
  assert.deepEqual(asBytes({ name: "KEY", value: "q7Rt9ZkLm2Xw" }), []);
  assert.equal(asBytes({ name: "KEY", value: "ä7Rt9ZkLm2Xw" })[0]?.start.slice(0, 2), "Ã¤");
});
