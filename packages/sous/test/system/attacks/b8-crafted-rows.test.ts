/** Databases in which one value was changed, and every command that reads runs. `npm run soak -- B8` tries them all. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { runCraftedRows } from "../../figures/b8-crafted-rows.ts";

test("B8.2: no command ends with a stack trace when a column or a field holds something odd", async () => {
  const { attempts, found } = await runCraftedRows({ seed: 1, share: 0.003 });
  assert.deepEqual(found, []);
  assert.ok(attempts > 5);
});
