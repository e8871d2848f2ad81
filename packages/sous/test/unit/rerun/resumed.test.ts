/** A recording in which a process died and another went on is run again as if nobody had died. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { NO_OWNER } from "../../../src/core/store.ts";
import { rerun } from "../../../src/rerun.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { calls, fails, type Script, says } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";

const look = simpleTool("look", async () => "A view.");
const write = simpleTool("write", async () => "Written.", { effect: "unsafe" });
const scout = agent({ name: "scout", instructions: "You find.", tools: [look] });

const SCRIPT: Script = {
  lead: [
    [calls("look"), calls("subagent_scout", { task: "Find." })],
    [says("Cut"), fails("interrupted", { retryAfterMs: 10 })],
    calls("parallel_subagent", { tasks: [task("a"), task("b")] }),
    [calls("write"), calls("look")],
    says("Done."),
  ],
  "lead/scout": [calls("look"), says("There.")],
  "lead/*": [calls("look"), says("Nothing.")],
};

test("G4, G5: a run that was killed after any of its events and resumed is run again to the same end", async () => {
  const whole = openStage(SCRIPT);
  const { runId } = await whole.run(leadOf(whole));
  const events = await whole.store.read(runId);
  for (let kept = 1; kept < events.length; kept++) {
    const store = openMemoryStore();
    store.append(runId, events.slice(0, kept), NO_OWNER);
    const stage = openStage(SCRIPT, { seed: 2, runtime: { store } });
    const { status } = await stage.world.run(() => stage.runtime.resume(runId, { agent: leadOf(stage) }));
    assert.equal(status, "completed", `after ${kept} events`);
    // From the real definitions and from the recording alone, in turns.
    const agents = kept % 2 === 0 ? [leadOf(stage)] : undefined;
    const { firstDifference, result } = await rerun(runId, { store, agents });
    assert.equal(firstDifference?.sentence, undefined, `killed after ${kept} events`);
    assert.equal(result.text, "Done.");
  }
});

function leadOf(stage: ReturnType<typeof openStage>) {
  return stage.lead({ tools: [look, write], subagents: [scout] });
}

function task(label: string): { label: string; task_prompt: string } {
  return { label, task_prompt: `Do ${label}.` };
}
