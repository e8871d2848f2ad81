/** Placed runs for the contract of `Placing`. */

import assert from "node:assert/strict";
import type { NewMail, PlacingStore, WorkerFacts } from "../core/engine.ts";
import type { EventOf } from "../core/event.ts";
import { FIRST_FENCE, type Store } from "../core/store.ts";
import type { PlacingStores } from "./placing-contract.ts";
import { type SampleTree, samplePlaced, sampleTree } from "./sample-tree.ts";

export function worker(...agents: string[]): WorkerFacts {
  return { name: "one", agents: agents.length === 0 ? ["scout"] : agents, places: 8 };
}

/** A root that is at work in the store. */
export async function begunRoot(store: Store, rootId = "lead"): Promise<EventOf<"run-start">> {
  const tree = sampleTree(rootId);
  const start = tree.start(rootId);
  await store.append(rootId, tree.events);
  return start;
}

/** Places runs of the agent `scout` below a root that is at work. Returns their ids, in order. */
export async function placeScouts(store: Store & PlacingStore, count: number): Promise<string[]> {
  const root = await begunRoot(store);
  const runIds = Array.from({ length: count }, (_, index) => `scout${index}`);
  await store.placing.place(runIds.map((runId) => startOf(samplePlaced(root, "lead", runId, "scout"))));
  return runIds;
}

/** A placed run that was taken once and waits for the answers to two questions. */
export async function parked({ store, other }: PlacingStores): Promise<SampleTree> {
  const scout = samplePlaced(await begunRoot(store), "lead", "scout");
  await store.placing.place([startOf(scout)]);
  await other.placing.take(worker(), 1);
  for (const callId of ["call_1", "call_2"])
    scout.add("scout", { type: "approval-request", callId, toolName: "terminal", input: {} });
  await other.append("scout", scout.events.slice(1));
  await other.release("scout", FIRST_FENCE);
  return scout;
}

/** The answer of a person to a call of `scout`. */
export function answerTo(callId: string, runId = "scout", to = "scout"): NewMail {
  return { to, body: { kind: "answer", runId, callId, digest: "01234567", answer: "yes" } };
}

export function startOf({ events }: SampleTree): EventOf<"run-start"> {
  const [start] = events;
  assert.ok(start?.type === "run-start");
  return start;
}
