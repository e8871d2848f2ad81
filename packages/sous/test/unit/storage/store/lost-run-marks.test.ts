/** A run that its store could no longer keep: what the store is told, and in which order. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST_FENCE } from "../../../../src/core/store.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { says } from "../../../../src/testing/steps.ts";
import { openStage } from "../../../support/requirements/support.ts";
import { wrapStore } from "../../../support/testing/faults.ts";

test("the store is told at once and again at the end, and only then that no one works on the run, though it refuses all of it", async () => {
  const told: string[] = [];
  const refuse = (what: string) => {
    told.push(what);
    return Promise.reject(new Error("The disk is full"));
  };
  let kept = 0;
  const inner = openMemoryStore();
  const store = wrapStore(inner, {
    append: (...given) => {
      kept += 1;
      return kept === 1 ? inner.append(...given) : Promise.reject(new Error("The disk is full"));
    },
    markLost: async (_rootId, _reason) => void told.push("lost"),
    release: (_rootId, fence) => refuse(`released ${fence}`),
  });
  const stage = openStage({ lead: [says("Done.")] }, { runtime: { store } });
  const { status, lost } = await stage.run(stage.lead());
  await new Promise(setImmediate);
  assert.deepEqual([status, told], ["completed", ["lost", "lost", `released ${FIRST_FENCE}`]]);
  assert.match(lost ?? "", /The disk is full/);
});
