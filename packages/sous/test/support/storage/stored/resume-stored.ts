/** Continues the trees of `golden/` in any store that holds them, with the agents that began them. */

import assert from "node:assert/strict";
import { createRuntime, type RunResult, type Runtime, type SousEvent, type Store } from "../../../../src/index.ts";
import { checkHistory } from "../../../../src/testing.ts";
import { externalLead, FAN_OUT_INPUTS, fanOutWorker, killedLead, PROJECT, parkedLead } from "./cast.ts";
import type { Cast } from "./cast-tools.ts";

/** One process on a store: what its tools did, and the runs it asked a model for. */
type Life = { runtime: Runtime; cast: Cast; asked: string[]; onEvent(event: SousEvent): void };

function begin(store: Store): Life {
  const asked: string[] = [];
  const onEvent = (event: SousEvent): void => {
    if (event.type === "turn-start") asked.push(event.path);
  };
  const approve = () => ({ allow: true }) as const;
  return { runtime: createRuntime({ store, host: { cwd: PROJECT }, approve }), cast: { ran: [] }, asked, onEvent };
}

/** Finished calls and children are not repeated, a call that only reads is, and the outcome of the other is unknown. */
export async function resumeKilled(store: Store, rootId: string): Promise<void> {
  const { runtime, cast, asked, onEvent } = begin(store);
  const result: RunResult = await runtime.resume(rootId, { agent: killedLead(cast), onEvent });
  assert.deepEqual([result.status, result.text], ["completed", "All is quiet."]);
  assert.deepEqual([...cast.ran].sort(), ["lead peek", "lead/south peek"]);
  assert.deepEqual(asked, ["lead/south", "lead"]);
  assert.deepEqual(
    result.agents.map(({ path, status, turns, toolCount }) => [path, status, turns, toolCount]),
    [
      ["lead", "completed", 3, 4],
      ["lead/north", "completed", 2, 1],
      ["lead/south", "completed", 3, 2],
    ],
  );
  const events = await store.read(rootId);
  assert.deepEqual(checkHistory(events), []);
  const sent = events.find((event) => event.type === "tool-call-end" && event.toolName === "send");
  assert.ok(sent?.type === "tool-call-end" && sent.isError && /unknown/i.test(sent.output), JSON.stringify(sent));
}

/** The input that had its answer keeps it. */
export async function resumeFanOut(store: Store, rootId: string): Promise<void> {
  const { runtime, cast, asked, onEvent } = begin(store);
  const results = await runtime.fanOut(fanOutWorker(cast), FAN_OUT_INPUTS, { resumes: rootId, onEvent });
  assert.deepEqual(
    results.map(({ status, text }) => [status, text]),
    FAN_OUT_INPUTS.map((input) => ["completed", `Seen ${input}.`]),
  );
  assert.deepEqual(asked.sort(), ["fan-out/worker#2", "fan-out/worker#3"]);
  assert.deepEqual(checkHistory(await store.read(rootId)), []);
}

/** The recorded session is opened again, and the task is not sent a second time. */
export async function resumeExternal(store: Store, rootId: string): Promise<void> {
  const { runtime, cast } = begin(store);
  const { status, text } = await runtime.resume(rootId, { agent: externalLead(cast) });
  assert.deepEqual([status, text], ["completed", "Done."]);
  assert.equal(cast.ran.length, 1);
  assert.match(cast.ran[0] ?? "", /^session-1: .*interrupted/s);
  assert.deepEqual(checkHistory(await store.read(rootId)), []);
}

/** Both questions are open; each tool runs once it is allowed, and the one that had run does not run again. */
export async function answerParked(store: Store, rootId: string): Promise<void> {
  const { runtime, cast } = begin(store);
  const questions = await runtime.questions(rootId);
  assert.deepEqual(
    questions.map(({ path, toolName, input }) => [path, toolName, input]),
    [
      ["lead", "pay", { amount: 5 }],
      ["lead/clerk", "pay", { amount: 7 }],
    ],
  );
  const answers = Object.fromEntries(questions.map(({ id }, index) => [id, { allow: index === 1 }]));
  const { status, text } = await runtime.resume(rootId, { agent: parkedLead(cast), answers });
  assert.deepEqual([status, text, cast.ran], ["completed", "All is paid.", ["lead/clerk pay"]]);
  assert.deepEqual(await runtime.questions(rootId), []);
  assert.deepEqual(checkHistory(await store.read(rootId)), []);
}
