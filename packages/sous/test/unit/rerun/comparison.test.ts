/** Comparison: two recorded trees are the same but for time, numbers and ids, or differ in a first step, which is named. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { StoredEvent } from "../../../src/core/event.ts";
import { after, calls, type Script, says } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";
import { compareRuns } from "../../support/rerun/compare-runs.ts";

const look = simpleTool("look", () => "A view.");

async function eventsOf(script: Script, seed: number): Promise<readonly StoredEvent[]> {
  const stage = openStage(script, { seed });
  const { runId } = await stage.run(stage.lead({ tools: [look] }));
  return stage.store.read(runId);
}

const task = (label: string) => ({ label, task_prompt: `Do ${label}.` });
const script = (delays: readonly [number, number], last = "B."): Script => ({
  lead: [calls("parallel_subagent", { tasks: [task("a"), task("b")] }), says("Done.")],
  "lead/a": [[after(delays[0]), calls("look")], says("A.")],
  "lead/b": [[after(delays[1]), says(last)]],
});

suite("G4: two streams", () => {
  test("two streams are the same whichever child was faster, and whatever the ids are", async () => {
    const one = await eventsOf(script([10, 500]), 1);
    const other = await eventsOf(script([900, 5]), 2);
    assert.notDeepEqual(
      one.map(({ path, type }) => `${path} ${type}`),
      other.map(({ path, type }) => `${path} ${type}`),
    );
    assert.deepEqual(compareRuns(one, other), { matches: true, firstDifference: undefined });
  });

  test("two streams differ in the first step that is not the same, path by path", async () => {
    const one = await eventsOf(script([10, 20]), 1);
    const other = await eventsOf(script([10, 20], "C."), 2);
    const { matches, firstDifference } = compareRuns(one, other);
    assert.equal(matches, false);
    assert.deepEqual(firstDifference, {
      path: "lead/b",
      step: "turn 1, the answer",
      at: "message.content[0].text",
      expected: "B.",
      found: "C.",
      sentence: 'lead/b, turn 1, the answer (message.content[0].text): expected "B.", found "C."',
    });
  });

  test("two streams differ where one of them has nothing more", async () => {
    const events = await eventsOf(script([10, 20]), 1);
    const missing = compareRuns(events, events.slice(0, -1)).firstDifference;
    assert.equal(missing?.sentence, "lead, turn 2, the end: expected run-end (completed), found nothing more");
    const last = events.at(-1);
    assert.ok(last !== undefined);
    const more = compareRuns(events, [...events, { ...last, seq: last.seq + 1 }]).firstDifference;
    assert.equal(more?.sentence, "lead, turn 2, the end: expected nothing more, found run-end (completed)");
  });

  test("two streams differ in the size of a prompt, unless it holds how long children took or what they were doing", async () => {
    const compareLonger = async (call: ReturnType<typeof calls>) => {
      const events = await eventsOf({ lead: [call, says("Done.")], "lead/*": [says("A.")] }, 1);
      const longer = events.map((event) =>
        event.type === "turn-start" && event.turn === 2 ? { ...event, promptTokens: event.promptTokens + 1 } : event,
      );
      return compareRuns(events, longer).firstDifference?.sentence.replace(/\d{2,}/g, "…");
    };
    const found = "lead, turn 2 (promptTokens): expected …, found …";
    assert.equal(await compareLonger(calls("look")), found);
    assert.equal(await compareLonger(calls("subagent", task("a"))), found);
    assert.equal(await compareLonger(calls("parallel_subagent", { tasks: [task("a"), task("b")] })), undefined);
    assert.equal(await compareLonger(calls("subagent_list")), undefined);
  });

  test("two streams differ by a run that only one of them has", async () => {
    const one = await eventsOf({ lead: [says("Done.")] }, 1);
    const other = await eventsOf({ lead: [calls("subagent", task("a")), says("Done.")], "lead/a": [says("A.")] }, 1);
    const found = compareRuns(one, other).firstDifference;
    assert.equal(found?.at, "message.content[0].type");
  });
});
