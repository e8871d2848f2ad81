/** Ids that are taken, few and many. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { UsedIds } from "../../src/core/used-ids.ts";

test("an id is taken from the moment it is added, however many there are", () => {
  const ids = new UsedIds();
  const names = Array.from({ length: 100 }, (_, index) => `call_${index}`);
  for (const [index, name] of names.entries()) {
    assert.equal(ids.has(name), false);
    ids.add(name);
    ids.add(name);
    for (const earlier of names.slice(0, index + 1)) assert.ok(ids.has(earlier), `${earlier} of ${index + 1}`);
  }
});
