/** The history of a run and the estimate of its size. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Conversation, checkConversation, DEFAULT_CONVERSATION, messageBytes } from "../../../src/core/conversation.ts";
import { type AssistantMessage, type Message, userMessage } from "../../../src/core/message.ts";

const FILE = { type: "file", mediaType: "image/png", data: "aGk=" } as const;
const CALL: AssistantMessage = {
  role: "assistant",
  content: [
    { type: "reasoning", text: "Hmm" },
    { type: "tool-call", callId: "c1", toolName: "grep", input: { q: "ä" } },
  ],
};
const RESULT = {
  role: "tool",
  content: [{ type: "tool-result", callId: "c1", toolName: "grep", output: "ü", isError: false, files: [FILE] }],
} as const satisfies Message;

suite("the size of a message", () => {
  test("the size of a message is that of its parts in bytes, with something for each message, call and file", () => {
    assert.equal(messageBytes(userMessage("abc")), 15);
    assert.equal(messageBytes(userMessage("äb")), 15);
    assert.equal(messageBytes(CALL), 12 + 3 + (4 + 24 + '{"q":"ä"}'.length + 1));
    assert.equal(messageBytes(RESULT), 12 + 4 + 24 + 2 + 4500);
    assert.equal(messageBytes({ role: "user", content: [FILE, FILE] }), 12 + 2 * 4500);
  });
});

suite("a conversation", () => {
  test("a conversation begins with its history, its task last, and counts a token for three bytes", () => {
    const history = [userMessage("abc"), userMessage("def"), userMessage("ghi")];
    const conversation = new Conversation(history, 10);
    assert.deepEqual([conversation.messages, conversation.taskIndex], [history, 2]);
    assert.equal(conversation.promptTokens, Math.ceil((10 + 3 * 15) / 3));
    assert.deepEqual([new Conversation().taskIndex, new Conversation().promptTokens], [0, 0]);
    assert.equal(new Conversation([userMessage("a")]).taskIndex, 0);
  });

  test("a conversation counts what was added on top of what the provider reported", () => {
    const conversation = new Conversation([userMessage("abc")]);
    conversation.addAnswer(CALL, { inputTokens: 100, outputTokens: 20 });
    assert.equal(conversation.promptTokens, 120);
    conversation.add(RESULT);
    assert.equal(conversation.promptTokens, 120 + Math.ceil(messageBytes(RESULT) / 3));
    conversation.addAnswer({ role: "assistant", content: [{ type: "text", text: "abc" }] }, undefined);
    assert.equal(conversation.promptTokens, 120 + Math.ceil((messageBytes(RESULT) + 15) / 3));
    assert.deepEqual(
      conversation.messages.map(({ role }) => role),
      ["user", "assistant", "tool", "assistant"],
    );
  });

  test("a conversation has no message for an answer without content, which was paid all the same", () => {
    const conversation = new Conversation([userMessage("abc")]);
    conversation.addAnswer({ role: "assistant", content: [] }, { inputTokens: 7, outputTokens: 1 });
    assert.deepEqual([conversation.messages.length, conversation.promptTokens], [1, 8]);
  });

  test("a conversation without its last calls has a new list, without the size of their results", () => {
    const conversation = new Conversation([userMessage("abc")]);
    conversation.addAnswer(CALL, { inputTokens: 10, outputTokens: 2 });
    conversation.add(RESULT);
    conversation.add(userMessage("later"));
    const before = conversation.messages;
    conversation.dropCalls(1);
    assert.deepEqual(conversation.messages, [userMessage("abc"), userMessage("later")]);
    assert.equal(before.length, 4);
    assert.equal(conversation.promptTokens, 12 + Math.ceil(messageBytes(userMessage("later")) / 3));
  });

  test("a conversation that continues with fewer messages is estimated as a whole again", () => {
    const conversation = new Conversation([userMessage("abc")]);
    conversation.addAnswer(CALL, { inputTokens: 1000, outputTokens: 2 });
    conversation.replace([userMessage("def")], 30);
    assert.deepEqual([conversation.messages, conversation.promptTokens], [[userMessage("def")], 15]);
  });
});

suite("the limits of a conversation", () => {
  test("limits are taken up to their bounds", () => {
    const least = { maxTokens: 1, minRetainTurns: 1, pruneThreshold: 1 };
    assert.equal(checkConversation(least), least);
    assert.equal(checkConversation(DEFAULT_CONVERSATION), DEFAULT_CONVERSATION);
  });

  const wrong: [field: string, value: unknown, found: RegExp][] = [
    ["maxTokens", 0, /conversation\.maxTokens must be greater than 0; found 0/],
    ["maxTokens", "9", /conversation\.maxTokens must be greater than 0; found "9"/],
    ["minRetainTurns", 0, /conversation\.minRetainTurns/],
    ["pruneThreshold", 0, /conversation\.pruneThreshold must be greater than 0 and at most 1; found 0/],
    ["pruneThreshold", 1.01, /conversation\.pruneThreshold must be greater than 0 and at most 1; found 1\.01/],
    ["pruneThreshold", "0.5", /conversation\.pruneThreshold must be/],
  ];
  for (const [field, value, found] of wrong) {
    test(`limits beyond their bounds are refused: ${field} ${JSON.stringify(value)}`, () => {
      assert.throws(() => checkConversation({ ...DEFAULT_CONVERSATION, [field]: value }), found);
    });
  }
});
