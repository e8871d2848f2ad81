/** A conversation is a fold over the events of its run. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredBody } from "../../../src/core/event.ts";
import { type AssistantMessage, type FilePart, type Message, userMessage } from "../../../src/core/message.ts";
import { rebuildConversation } from "../../../src/core/read-history.ts";
import { noUsage } from "../../../src/core/usage.ts";
import { sampleTree } from "../../../src/testing/sample-tree.ts";

const TASK = userMessage("Look around.");

function rebuild(bodies: StoredBody[], origin: Message[] = []): Message[] {
  const tree = sampleTree("lead");
  tree.start("lead", { details: { task: TASK } });
  for (const body of bodies) tree.add("lead", body);
  return rebuildConversation(tree.events, origin);
}

function says(text: string, ...callIds: string[]): AssistantMessage {
  const calls = callIds.map((callId) => ({ type: "tool-call" as const, callId, toolName: "grep", input: { callId } }));
  return { role: "assistant", content: [{ type: "text", text }, ...calls] };
}

function answered(message: AssistantMessage): StoredBody {
  return { type: "message-end", turn: 1, message, finish: "stop", usage: noUsage(), costUsd: null };
}

function callStarted(callId: string): StoredBody {
  return { type: "tool-call-start", callId, toolName: "grep", input: { callId } };
}

function callEnded(callId: string, files?: FilePart[]): StoredBody {
  const isError = callId === "bad";
  const body = { callId, toolName: "grep", output: `result of ${callId}`, isError, durationMs: 1, files };
  return { type: "tool-call-end", ...body, metadata: { hits: 1 } };
}

function results(...callIds: string[]): Message {
  return {
    role: "tool",
    content: callIds.map((callId) => ({
      type: "tool-result",
      callId,
      toolName: "grep",
      output: `result of ${callId}`,
      isError: callId === "bad",
    })),
  };
}

test("a conversation is the task, the answers, and one message of results in the order of the calls, whichever ended first", () => {
  const ask = says("I look.", "first", "bad", "third");
  const messages = rebuild([
    { type: "turn-start", turn: 1, promptTokens: 3, reserved: 0 },
    answered(ask),
    ...["first", "bad", "third"].map(callStarted),
    ...["third", "first", "bad"].map((callId) => callEnded(callId)),
    answered(says("Done.")),
  ]);
  assert.deepEqual(messages, [TASK, ask, results("first", "bad", "third"), says("Done.")]);
});

test("files of a result belong to it", () => {
  const picture: FilePart = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" };
  const [, , message] = rebuild([answered(says("I look.", "a")), callEnded("a", [picture])]);
  assert.deepEqual(message?.content, [
    { type: "tool-result", callId: "a", toolName: "grep", output: "result of a", isError: false, files: [picture] },
  ]);
});

test("what people, the runtime and background children said comes where it was said", () => {
  const messages = rebuild([
    { type: "steer", text: "Only src." },
    answered(says("I look.", "a")),
    callEnded("a"),
    { type: "report", childRunId: "scout", childAgentId: "scout", text: "scout found it" },
    { type: "notice", reason: "cut-answer", text: "Go on." },
    answered(says("Done.")),
  ]);
  const expected = [TASK, userMessage("Only src."), says("I look.", "a"), results("a")];
  assert.deepEqual(messages, [...expected, userMessage("scout found it"), userMessage("Go on."), says("Done.")]);
});

test("results stay right behind their answer, also those that came after a restart", () => {
  const ask = says("I look.", "a", "b");
  const messages = rebuild([answered(ask), callEnded("b"), { type: "steer", text: "Faster." }, callEnded("a")]);
  assert.deepEqual(messages, [TASK, ask, results("a", "b"), userMessage("Faster.")]);
});

test("calls without a result stay unanswered", () => {
  const ask = says("I look.", "a", "b", "c");
  assert.deepEqual(rebuild([answered(ask), callStarted("a"), callStarted("b")]), [TASK, ask]);
  assert.deepEqual(rebuild([answered(ask), callStarted("a"), callEnded("c")]), [TASK, ask, results("c")]);
});

test("A2: pruning dropped the messages after the first", () => {
  const messages = rebuild([
    answered(says("one", "a")),
    callEnded("a"),
    answered(says("two", "b")),
    callEnded("b"),
    { type: "prune", from: 1, dropped: 2, tokensBefore: 90, tokensAfter: 40 },
    answered(says("three", "c")),
    { type: "prune", from: 1, dropped: 2, tokensBefore: 90, tokensAfter: 40 },
    { type: "steer", text: "Faster." },
    callEnded("c"),
  ]);
  assert.deepEqual(messages, [TASK, says("three", "c"), results("c"), userMessage("Faster.")]);
});

test("a follow-up or a fork begins with what was before its task, and leaves that as it is", () => {
  const origin = [userMessage("Earlier."), says("Yes.")];
  const prune: StoredBody = { type: "prune", from: 1, dropped: 1, tokensBefore: 90, tokensAfter: 40 };
  assert.deepEqual(rebuild([answered(says("Done."))], origin), [...origin, TASK, says("Done.")]);
  assert.deepEqual(rebuild([prune, answered(says("Done."))], origin), [userMessage("Earlier."), TASK, says("Done.")]);
  assert.deepEqual(origin, [userMessage("Earlier."), says("Yes.")]);
});

test("what is not part of the conversation leaves it alone", () => {
  const messages = rebuild([
    { type: "approval-request", callId: "a", toolName: "grep", input: {} },
    { type: "approval-end", callId: "a", allowed: true, by: "person", reason: undefined },
    { type: "budget-warning", message: "little is left" },
    { ...{ type: "retry", attempt: 1, delayMs: 1, kind: "network", message: "cut" }, spent: noUsage(), costUsd: null },
    { type: "truncation", subject: "report", of: "scout", originalBytes: 9, keptBytes: 4 },
    { type: "spawn-refused", label: "scout", errorType: "depth_limit", message: "too deep" },
    { type: "stalled", seconds: 30, waitingFor: "model" },
  ]);
  assert.deepEqual(messages, [TASK]);
});
