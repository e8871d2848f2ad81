/** No run ends before its children, also those it knows nothing of. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { agent } from "../../../../src/core/agent.ts";
import type { StoredEvent } from "../../../../src/core/event.ts";
import type { RunHandle } from "../../../../src/core/runtime.ts";
import { tool } from "../../../../src/core/tool.ts";
import { createRuntime } from "../../../../src/runtime.ts";
import { checkHistory } from "../../../../src/testing/checker.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { after, calls, type Script, says } from "../../../../src/testing/steps.ts";
import { createWorld } from "../../../../src/testing/world.ts";
import { openStage, simpleTool } from "../../../support/requirements/support.ts";

/** Runs a lead and returns how its runs began and ended, after checking everything a journal can show. */
async function endings(script: Script, during?: (handle: RunHandle) => void): Promise<string[]> {
  const world = createWorld({ seed: 1, lateness: 0 });
  const model = scriptedModel(script, { clock: world.clock });
  const forget = tool({
    name: "forget",
    description: "Starts a child and does not wait for it.",
    inputSchema: { type: "object" },
    execute(_input, context) {
      context.spawn({ label: "kid", task: "Take your time." }).catch(() => {});
      return "Started.";
    },
  });
  const lead = agent({ name: "lead", model, tools: [forget], delegate: true });
  const events: StoredEvent[] = [];
  const result = await world.run(async () => {
    const handle = createRuntime({ host: world.host }).run(lead, "Go.", {
      onEvent: (event) => void (event.seq !== undefined && events.push(event)),
    });
    if (during !== undefined) world.clock.ownTimer(50, () => during(handle));
    return handle;
  });
  assert.deepEqual(checkHistory(events, { providerUsage: model.reported, resultUsage: result.usage }), []);
  return events.flatMap((event) => {
    if (event.type === "run-start") return [`${event.path} starts`];
    return event.type === "run-end" ? [`${event.path} ${event.status}`] : [];
  });
}

test("a child that a tool has started and not waited for is stopped at the end of its parent", async () => {
  const script = { lead: [calls("forget"), [after(100), says("Done.")]], "lead/kid": [[after(5_000), says("Late.")]] };
  assert.deepEqual(await endings(script), ["lead starts", "lead/kid starts", "lead/kid cancelled", "lead completed"]);
});

test("B10: a parent waits for a finished child that was sent a message from outside", async () => {
  const script = {
    lead: [calls("subagent", { label: "kid", task_prompt: "Look." }), [after(100), says("Done.")], says("Done.")],
    "lead/kid": [says("Found."), [after(5_000), says("And more.")]],
  };
  let answer: Promise<string> | undefined;
  const seen = await endings(script, (handle) => {
    answer = handle.send("lead/kid", "What else?");
  });
  assert.deepEqual(seen, [
    "lead starts",
    "lead/kid starts",
    "lead/kid completed",
    "lead/kid starts",
    "lead/kid completed",
    "lead completed",
  ]);
  assert.equal(await answer, "And more.");
});

for (const background of [false, true]) {
  test(`a child that has ended keeps no listener on the signal of its own (background: ${background})`, async () => {
    const { signal } = new AbortController();
    let during = 0;
    const delegates = simpleTool("delegates", async (_input, { spawn }) => {
      const options = { signal, background };
      const { kind } = await spawn({ label: "kid", task: "Look.", options });
      return kind;
    });
    const stage = openStage({
      lead: [calls("delegates"), says("Done."), says("Heard.")],
      "lead/kid": [[after(100), says("Found.")]],
    });
    stage.when(
      ({ type, path }) => type === "turn-start" && path === "lead/kid",
      () => {
        during = getEventListeners(signal, "abort").length;
      },
    );
    const { status } = await stage.run(stage.lead({ tools: [delegates] }));
    assert.deepEqual([status, during, getEventListeners(signal, "abort").length], ["completed", 1, 0]);
  });
}
