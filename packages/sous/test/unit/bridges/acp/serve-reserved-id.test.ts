/** A run whose id was given away before it began, as that of a session is. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, createRuntime, openMemoryStore, UserError } from "sous";
import { says, scriptedModel } from "sous/testing";

const RESERVED = "01M7JCKS3V9AY55V0GRM32M9A5";

test("a root has the id that was reserved for it, over all its runs", async () => {
  const store = openMemoryStore();
  const lead = agent({ name: "lead", model: scriptedModel({ lead: [says("One."), says("Two.")] }) });
  const first = createRuntime({ store }).run(lead, "go", { rootId: RESERVED });
  assert.equal(first.id, RESERVED);
  assert.equal((await first).text, "One.");
  const second = first.followUp("on");
  assert.notEqual(second.id, RESERVED);
  await second;
  const runs = await store.list({ rootId: RESERVED });
  assert.deepEqual(new Set(runs.map(({ agentId }) => agentId)), new Set([RESERVED]));
});

test("an id that is not one of a run is refused", () => {
  const lead = agent({ name: "lead", model: scriptedModel({ lead: [says("One.")] }) });
  assert.throws(() => createRuntime().run(lead, "go", { rootId: "session-1" }), UserError);
});
