/** The guard of speed and memory: what no load of a machine changes, against a table. `npm run soak -- speed` plants faults for it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { builtPackage, countSpeed } from "../support/speed-counts.ts";
import { CHILD_FUNCTIONS, CHILD_KILOBYTES, COUNTS, MAX_SURVIVORS } from "../support/speed-table.ts";

test("a turn, a piece of text, a delegation, a child and a root take what the table says, and a child holds no more", async (context) => {
  using built = await builtPackage();
  const { counts, functions, heapKilobytes, survivors } = await countSpeed(built.dist);
  context.diagnostic(JSON.stringify({ functions, heapKilobytes, survivors }));
  assert.deepEqual(counts, COUNTS);
  assert.equal(functions, CHILD_FUNCTIONS);
  assert.ok(heapKilobytes <= CHILD_KILOBYTES * 1.03, `${heapKilobytes} KB for a live child`);
  assert.ok(survivors <= MAX_SURVIVORS, `${survivors} of what is allocated survives`);
});
