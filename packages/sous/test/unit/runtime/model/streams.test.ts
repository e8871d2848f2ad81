import assert from "node:assert/strict";
import { test } from "node:test";
import { runChoppedStreams, runMutatedStreams } from "../../../figures/r7-streams.ts";

const FRESH_SEED = Math.floor(Math.random() * 2 ** 31);

test("R7: recorded streams give the same answer at every split and with all three line endings", async (t) => {
  const streams = await runChoppedStreams({ stride: 256 });
  t.diagnostic(`R7 ${streams} chopped streams, all equal`);
  assert.ok(streams > 60);
});

for (const seed of [7, FRESH_SEED]) {
  test(`R7: mutated streams neither crash nor let an incomplete call out (seed ${seed})`, async (t) => {
    const figures = await runMutatedStreams({ seed, count: seed === FRESH_SEED ? 20 : 100 });
    t.diagnostic(`R7 ${JSON.stringify(figures)}`);
    assert.deepEqual(
      { crashes: figures.crashes, incompleteCalls: figures.incompleteCalls },
      { crashes: 0, incompleteCalls: 0 },
    );
    if (seed !== FRESH_SEED) assert.ok(figures.answers > 10 && figures.refusals > 10, "both ways must be trodden");
  });
}
