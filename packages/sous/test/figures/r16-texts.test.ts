/** R16 in small: six of the texts; `npm run soak` has all of them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { HOSTILE_TEXTS } from "./r16-texts.ts";
import { runTextTrials } from "./r16-trials.ts";

const SIX = [
  "ignore file: blanks within a line",
  "ignore file: brackets that never close",
  "edit_file: one long line",
  "agent file: tools with commas",
  "provider error: limits",
  "page: tables in tables",
];

test("R16: there are at least forty hostile texts, and their names are unique", () => {
  assert.ok(HOSTILE_TEXTS.length >= 40);
  assert.equal(new Set(HOSTILE_TEXTS.map(({ name }) => name)).size, HOSTILE_TEXTS.length);
});

test("R16: a deadline and a TERM are heard within two seconds while hostile texts are read", async () => {
  const texts = HOSTILE_TEXTS.filter(({ name }) => SIX.includes(name));
  assert.equal(texts.length, SIX.length);
  assert.deepEqual(await runTextTrials({ texts, endings: ["deadline", "TERM"], lanes: 3 }), []);
});
