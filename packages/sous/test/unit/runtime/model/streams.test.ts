import assert from "node:assert/strict";
import { test } from "node:test";
import { runChoppedStreams, runMutatedStreams } from "../../../figures/r7-streams.ts";

test("R7: recorded streams give the same answer at every split and with all three line endings", async (t) => {
  const streams = await runChoppedStreams({ stride: 256 });
  t.diagnostic(`R7 ${streams} chopped streams, all equal`);
  assert.ok(streams > 60);
});

// `npm run soak -- R7` draws fresh seeds.
for (const seed of [7, 8]) {
  test(`R7: mutated streams neither crash nor let an incomplete call out (seed ${seed})`, async (t) => {
    const figures = await runMutatedStreams({ seed, count: 100 });
    t.diagnostic(`R7 ${JSON.stringify(figures)}`);
    assert.deepEqual(
      { crashes: figures.crashes, incompleteCalls: figures.incompleteCalls },
      { crashes: 0, incompleteCalls: 0 },
    );
    assert.ok(figures.answers > 10 && figures.refusals > 10, "both ways must be trodden");
  });
}
