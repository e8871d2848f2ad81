/** One run as a row, folded from its events. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredEvent } from "../../../src/core/event.ts";
import { foldRunRecord } from "../../../src/core/store.ts";
import { addUsage, noUsage, type Usage } from "../../../src/core/usage.ts";
import { type SampleTree, sampleTree } from "../../../src/testing/sample-tree.ts";

const STARTED = 5_000;

function usage(inputTokens: number, outputTokens: number, more: Partial<Usage> = {}): Usage {
  return { ...noUsage(), inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, ...more };
}

/** A child that answered once with a call, tried again, and answered. */
function workingChild(): SampleTree {
  const tree = sampleTree("lead");
  tree.start("lead");
  const task = { role: "user" as const, content: [{ type: "text" as const, text: "Find it." }] };
  tree.start("scout", { parent: "lead", time: STARTED, details: { task, summaryPrompt: "In one word." } });
  const message = { role: "assistant" as const, content: [] };
  tree.add("scout", { type: "turn-start", turn: 1, promptTokens: 10, reserved: 0 });
  tree.add("scout", {
    ...{ type: "message-end", turn: 1, message, finish: "tool-calls" },
    usage: usage(10, 2, { cachedInputTokens: 4 }),
    costUsd: 0.5,
  });
  tree.add("scout", { type: "tool-call-start", callId: "c", toolName: "grep", input: {} });
  tree.add("scout", {
    type: "tool-call-end",
    ...{ callId: "c", toolName: "grep", output: "x", isError: false, durationMs: 1 },
  });
  tree.add("scout", {
    type: "retry",
    ...{ attempt: 1, delayMs: 10, kind: "network", message: "cut" },
    spent: usage(12, 1, { estimated: true }),
    costUsd: 0.25,
  });
  tree.add("scout", {
    type: "message-end",
    ...{ turn: 2, message, finish: "stop" },
    usage: usage(20, 3, { cacheWriteTokens: 5 }),
    costUsd: 0.25,
  });
  return tree;
}

function eventsOf(tree: SampleTree, runId: string): StoredEvent[] {
  return tree.events.filter((event) => event.runId === runId);
}

test("a live run is running, with what it took so far: answers and attempts that were billed", () => {
  assert.deepEqual(foldRunRecord("lead", eventsOf(workingChild(), "scout")), {
    id: "scout",
    agentId: "scout",
    parentId: "lead",
    rootId: "lead",
    journalId: "lead",
    path: "lead/scout",
    agent: "scout",
    label: "scout",
    depth: 1,
    status: "running",
    stopReason: undefined,
    maxTurnsReached: false,
    startedAt: STARTED,
    endedAt: undefined,
    durationMs: undefined,
    turns: 2,
    toolCount: 1,
    usage: {
      inputTokens: 42,
      outputTokens: 6,
      cachedInputTokens: 4,
      cacheWriteTokens: 5,
      totalTokens: 48,
      estimated: true,
    },
    costUsd: 1,
    model: "scripted/model",
    task: "Find it.",
    summaryPrompt: "In one word.",
    allowedTools: ["grep"],
    cwd: undefined,
  });
});

test("F5: an ended run has the sums and the ending of its run-end", () => {
  const tree = workingChild();
  const sums = usage(50, 9);
  tree.end("scout", { status: "incomplete", stopReason: "turns", turns: 3, toolCount: 2, usage: sums, costUsd: 2 });
  const record = foldRunRecord("lead", eventsOf(tree, "scout"));
  assert.deepEqual(record, {
    ...foldRunRecord("lead", eventsOf(workingChild(), "scout")),
    status: "incomplete",
    stopReason: "turns",
    maxTurnsReached: true,
    endedAt: STARTED + 7,
    durationMs: 7,
    turns: 3,
    toolCount: 2,
    usage: sums,
    costUsd: 2,
  });
});

test("a record is the reader's own: neither folding nor adding to it changes an event", () => {
  const tree = workingChild();
  tree.end("scout", { usage: usage(50, 9) });
  const events = eventsOf(tree, "scout");
  const before = structuredClone(events);
  addUsage(foldRunRecord("lead", events)?.usage ?? assert.fail(), usage(1, 1));
  assert.deepEqual(events, before);
});

test("one unknown price makes the cost of the run unknown", () => {
  const tree = workingChild();
  tree.turn("scout", "free?");
  tree.add("scout", {
    ...{ type: "message-end", turn: 4, message: { role: "assistant", content: [] }, finish: "stop" },
    usage: noUsage(),
    costUsd: 1,
  });
  assert.equal(foldRunRecord("lead", eventsOf(tree, "scout"))?.costUsd, null);
});

test("events without their run-start are not a run", () => {
  assert.equal(foldRunRecord("lead", []), undefined);
  assert.equal(foldRunRecord("lead", eventsOf(workingChild(), "scout").slice(1)), undefined);
});
