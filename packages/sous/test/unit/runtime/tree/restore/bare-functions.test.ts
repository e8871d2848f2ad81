/** `resume` and `fork` without a runtime of one's own. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import { fork, resume, run } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import { hangs, says, streams } from "../../../../../src/testing/steps.ts";

test("G5, G6: resume and fork take a stored run from the store that they are given", { timeout: 20_000 }, async () => {
  const store = openMemoryStore();
  const answers = [[streams("Half", "."), hangs()], says("Done."), says("Another way.")];
  const lead = agent({
    name: "lead",
    model: scriptedModel({ lead: () => answers.shift() ?? says("Nothing more.") }),
    delegate: false,
  });
  const handle = run(lead, "Go.", { store });
  for await (const { type } of handle) if (type === "text-delta") handle.cancel();
  const { status, runId } = await handle;
  assert.equal(status, "cancelled");
  const resumed = await resume(runId, { store, agent: lead });
  assert.deepEqual([resumed.status, resumed.text], ["completed", "Done."]);
  assert.equal((await store.run(resumed.runId))?.rootId, runId);
  const forked = await fork(runId, { store, agent: lead, message: "And now?" });
  assert.deepEqual([forked.status, forked.text], ["completed", "Another way."]);
  assert.equal((await store.run(forked.runId))?.rootId, forked.runId);
});
