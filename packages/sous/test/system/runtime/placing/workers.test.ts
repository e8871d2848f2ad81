/** Trees over worker processes on a real Postgres server: a share of what `npm run soak -- workers` measures in full. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { runWorkersKills } from "../../../figures/workers-kills.ts";

test("trees over worker processes complete when workers and the server are killed, and nothing that was finished is done again", async () => {
  const figure = await runWorkersKills({ seed: 5, trees: 2, shape: [3, 3], victims: ["both", "holder"] });
  assert.deepEqual(figure.broken, []);
  assert.equal(figure.trees, 2);
});
