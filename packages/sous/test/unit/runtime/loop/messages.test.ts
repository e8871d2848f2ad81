/** Parts of a conversation besides text: pictures and files in, thoughts kept from turn to turn, AI SDK tools as they are. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { dynamicTool, jsonSchema, tool as sdkTool } from "ai";
import * as z from "zod";
import { agent } from "../../../../src/core/agent.ts";
import type { Message, ReasoningPart } from "../../../../src/core/message.ts";
import type { Model } from "../../../../src/core/model.ts";
import { noUsage } from "../../../../src/core/usage.ts";
import { calls, says, thinks } from "../../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../../support/requirements/support.ts";

suite("a task", () => {
  test("a task may bring pictures and files, which reach the model and the journal as they are", async () => {
    const task = [
      { type: "text", text: "What is this?" },
      { type: "file", mediaType: "image/png", data: "aGk=", filename: "cat.png" },
      { type: "file", mediaType: "application/pdf", data: "https://example.org/a.pdf" },
    ] as const;
    const stage = openStage({ lead: [says("A cat.")] });
    await stage.run(stage.lead(), task);
    assert.deepEqual(stage.requestsOf("lead")[0]?.messages, [{ role: "user", content: task }]);
    assert.deepEqual(stage.eventsOf("run-start")[0]?.task, { role: "user", content: task });
  });

  test("a task is made well-formed before anybody reads it", async () => {
    const stage = openStage({ lead: [says("Yes.")] });
    await stage.run(stage.lead(), "a\ud800b");
    assert.deepEqual(stage.requestsOf("lead")[0]?.messages[0]?.content, [{ type: "text", text: "a\ufffdb" }]);
  });
});

suite("thoughts", () => {
  test("thoughts are kept with their signatures and sent back unchanged", async () => {
    const thought: ReasoningPart = {
      type: "reasoning",
      text: "I should look.",
      provider: { anthropic: { signature: "c2lnbmVk" } },
    };
    const redacted: ReasoningPart = { type: "reasoning", text: "", provider: { anthropic: { redactedData: "xyz" } } };
    const sent: (readonly Message[])[] = [];
    const model: Model = {
      id: "test/thinker",
      async answer({ messages }) {
        sent.push([...messages]);
        const call = { type: "tool-call", callId: "c1", toolName: "look", input: {} } as const;
        const content =
          sent.length === 1 ? [thought, redacted, call] : [thought, { type: "text", text: "Done." } as const];
        return { message: { role: "assistant", content }, finish: "stop", usage: { ...noUsage(), totalTokens: 1 } };
      },
    };
    const stage = openStage({});
    const handle = stage.start(stage.lead({ model, tools: [simpleTool("look")] }));
    const result = await stage.end(handle);
    assert.equal(result.text, "Done.", "thoughts are not part of the answer");
    assert.deepEqual(sent[1]?.[1]?.content.slice(0, 2), [thought, redacted]);
    await stage.end(handle.followUp("Go on."));
    assert.deepEqual(sent[2]?.[1]?.content.slice(0, 2), [thought, redacted], "also over a follow-up");
    assert.deepEqual(sent[2]?.[3]?.content[0], thought);
  });

  test("thoughts are shown as they come, and are not stored as deltas", async () => {
    const stage = openStage({ lead: [[thinks("Hm."), says("Yes.")]] });
    const result = await stage.run(stage.lead());
    assert.deepEqual(
      stage.eventsOf("reasoning-delta").map(({ text, seq }) => [text, seq]),
      [["Hm.", undefined]],
    );
    const kept = await stage.store.read(result.runId);
    assert.ok(kept.every(({ type }) => !String(type).endsWith("-delta")));
  });
});

suite("an answer", () => {
  test("an answer is made well-formed before it is sent back", async () => {
    const stage = openStage({ lead: [[says("half \ud83d"), calls("look")], says("Done.")] });
    await stage.run(stage.lead({ tools: [simpleTool("look")] }));
    assert.deepEqual(stage.requestsOf("lead")[1]?.messages[1]?.content[0], { type: "text", text: "half \ufffd" });
  });

  test("an answer has well-formed inputs of calls, and what is no text in them stays as it is", async () => {
    const seen: unknown[] = [];
    const input = { "key \ud83d": ["half \ud83d", 1.5, true, null, { deep: "\ude00" }] };
    const stage = openStage({ lead: [calls("look", input), says("Done.")] });
    await stage.run(stage.lead({ tools: [simpleTool("look", (given) => void seen.push(given))] }));
    assert.deepEqual(seen, [{ "key \ufffd": ["half \ufffd", 1.5, true, null, { deep: "\ufffd" }] }]);
  });
});

suite("an AI SDK tool as it is", () => {
  test("an AI SDK tool runs under the name it stands for, with its schema and its options", async () => {
    const seen: unknown[] = [];
    const weather = sdkTool({
      description: "The weather.",
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }, { toolCallId, abortSignal }) => {
        seen.push({ city, toolCallId, hasSignal: abortSignal instanceof AbortSignal });
        return { city, degrees: 21 };
      },
    });
    const stage = openStage({
      lead: [[calls("weather", { city: "Ulm" }, "c1"), calls("weather", { town: "Ulm" })], says("Warm.")],
    });
    await stage.run(agent({ name: "lead", model: stage.model, tools: { weather } }));
    assert.deepEqual(seen, [{ city: "Ulm", toolCallId: "c1", hasSignal: true }]);
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output, isError }) => [isError ? output.split(":")[0] : output, isError]),
      [
        ['{"city":"Ulm","degrees":21}', false],
        ["city", true],
      ],
    );
  });

  test("an AI SDK tool may have a JSON Schema, or be made up at run time", async () => {
    const inputSchema = jsonSchema<{ n: number }>({
      type: "object",
      properties: { n: { type: "number" } },
      required: ["n"],
    });
    const double = sdkTool({ description: "Doubles.", inputSchema, execute: ({ n }) => n * 2 });
    const anything = dynamicTool({
      description: "Anything.",
      inputSchema: z.unknown(),
      execute: async () => "anything",
    });
    const stage = openStage({
      lead: [[calls("double", { n: 4 }), calls("double", {}), calls("anything", {})], says("Done.")],
    });
    await stage.run(agent({ name: "lead", model: stage.model, tools: { double, anything } }));
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output, isError }) => (isError ? "refused" : output)),
      ["8", "refused", "anything"],
    );
  });

  test("an output that says it is an error, or was denied, is a failed result", async () => {
    const outputs = [
      { type: "error-text", value: "no paper" },
      { type: "error-json", value: { code: 3 } },
      { type: "execution-denied", reason: "not today" },
      { type: "json", value: { code: 0 } },
    ] as const;
    const tools = Object.fromEntries(
      outputs.map((output) => [
        output.type,
        sdkTool({ inputSchema: z.object({}), execute: () => "", toModelOutput: () => output }),
      ]),
    );
    const stage = openStage({ lead: [outputs.map(({ type }) => calls(type)), says("Done.")] });
    await stage.run(agent({ name: "lead", model: stage.model, tools }));
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output, isError }) => [output, isError]),
      [
        ["no paper", true],
        ['{"code":3}', true],
        ["not today", true],
        ['{"code":0}', false],
      ],
    );
  });

  test("an AI SDK tool asks first when it says so, and shows the model what it wants to show", async () => {
    const asked: string[] = [];
    const send = sdkTool({
      description: "Sends.",
      inputSchema: z.object({}),
      needsApproval: true,
      execute: () => ({ id: 7, secret: "x" }),
      toModelOutput: ({ output }) => ({ type: "text", value: `sent ${output.id}` }),
    });
    const picture = sdkTool({
      description: "Draws.",
      inputSchema: z.object({}),
      execute: () => "aGk=",
      toModelOutput: ({ output }) => ({
        type: "content",
        value: [
          { type: "text", text: "a drawing" },
          { type: "file", mediaType: "image/png", data: { type: "data", data: output } },
          { type: "file", mediaType: "image/png", data: { type: "data", data: new TextEncoder().encode("hi") } },
          {
            type: "file",
            mediaType: "application/pdf",
            filename: "a.pdf",
            data: { type: "url", url: new URL("https://example.org/a") },
          },
          { type: "file", mediaType: "image/gif", data: { type: "data", data: new TextEncoder().encode("hi").buffer } },
          { type: "file", mediaType: "text/plain", data: { type: "text", text: "hi" } },
          { type: "file-data", mediaType: "image/png", data: output },
          { type: "image-url", url: "https://example.org/b" },
          { type: "file", mediaType: "image/png", data: { type: "reference", reference: { openai: "f1" } } },
        ],
      }),
    });
    const stage = openStage(
      { lead: [[calls("send"), calls("picture")], says("Done.")] },
      {
        runtime: {
          approve({ toolName }) {
            asked.push(toolName);
            return { allow: true };
          },
        },
      },
    );
    await stage.run(agent({ name: "lead", model: stage.model, tools: { send, picture } }));
    assert.deepEqual(asked, ["send"]);
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output, files }) => [output, files]),
      [
        ["sent 7", undefined],
        [
          "a drawing",
          [
            { type: "file", mediaType: "image/png", data: "aGk=" },
            { type: "file", mediaType: "image/png", data: "aGk=" },
            { type: "file", mediaType: "application/pdf", data: "https://example.org/a", filename: "a.pdf" },
            { type: "file", mediaType: "image/gif", data: "aGk=" },
            { type: "file", mediaType: "text/plain", data: "aGk=" },
            { type: "file", mediaType: "image/png", data: "aGk=" },
            { type: "file", mediaType: "image", data: "https://example.org/b" },
          ],
        ],
      ],
    );
  });

  test("an AI SDK tool that streams preliminary results is read at its last one", async () => {
    const slow = sdkTool({
      description: "Slow.",
      inputSchema: z.object({}),
      async *execute() {
        yield "a little";
        yield "everything";
      },
    });
    const stage = openStage({ lead: [calls("slow"), says("Done.")] });
    await stage.run(agent({ name: "lead", model: stage.model, tools: { slow } }));
    assert.equal(stage.resultsOf("lead")[0]?.output, "everything");
  });

  test("an AI SDK tool without a function of its own is refused when the agent is defined", () => {
    const tools = { remote: { inputSchema: z.object({}) } };
    assert.throws(() => agent({ name: "lead", tools }), /^UserError: The tool remote has no execute function$/);
  });
});
