/** Trees over worker processes on a real Postgres server: a share of what `npm run soak -- workers` measures in full. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { cancelWorkers } from "../../../figures/workers-cancels.ts";
import { runWorkersKills } from "../../../figures/workers-kills.ts";
import { loseWorker } from "../../../figures/workers-sleepers.ts";

suite("trees over worker processes", { concurrency: true }, () => {
  test("complete when workers and the server are killed, and nothing that was finished is done again", async () => {
    const figure = await runWorkersKills({ seed: 5, trees: 2, shape: [3, 3], victims: ["both", "holder"] });
    assert.deepEqual(figure.broken, []);
    assert.equal(figure.trees, 2);
  });

  test("are at work again long before its lease ends when a worker on another host is killed", async () => {
    const { backMs, moved, problems } = await loseWorker("killed elsewhere");
    assert.deepEqual([problems, moved], [[], 13]);
    assert.ok(backMs < 8_000, `after ${backMs} ms`);
  });

  test("ask no model once they are cancelled, also when a worker dies meanwhile", async () => {
    const { lastRequestMs, problems } = await cancelWorkers({ shape: [3, 6], killAfterMs: 20, delayMs: 2_000 });
    assert.deepEqual(problems, []);
    // A run that had not heard of it would ask again when its answer has come.
    assert.ok(lastRequestMs < 2_000, `the last request came after ${lastRequestMs} ms`);
  });
});
