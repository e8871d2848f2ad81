/** Random damages of one run of a database, and the commands that people type then. `npm run soak -- B8` tries many. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { tryDamages } from "../../support/app/cli/damaged-runs.ts";

test("B8.2: a damaged run harms no other: each is shown with the same figures and continues, and nothing is done twice", async () => {
  const { trials, noticed, found } = await tryDamages({ seed: 1, count: 6 });
  assert.deepEqual(found, []);
  assert.ok(noticed >= trials / 2, `${noticed} of ${trials} were noticed`);
});
