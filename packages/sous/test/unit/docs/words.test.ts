/** The documentation stays short enough to be finished. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { pages } from "../../support/docs/markdown-files.ts";

/**
 * 95,750 before trees over several workers. Of the 7,000 since, half are generated: the engine, `sous worker`, `sous cancel`, new
 * events and what their JSON holds. The rest is a tutorial, a guide, a page of promises and three decisions. No other page says the same.
 */
const MAX_WORDS = 102_750;
const SHOWN = 15;

test("the pages of docs/ have at most 102,750 words in all", () => {
  const counted = pages()
    .filter(({ path }) => path.startsWith("docs/"))
    .map(({ path, text }) => ({ path, words: text.split(/\s+/).filter((word) => word !== "").length }))
    .sort((one, other) => other.words - one.words);
  const total = counted.reduce((sum, { words }) => sum + words, 0);
  const largest = counted.slice(0, SHOWN).map(({ path, words }) => `${words} ${path}`);
  assert.ok(total <= MAX_WORDS, `${total} words; the largest pages:\n${largest.join("\n")}`);
});
