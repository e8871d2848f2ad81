/** A tree told in events: a lead that hands work to an external agent, which runs a command and edits a file with approval. */

import type { StoredBody } from "../../src/core/event.ts";
import { noUsage } from "../../src/core/usage.ts";
import { type SampleTree, sampleTree } from "../../src/testing/sample-tree.ts";

export const EXTERNAL_USAGE = { ...noUsage(), inputTokens: 900, outputTokens: 40, totalTokens: 940 };

export const SESSION: StoredBody = {
  type: "outside-session",
  server: "Claude Code",
  sessionId: "session-1",
  continued: false,
};

export const TURN: StoredBody = { type: "turn-start", turn: 1, promptTokens: 10, reserved: 4106, reservedUsd: 0.5 };

const test = { callId: "t1", name: "Bash", kind: "execute", title: "npm test", input: { command: "npm test" } };
const edit = { callId: "t2", name: "edit", kind: "edit", title: "edit", input: { path: "src/a.ts" } };

export const TEST_START: StoredBody = { type: "outside-call", phase: "start", ...test };
export const TEST_END: StoredBody = { type: "outside-call", phase: "end", ...test, output: "3 failed", isError: true };
export const EDIT_START: StoredBody = { type: "outside-call", phase: "start", ...edit };
export const EDIT_END: StoredBody = { type: "outside-call", phase: "end", ...edit, output: "edited", isError: false };
export const QUESTION: StoredBody = {
  type: "approval-request",
  callId: "t2",
  toolName: "write_file",
  input: { path: "src/a.ts" },
};
export const APPROVAL: StoredBody = {
  type: "approval-end",
  callId: "t2",
  allowed: true,
  by: "person",
  reason: undefined,
};
export const ANSWER: StoredBody = {
  type: "message-end",
  turn: 1,
  message: { role: "assistant", content: [{ type: "text", text: "It works now." }] },
  finish: "stop",
  usage: EXTERNAL_USAGE,
  costUsd: 0.02,
};

/** Everything between the start of the agent and its end. */
export const WORK: readonly StoredBody[] = [
  SESSION,
  TURN,
  TEST_START,
  TEST_END,
  EDIT_START,
  QUESTION,
  APPROVAL,
  EDIT_END,
  ANSWER,
];

/** `work` is what the external agent does; unset: all of it. */
export function externalTree(work: readonly StoredBody[] = WORK): SampleTree {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.start("claude", { parent: "lead", details: { model: "external/claude-code" } });
  for (const body of work) tree.add("claude", body);
  tree.end("claude", { usage: EXTERNAL_USAGE, costUsd: 0.02, text: "It works now." });
  tree.end("lead");
  return tree;
}
