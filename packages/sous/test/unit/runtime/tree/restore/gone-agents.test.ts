/** A tree that is resumed without an agent that one of its children was made of. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import type { StoredEvent } from "../../../../../src/core/event.ts";
import { NO_OWNER } from "../../../../../src/core/store.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { checkHistory } from "../../../../../src/testing/checker.ts";
import { after, calls, type Script, says } from "../../../../../src/testing/steps.ts";
import { openStage, type Stage } from "../../../../support/requirements/support.ts";

const GONE = "Subagent failed: Unknown agent: scout. No agents are defined.\n(subagent_id: CHILD)";

/** The run is cut while its child is asked for the first time, and resumed with a definition that has no specialist. */
async function resumeWithoutScout(
  background: boolean,
): Promise<{ stage: Stage; id: string; events: readonly StoredEvent[] }> {
  const script: Script = {
    lead: [calls("subagent", { agent: "scout", label: "look", task_prompt: "Look.", background }), says("Done.")],
    "lead/look": [[after(10), says("Found.")]],
  };
  const first = openStage(script);
  await first.run(first.lead({ subagents: [agent({ name: "scout" })], delegate: true }));
  const stored = first.events.filter((event): event is StoredEvent => event.seq !== undefined);
  const cut = stored.findIndex(({ type, depth }) => type === "turn-start" && depth === 1);
  const store = openMemoryStore();
  const id = stored[0]?.runId ?? "";
  store.append(id, structuredClone(stored.slice(0, cut + 1)), NO_OWNER);
  const stage = openStage(script, { runtime: { store } });
  const result = await stage.world.run(() => stage.runtime.resume(id, { agent: stage.lead({ delegate: true }) }));
  assert.deepEqual([result.status, result.text], ["completed", "Done."]);
  const events = await stage.store.read(id);
  assert.deepEqual(checkHistory(events, { resultUsage: result.usage }), []);
  const ends = events.flatMap((event) => (event.type === "run-end" ? [[event.path, event.status, event.fault]] : []));
  assert.deepEqual(ends, [
    ["lead/look", "failed", { type: "invalid_input", message: "Unknown agent: scout. No agents are defined." }],
    ["lead", "completed", undefined],
  ]);
  return { stage, id, events };
}

/** Without the id of the child, which is another one in every run. */
function withoutId(text: string | undefined): string | undefined {
  return text?.replace(/[0-9A-Z]{26}/, "CHILD");
}

test("G5: a child whose agent is gone ends with the reason, and the call that waited for it says so", async () => {
  const { stage } = await resumeWithoutScout(false);
  const [result] = stage.resultsOf("lead");
  assert.deepEqual([result?.isError, withoutId(result?.output)], [true, GONE]);
});

test("G5: a child in the background whose agent is gone ends with the reason, and its parent gets a report", async () => {
  const { events } = await resumeWithoutScout(true);
  const reports = events.flatMap((event) => (event.type === "report" ? [withoutId(event.text)] : []));
  assert.deepEqual(reports, [`Report of the background subagent look:\n${GONE}`]);
});
