import assert from "node:assert/strict";
import { test } from "node:test";
import { runWorkersBudget } from "../../../figures/workers-budget.ts";

test("children on three workers spend no more than their tree and their leads may, when one of the workers is killed", async () => {
  const figure = await runWorkersBudget({
    ...{ seed: 1, trees: 1, shape: [4, 4], workers: 3, kills: 1, tokens: 30_000, share: 9_000 },
  });
  assert.deepEqual([figure.broken, figure.trees], [[], 1]);
  assert.ok(figure.mostSpent > 5_000 && figure.refused > 0, JSON.stringify(figure));
});
