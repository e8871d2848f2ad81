/** Measures eight siblings with a ledger that waits and keeps last words, and with one that does not. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { runEightSiblings, type SiblingFigures } from "../../../figures/eight-siblings.ts";

const SEEDS = 100;

test("H1: eight siblings who need 63k of 40k tokens deliver when they wait and keep last words, and not otherwise", async (t) => {
  const neither = await average({ waits: false, keepsLastWords: false });
  const onlyWaiting = await average({ waits: true, keepsLastWords: false });
  const both = await average({ waits: true, keepsLastWords: true });
  t.diagnostic(`seeds 0 to ${SEEDS - 1}: ${JSON.stringify({ neither, onlyWaiting, both })}`);
  assert.ok(Math.abs(both.needed - 63_000) < 1_000, `needed ${both.needed}`);
  assert.ok(neither.delivered <= 4, `with neither ${neither.delivered} of 8`);
  assert.ok(both.delivered >= 7, `with both ${both.delivered} of 8`);
  for (const { spent } of [neither, onlyWaiting, both]) assert.ok(spent <= 40_000, `spent ${spent}`);
});

async function average(options: { waits: boolean; keepsLastWords: boolean }): Promise<SiblingFigures> {
  const mean = { needed: 0, spent: 0, delivered: 0 };
  for (let seed = 0; seed < SEEDS; seed++) {
    const figures = await runEightSiblings({ seed, ...options });
    mean.needed += figures.needed / SEEDS;
    mean.spent += figures.spent / SEEDS;
    mean.delivered += figures.delivered / SEEDS;
  }
  return mean;
}
