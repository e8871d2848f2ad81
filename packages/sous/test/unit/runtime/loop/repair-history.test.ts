/** Repair: whatever a history looks like, what is sent is one a provider will take. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { type Message, userMessage } from "../../../../src/core/message.ts";
import { repairHistory, UNKNOWN_OUTCOME } from "../../../../src/runtime/loop/repair-history.ts";
import { checkMessages } from "../../../support/testing/check-messages.ts";
import { codePoint } from "../../code-point.ts";

const call = (callId: string) => ({ type: "tool-call", callId, toolName: "look", input: {} }) as const;
const result = (callId: string, output = "seen") =>
  ({ type: "tool-result", callId, toolName: "look", output, isError: false }) as const;
const unknown = (callId: string) => ({
  ...result(callId, UNKNOWN_OUTCOME),
  isError: true,
});

suite("the repair of a history", () => {
  const task = userMessage("The task.");
  const cases: [string, Message[], Message[]][] = [
    [
      "not at all when it is sound",
      [task, { role: "assistant", content: [call("a")] }, { role: "tool", content: [result("a")] }],
      [task, { role: "assistant", content: [call("a")] }, { role: "tool", content: [result("a")] }],
    ],
    [
      "by an answer to a call that has none",
      [task, { role: "assistant", content: [call("a")] }],
      [task, { role: "assistant", content: [call("a")] }, { role: "tool", content: [unknown("a")] }],
    ],
    [
      "by an answer to the one call of several that has none, in the order of the calls",
      [
        task,
        { role: "assistant", content: [call("a"), call("b"), call("c")] },
        { role: "tool", content: [result("c"), result("a")] },
      ],
      [
        task,
        { role: "assistant", content: [call("a"), call("b"), call("c")] },
        { role: "tool", content: [result("a"), unknown("b"), result("c")] },
      ],
    ],
    [
      "by dropping results nobody asked for",
      [
        task,
        { role: "tool", content: [result("x")] },
        { role: "assistant", content: [{ type: "text", text: "Yes." }] },
      ],
      [task, { role: "assistant", content: [{ type: "text", text: "Yes." }] }],
    ],
    [
      "by renaming an id that is used twice, with its result",
      [
        task,
        { role: "assistant", content: [call("a")] },
        { role: "tool", content: [result("a", "one")] },
        { role: "assistant", content: [call("a")] },
        { role: "tool", content: [result("a", "two")] },
      ],
      [
        task,
        { role: "assistant", content: [call("a")] },
        { role: "tool", content: [result("a", "one")] },
        { role: "assistant", content: [call("a_2")] },
        { role: "tool", content: [result("a_2", "two")] },
      ],
    ],
    [
      "by renaming ids that are used twice in one answer, each with its own result",
      [
        task,
        { role: "assistant", content: [call("a"), call("a")] },
        { role: "tool", content: [result("a", "one"), result("a", "two")] },
      ],
      [
        task,
        { role: "assistant", content: [call("a"), call("a_2")] },
        { role: "tool", content: [result("a", "one"), result("a_2", "two")] },
      ],
    ],
    [
      "by dropping empty answers",
      [task, { role: "assistant", content: [] }, userMessage("Well?")],
      [task, userMessage("Well?")],
    ],
    [
      "by making its text well-formed",
      [
        { role: "user", content: [{ type: "text", text: "a\ud800" }] },
        {
          role: "assistant",
          content: [
            { type: "text", text: "\udc00b" },
            { ...call("a"), input: { deep: ["\ud800"] } },
          ],
        },
        { role: "tool", content: [result("a", "c\ud83d")] },
      ],
      [
        userMessage("a\ufffd"),
        {
          role: "assistant",
          content: [
            { type: "text", text: "\ufffdb" },
            { ...call("a"), input: { deep: ["\ufffd"] } },
          ],
        },
        { role: "tool", content: [result("a", "c\ufffd")] },
      ],
    ],
  ];
  for (const [name, given, expected] of cases) {
    test(`a history is repaired ${name}`, () => assert.deepEqual(repairHistory(given), expected));
  }

  test("a history is repaired without changing what it was given", () => {
    const given: Message[] = [task, { role: "assistant", content: [call("a"), call("a")] }];
    const before = structuredClone(given);
    repairHistory(given);
    assert.deepEqual(given, before);
  });

  test("a history is repaired whatever it looks like, and a second repair changes nothing", () => {
    const text = fc.string({ unit: codePoint, maxLength: 4 });
    const id = fc.constantFrom("", "a", "b", "a_2");
    const part = { text: text.map((words) => ({ type: "text", text: words }) as const), call: id.map(call) };
    const message: fc.Arbitrary<Message> = fc.oneof(
      fc.array(part.text, { minLength: 1, maxLength: 2 }).map((content) => ({ role: "user", content }) as const),
      fc
        .array(fc.oneof(part.text, part.call), { maxLength: 4 })
        .map((content) => ({ role: "assistant", content }) as const),
      fc
        .array(
          fc.tuple(id, text).map(([callId, output]) => result(callId, output)),
          { maxLength: 4 },
        )
        .map((content) => ({ role: "tool", content }) as const),
    );
    const property = fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
      const repaired = repairHistory([task, ...messages]);
      // The last message is the model's own until the next one is added.
      assert.deepEqual(checkMessages([...repaired, userMessage("Go on.")]), []);
      assert.deepEqual(repairHistory(repaired), repaired);
    });
    fc.assert(property, { numRuns: 300 });
  });
});
