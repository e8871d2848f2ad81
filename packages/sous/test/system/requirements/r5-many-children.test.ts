/** R5 in small; the whole figure is `npm run soak`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { measureManyChildren } from "../../figures/r5-many-children.ts";

test("R5: a waiting child takes at most 15 KB, and a finished one less than 1 KB", async (context) => {
  const figure = await measureManyChildren(1000, 1000, { withMemory: false });
  context.diagnostic(`R5: ${JSON.stringify(figure)}`);
  // 150 MB for 10,000, and the 32 MB that V8 lets young objects grow to.
  assert.ok(figure.waitingMegabytes < 32 + 1000 * 0.015, `${figure.waitingMegabytes} MB for 1,000`);
  assert.ok(figure.keptBytesPerChild < 1024, `${figure.keptBytesPerChild} bytes`);
});
