/** The record and the messages that a store keeps of a run. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { readMessages } from "../../../../src/core/read-history.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { EVERY_EVENT } from "../../../support/core/every-event.ts";
import { CHILD, FOLLOW_UP, ROOT, wholeTree } from "./exported-tree.ts";

test("G1: a run is kept with its place, its times, its messages and everything that was counted", async () => {
  const store = openMemoryStore();
  const tree = sampleTree("lead", Date.UTC(2026, 0, 1));
  tree.start("lead");
  tree.start("scout", {
    parent: "lead",
    details: { summaryPrompt: "In one word.", task: { role: "user", content: [{ type: "text", text: "Look." }] } },
  });
  tree.turn("scout", "A wall.", { inputTokens: 10, outputTokens: 2, totalTokens: 12 });
  tree.add("scout", { type: "notice", reason: "summary", text: "In one word." });
  const usage = {
    inputTokens: 10,
    outputTokens: 2,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    totalTokens: 12,
    estimated: false,
  };
  tree.end("scout", {
    status: "incomplete",
    stopReason: "turns",
    turns: 1,
    toolCount: 2,
    costUsd: 0.25,
    usage,
  });
  store.append("lead", tree.events);
  assert.deepEqual(await store.run("scout"), {
    id: "scout",
    parentId: "lead",
    rootId: "lead",
    journalId: "lead",
    agentId: "scout",
    path: "lead/scout",
    agent: "scout",
    label: "scout",
    depth: 1,
    cwd: undefined,
    startedAt: Date.UTC(2026, 0, 1, 0, 0, 0, 2),
    endedAt: Date.UTC(2026, 0, 1, 0, 0, 0, 6),
    status: "incomplete",
    stopReason: "turns",
    maxTurnsReached: true,
    turns: 1,
    toolCount: 2,
    usage,
    costUsd: 0.25,
    durationMs: 4,
    model: "scripted/model",
    task: "Look.",
    summaryPrompt: "In one word.",
    allowedTools: ["grep"],
  });
  assert.deepEqual(await readMessages(store, "scout"), [
    { role: "user", content: [{ type: "text", text: "Look." }] },
    { role: "assistant", content: [{ type: "text", text: "A wall." }] },
    { role: "user", content: [{ type: "text", text: "In one word." }] },
  ]);
  const running = await store.run("lead");
  assert.deepEqual(
    [running?.endedAt, running?.durationMs, running?.status, running?.maxTurnsReached],
    [undefined, undefined, "running", false],
  );
  assert.equal(await readMessages(store, "nobody"), undefined);
});

test("G1: the messages of a follow-up and of a fork begin with what they went on from", async () => {
  const store = openMemoryStore();
  store.append(ROOT, wholeTree());
  const roles = async (id: string) => (await readMessages(store, id))?.map(({ role }) => role);
  // The answer and its result were pruned.
  assert.deepEqual(await roles(ROOT), ["user", "user", "user", "user"]);
  assert.deepEqual(await roles(FOLLOW_UP), ["user", "user", "user", "user", "user"]);
  assert.deepEqual(await roles(CHILD), ["user", "user", "assistant", "tool"]);
  const branch = openMemoryStore();
  const { "run-start": start } = EVERY_EVENT;
  branch.append(start.runId, [{ ...start, seq: 1 }]);
  const messages = await readMessages(branch, start.runId);
  assert.deepEqual(messages, [...(start.origin?.kind === "branch" ? start.origin.history : []), start.task]);
});

test("runs that continue one another in a circle, or an unknown run, still have an end", async () => {
  const store = openMemoryStore();
  const tree = sampleTree("one");
  tree.start("one", { details: { origin: { kind: "follow-up", runId: "two" } } });
  tree.start("two", { details: { origin: { kind: "follow-up", runId: "one" } } });
  tree.start("three", { details: { origin: { kind: "fork", runId: "three", messages: 9 } } });
  tree.start("four", { details: { origin: { kind: "follow-up", runId: "nobody" } } });
  store.append("one", tree.events);
  const lengths = await Promise.all(
    ["one", "two", "three", "four"].map(async (id) => (await readMessages(store, id))?.length),
  );
  assert.deepEqual(lengths, [1, 2, 1, 1]);
});
