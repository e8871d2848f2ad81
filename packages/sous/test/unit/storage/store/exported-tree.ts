/** Trees for tests of exports and imports: real ids, every type of event, and their file as a value that can be spoilt. */

import assert from "node:assert/strict";
import type { RunIdentity, StoredBody, StoredEvent } from "../../../../src/core/event.ts";
import { exportTree } from "../../../../src/storage/store/export/tree.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { EVERY_EVENT } from "../../../support/core/every-event.ts";

export const ROOT = "01KDVDP9G0R00TR00TR00TR001";
export const CHILD = "01KDVDP9G1CH1DCH1DCH1DC002";
export const FOLLOW_UP = "01KDVDP9G2F0110WF0110WF003";

const root: RunIdentity = { runId: ROOT, agentId: ROOT, parentId: null, path: "lead", depth: 0 };
const child: RunIdentity = { runId: CHILD, agentId: CHILD, parentId: ROOT, path: "lead/scout", depth: 1 };
const followUp: RunIdentity = { ...root, runId: FOLLOW_UP };

const bodyOf = (type: StoredEvent["type"]): StoredBody => {
  const whole: StoredEvent = EVERY_EVENT[type];
  const { seq, time, runId, agentId, parentId, path, depth, ...body } = whole;
  return body as StoredBody;
};

function ofChild(body: StoredBody): StoredBody {
  return body.type === "placed" ? { ...body, childRunId: CHILD, childAgentId: CHILD } : body;
}

/** A root with a child that is a fork of it, and a follow-up of the root. It has every type of event. */
export function wholeTree(): StoredEvent[] {
  const { summarizes, placed, ...whole } = bodyOf("run-start") as StoredBody & { type: "run-start" };
  assert.ok(placed !== undefined);
  const start = { ...whole, placed: { ...placed, rootId: ROOT } };
  const middle = (Object.keys(EVERY_EVENT) as StoredEvent["type"][]).filter(
    (type) => type !== "run-start" && type !== "run-end" && type !== "report",
  );
  const told: [who: RunIdentity, body: StoredBody][] = [
    [root, { ...start, origin: undefined, call: undefined }],
    ...middle.map((type): [RunIdentity, StoredBody] => [root, ofChild(bodyOf(type))]),
    [child, { ...start, label: "scout", origin: { kind: "fork", runId: ROOT, messages: 1 }, terms: undefined }],
    [child, bodyOf("message-end")],
    [child, bodyOf("tool-call-end")],
    [child, bodyOf("run-end")],
    [root, { type: "report", childRunId: CHILD, childAgentId: CHILD, text: `Seen. (subagent_id: ${CHILD})` }],
    [root, bodyOf("run-end")],
    [followUp, { ...start, summarizes, origin: { kind: "follow-up", runId: ROOT }, call: undefined }],
    [followUp, bodyOf("run-end")],
  ];
  const startTime = Date.UTC(2026, 0, 1);
  return told.map(
    ([who, body], index) => ({ seq: index + 1, time: startTime + index, ...who, ...body }) as StoredEvent,
  );
}

/** What a file is made of, before anything is known of it. */
export type Spoilable = { [field: string]: unknown; events: Record<string, unknown>[] };

/** The exported file as a value of its own. */
export async function exportedFile(events: readonly StoredEvent[] = wholeTree()): Promise<Spoilable> {
  return JSON.parse(await exportedText(events));
}

export async function exportedText(events: readonly StoredEvent[] = wholeTree()): Promise<string> {
  const store = openMemoryStore();
  store.append(ROOT, events);
  return exportTree(store, ROOT, "json");
}
