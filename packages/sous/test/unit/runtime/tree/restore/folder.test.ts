/** The folder of a tree is recorded once, with its root, and holds for whatever continues the tree. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import { systemHost } from "../../../../../src/machine/host.ts";
import { createRuntime } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../../../src/testing/steps.ts";

test("G5: a root says where its tree was made, also after a resume elsewhere; a copy belongs where it is made", async () => {
  const store = openMemoryStore();
  const runtimeIn = (cwd: string) => createRuntime({ store, host: systemHost({ cwd, environment: {} }) });
  const model = scriptedModel({
    lead: [
      [calls("subagent", { label: "scout", task_prompt: "Look." })],
      says("One."),
      says("Two."),
      says("Three."),
      says("Four."),
    ],
    "lead/*": [says("Found.")],
  });
  const lead = agent({ name: "lead", model, delegate: true });
  const first = runtimeIn("/srv/shop").run(lead, "Begin.");
  await first;
  const second = first.followUp("More?");
  await second;
  const third = runtimeIn("/srv/bakery").resume(second.id, { agent: lead, message: "And here?" });
  await third;
  const copy = runtimeIn("/srv/bakery").fork(second.id, { agent: lead, message: "A copy?" });
  await copy;
  const roots = await store.list({ rootsOnly: true });
  // By their tasks: runs that two runtimes begin in one millisecond are in no order.
  assert.deepEqual(Object.fromEntries(roots.map(({ task, cwd }) => [task, cwd])), {
    "Begin.": "/srv/shop",
    "More?": "/srv/shop",
    "And here?": "/srv/shop",
    "A copy?": "/srv/bakery",
  });
  const children = await store.children(first.id);
  assert.deepEqual(
    children.map(({ path, cwd }) => [path, cwd]),
    [["lead/scout", undefined]],
  );
});
