/** A store that never answers: the run goes on without it, or says that it is lost. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Store } from "../../../src/core/store.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { says } from "../../../src/testing/steps.ts";
import { openStage } from "../../support/requirements/support.ts";
import { wrapStore } from "../../support/testing/faults.ts";

/** Takes everything and says nothing. */
function silentStore(): Store {
  return wrapStore(openMemoryStore(), { isImmediate: false, append: () => new Promise<void>(() => {}) });
}

suite("a store that never answers", () => {
  test("a store that never answers is given up after a while, and the run continues with everything shown", async () => {
    const stage = openStage({ lead: [says("Done.")] }, { runtime: { store: silentStore() } });
    const { status, text } = await stage.run(stage.lead());
    assert.deepEqual([status, text, stage.world.clock.monotonic()], ["completed", "Done.", 30_000]);
  });

  test("a store that never answers fails the run when it is required", async () => {
    const stage = openStage({ lead: [says("Done.")] }, { runtime: { store: silentStore(), requireStore: true } });
    const { status, error } = await stage.run(stage.lead());
    assert.deepEqual(
      [status, error],
      ["failed", { type: "store", message: "The store did not say for 30 s whether it kept event 1" }],
    );
  });
});
