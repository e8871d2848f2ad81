/** The limits that can be typed for a run that goes on. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Continuation, chooseRun, continueRun } from "../../../../src/app/cli/commands/resume.ts";
import { watchRun } from "../../../../src/app/cli/run/watch.ts";
import { agent } from "../../../../src/core/agent.ts";
import type { RunStart } from "../../../../src/core/run-start.ts";
import type { RunResult } from "../../../../src/core/runtime.ts";
import { NO_OWNER } from "../../../../src/core/store.ts";
import { systemHost } from "../../../../src/machine/host.ts";
import { createRuntime } from "../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { hangs, type Step, says } from "../../../../src/testing/steps.ts";

const ID = "01K2H0AAAA0000000000000001";
const AS_IT_WAS: Continuation = {
  isFork: false,
  at: undefined,
  moreTokens: undefined,
  moreUsd: undefined,
  seconds: undefined,
  maxTurns: undefined,
};

const PLACE = { cwd: "/srv/shop", elsewhere: "refuse", again: (id: string) => id } as const;

/** A run that was at work for ten minutes when its process died, and how it goes on. */
async function goesOn(given: Partial<Continuation>, details: Partial<RunStart>, answer: Step): Promise<RunResult> {
  const store = openMemoryStore();
  const tree = sampleTree(ID, Date.UTC(2026, 10, 17));
  tree.start(ID, { label: "lead", details });
  tree.add(ID, { type: "turn-start", turn: 1, promptTokens: 10, reserved: 0 });
  const events = tree.events.map((event) => (event.seq === 1 ? event : { ...event, time: event.time + 600_000 }));
  await store.append(ID, events, NO_OWNER);
  const way = { ...AS_IT_WAS, ...given };
  const lead = agent({ name: "lead", model: scriptedModel({ "**": () => answer }) });
  const stored = await chooseRun(store, ID, way, PLACE);
  const watch = { onEvent: () => {}, signal: new AbortController().signal };
  return continueRun({ runtime: createRuntime({ store }), agent: lead }, stored, way, watch);
}

test("G5: --timeout of sous resume ends a run that had no end in sight", async () => {
  const { status, error } = await goesOn({ seconds: 0.05 }, {}, hangs());
  assert.deepEqual([status, error?.type], ["timeout", "timeout"]);
});

test("G5: --timeout of sous resume counts from now: a run that was out of time continues", async () => {
  const details = { budget: { seconds: 300 } };
  const without = await goesOn({}, details, says("Done."));
  assert.equal(without.status, "timeout", "what held before holds");
  const result = await goesOn({ seconds: 60 }, details, says("Done."));
  assert.deepEqual([result.status, result.text], ["completed", "Done."]);
  const narrow = await goesOn({ seconds: 0.05 }, { budget: { seconds: 36_000 } }, hangs());
  assert.equal(narrow.status, "timeout", "and it can be less than what is left");
});

test("G5: --timeout of sous resume --fork holds for the copy", async () => {
  const result = await goesOn({ isFork: true, seconds: 0.05 }, { budget: { seconds: 36_000 } }, hangs());
  assert.equal(result.status, "timeout");
});

test("G5: --max-turns of sous resume takes the place of what the run was given", async () => {
  const enough = await goesOn({ maxTurns: 2 }, {}, says("Done."));
  assert.equal(enough.status, "completed");
  const spent = await goesOn({ maxTurns: 1 }, {}, { step: "call", toolName: "none", input: {}, callId: undefined });
  assert.deepEqual([spent.status, spent.stopReason, spent.turns], ["incomplete", "turns", 1]);
});

test("B8: a run without progress writes nothing while it happens", async (t) => {
  const written = t.mock.method(process.stderr, "write", () => true);
  const store = openMemoryStore();
  const lead = agent({ name: "lead", model: scriptedModel(says("Done.")) });
  const { result, tree } = await watchRun({
    clock: systemHost({}).clock,
    style: undefined,
    earlier: [],
    start: (onEvent) => createRuntime({ store }).run(lead, "Go", { onEvent }),
  });
  assert.deepEqual([result.text, tree.roots.length, written.mock.callCount()], ["Done.", 1, 0]);
});

test("G5: --add-tokens of sous resume --fork is added to what the copied run was given", async () => {
  const ended = async (given: Partial<Continuation>, budget: RunStart["budget"]) =>
    (await goesOn({ isFork: true, ...given }, { budget }, says("Done."))).status;
  assert.equal(await ended({}, { tokens: 20 }), "budget_exceeded");
  assert.equal(await ended({ moreTokens: 1_000_000 }, { tokens: 20 }), "completed");
  assert.equal(await ended({ maxTurns: 2 }, undefined), "completed", "a run without a limit gets none");
});
