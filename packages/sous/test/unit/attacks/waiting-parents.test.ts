/** A run that has nothing to do but wait for a background child still hears what is said to it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { calls, hangs, says } from "../../../src/testing/steps.ts";
import { openStage, type Stage } from "../../support/requirements/support.ts";

const start = calls("subagent", { label: "scout", task_prompt: "Look for an hour.", background: true });

/** Does something a second after the lead has begun to wait for its child. */
function whileWaiting(stage: Stage, act: () => unknown): void {
  stage.when(
    (event) => event.type === "message-end" && event.path === "lead" && event.turn === 2,
    () => void stage.world.clock.timer(1000, act),
  );
}

test("a waiting parent reads at once what it is told, and waits again", async () => {
  const stage = openStage({
    lead: [start, says("I wait."), says("I heard you."), says("It was there.")],
    "lead/scout": [[hangs()]],
  });
  whileWaiting(stage, () => {
    assert.equal(handle.steer("lead", "How far are you?"), true);
    stage.world.clock.timer(1000, () => handle.cancel("lead/scout"));
  });
  const handle = stage.start(stage.lead());
  const { status, text } = await stage.end(handle);
  assert.deepEqual([status, text], ["completed", "It was there."]);
  const times = stage.eventsOf("message-end", "lead").map(({ time }) => time - (stage.events[0]?.time ?? 0));
  assert.deepEqual(times, [0, 0, 1000, 2000]);
});

test("a waiting parent wraps up when it is asked to, and stops the child it waited for", async () => {
  const stage = openStage({ lead: [start, says("I wait."), says("Nothing yet.")], "lead/scout": [[hangs()]] });
  whileWaiting(stage, () => handle.cancel("lead", { mode: "wrap-up" }));
  const handle = stage.start(stage.lead());
  const { status, text, agents } = await stage.end(handle);
  assert.deepEqual([status, text, agents[1]?.status], ["cancelled", "Nothing yet.", "cancelled"]);
});

test("a waiting parent wraps up also when it has no turns left", async () => {
  const stage = openStage({ lead: [start, says("Nothing yet.")], "lead/scout": [[hangs()]] });
  stage.when(
    (event) => event.type === "turn-start" && event.path === "lead/scout",
    () => void stage.world.clock.timer(1000, () => handle.cancel("lead", { mode: "wrap-up" })),
  );
  const handle = stage.start(stage.lead({ maxTurns: 1 }));
  const { status, text, agents } = await stage.end(handle);
  assert.deepEqual([status, text, agents[1]?.status], ["cancelled", "Nothing yet.", "cancelled"]);
});
