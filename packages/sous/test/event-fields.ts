/**
 * The fields of every event besides the head that all share. The compiler keeps this list and the union of events the
 * same: a field that is added, removed or made optional in one of them alone does not compile.
 */

import type { DeltaEvent, EventOf, RunIdentity, SousEvent } from "../src/core/event.ts";

type Head = keyof RunIdentity | "type" | "seq" | "time";

type Fields<Type extends SousEvent["type"]> = {
  [Field in Exclude<keyof EventOf<Type>, Head>]-?: Record<never, never> extends Pick<EventOf<Type>, Field>
    ? "optional"
    : "required";
};

type FieldsOf<Type extends SousEvent["type"]> = { [Each in Type]: Fields<Each> };

export const HEAD = {
  runId: "required",
  agentId: "required",
  parentId: "required",
  path: "required",
  depth: "required",
  type: "required",
  seq: "required",
  time: "required",
} satisfies Record<Head, "required">;

export const STORED = {
  "run-start": {
    agent: "required",
    nickname: "required",
    label: "required",
    task: "required",
    model: "required",
    price: "required",
    contextWindow: "required",
    tools: "required",
    outputSchema: "required",
    instructions: "required",
    notes: "required",
    maxTurns: "required",
    rights: "required",
    origin: "required",
    call: "required",
    summaryPrompt: "required",
    summarizes: "optional",
    timeoutMs: "required",
    budget: "required",
    terms: "required",
    cwd: "required",
    traceparent: "optional",
  },
  "turn-start": { turn: "required", promptTokens: "required", reserved: "required", reservedUsd: "optional" },
  "message-end": {
    turn: "required",
    message: "required",
    finish: "required",
    usage: "required",
    costUsd: "required",
    providerCalls: "optional",
  },
  "tool-call-start": { callId: "required", toolName: "required", input: "required" },
  "tool-call-end": {
    callId: "required",
    toolName: "required",
    output: "required",
    isError: "required",
    files: "optional",
    durationMs: "required",
    stack: "optional",
    metadata: "optional",
  },
  "outside-session": { server: "required", sessionId: "required", continued: "required" },
  "outside-call": {
    callId: "required",
    phase: "required",
    name: "required",
    kind: "required",
    title: "required",
    input: "required",
    output: "optional",
    isError: "optional",
  },
  "approval-request": {
    callId: "required",
    toolName: "required",
    input: "required",
    origin: "optional",
    toolReason: "optional",
  },
  "approval-end": { callId: "required", allowed: "required", by: "required", reason: "required" },
  "budget-warning": { message: "required" },
  retry: {
    attempt: "required",
    delayMs: "required",
    kind: "required",
    message: "required",
    spent: "required",
    costUsd: "required",
  },
  prune: { from: "required", dropped: "required", tokensBefore: "required", tokensAfter: "required" },
  truncation: { subject: "required", of: "required", originalBytes: "required", keptBytes: "required" },
  "spawn-refused": {
    label: "required",
    childPath: "optional",
    waited: "optional",
    errorType: "required",
    message: "required",
  },
  stalled: { seconds: "required", waitingFor: "required" },
  cancel: { mode: "required", callId: "optional" },
  steer: { text: "required", callId: "optional" },
  notice: { reason: "required", text: "required" },
  resume: { usedMs: "required", run: "optional" },
  report: { childRunId: "required", childAgentId: "required", text: "required" },
  "run-end": {
    status: "required",
    stopReason: "required",
    text: "required",
    output: "optional",
    fault: "required",
    turns: "required",
    toolCount: "required",
    usage: "required",
    costUsd: "required",
    durationMs: "required",
  },
} satisfies FieldsOf<Exclude<SousEvent["type"], DeltaEvent["type"]>>;

/** Deltas have no `seq`. */
export const DELTAS = {
  "text-delta": { text: "required" },
  "reasoning-delta": { text: "required" },
  "tool-progress": {
    callId: "required",
    toolName: "required",
    text: "required",
    done: "optional",
    total: "optional",
  },
  "budget-wait": { limit: "required" },
  "budget-near": { limit: "required" },
  park: {},
} satisfies FieldsOf<DeltaEvent["type"]>;
