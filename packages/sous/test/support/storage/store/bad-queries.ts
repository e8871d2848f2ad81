/** The checks of our stores beyond the contract: a query that cannot be answered is refused, and a time that is no time deletes nothing. */

import assert from "node:assert/strict";
import { UserError } from "../../../../src/core/errors.ts";
import type { Store } from "../../../../src/core/store.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";

export async function checkBadQueries(store: Store): Promise<void> {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.end("lead");
  await store.append("lead", tree.events);
  for (const before of [Number.NaN, Number.POSITIVE_INFINITY, undefined, "yesterday"])
    await assert.rejects(store.prune(before as number), UserError, String(before));
  for (const query of [{ limit: -1 }, { limit: 0.5 }, { offset: Number.NaN }, { since: Number.NaN }])
    await assert.rejects(store.list(query), UserError, JSON.stringify(query));
  await assert.rejects(store.list({ status: "done" as "completed" }), UserError);
  const left = await store.list({ limit: Number.POSITIVE_INFINITY });
  assert.deepEqual(
    left.map(({ id }) => id),
    ["lead"],
  );
}
