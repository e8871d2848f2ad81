/** The journal of a run that began with the history of another. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { readHistory } from "../../../../src/core/read-history.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";

test("a fork that waited for its slot begins with what its parent had said when it was called, pruned since or not", async () => {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.turn("lead", "First.");
  tree.turn("lead", "Second.");
  tree.add("lead", {
    type: "message-end",
    turn: 3,
    message: {
      role: "assistant",
      content: [{ type: "tool-call", callId: "call_1", toolName: "subagent", input: {} }],
    },
    finish: "tool-calls",
    usage: {
      inputTokens: 0,
      outputTokens: 0,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      totalTokens: 0,
      estimated: false,
    },
    costUsd: null,
  });
  tree.add("lead", { type: "tool-call-start", callId: "call_1", toolName: "subagent", input: {} });
  tree.add("lead", {
    type: "tool-call-end",
    callId: "call_1",
    toolName: "subagent",
    output: "It runs in the background.",
    isError: false,
    durationMs: 0,
  });
  tree.add("lead", { type: "prune", from: 1, dropped: 2, tokensBefore: 100, tokensAfter: 50 });
  tree.start("twin", {
    parent: "lead",
    details: {
      origin: { kind: "fork", runId: "lead", messages: 3 },
      call: { callId: "call_1", index: 0, background: true },
    },
  });
  const store = openMemoryStore();
  store.append("lead", tree.events);
  const messages = await readHistory(store, "lead").messages("twin");
  assert.deepEqual(
    messages.map(({ role, content }) => [role, content.map((part) => ("text" in part ? part.text : part.type)).join()]),
    [
      ["user", "Look around."],
      ["assistant", "First."],
      ["assistant", "Second."],
      ["user", "Look around."],
    ],
  );
});
