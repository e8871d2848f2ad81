/** D5 in small: some kills in the middle of a delegation. All 50 are `npm run soak -- D5`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { runOutsideKills } from "./outside-kills.ts";

test("D5: after kill -9 no agent outside is prompted twice, no process is left, and the sums agree", async (context) => {
  const figure = await runOutsideKills({ kills: 4 });
  context.diagnostic(JSON.stringify(figure));
  assert.deepEqual(figure.broken, []);
  assert.equal(figure.places.length, 4);
  assert.ok(figure.placesInAll >= 50);
});
