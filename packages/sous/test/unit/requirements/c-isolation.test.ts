/** C5: a child is a world of its own. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import type { Hooks } from "../../../src/core/approval.ts";
import type { SousEvent, StoredEvent } from "../../../src/core/event.ts";
import type { Message } from "../../../src/core/message.ts";
import { ToolRegistry } from "../../../src/core/tool.ts";
import type { ChildState } from "../../../src/runtime/subagents/child-stores.ts";
import { subagentFactory } from "../../../src/runtime/subagents/named-agent.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, fails, says, streams, uses } from "../../../src/testing/steps.ts";
import { recordingTool, runTree } from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

suite("C5: a child is isolated", () => {
  test("C5: a child has an id and a conversation of its own: it reads no word of its parent, which reads only its report", async () => {
    const { stage } = await runTree({
      script: {
        lead: [[says("PARENT-SECRET"), calls("subagent_scout", { task: "Look." })], says("Seen.")],
        "lead/scout": [[says("CHILD-SECRET"), calls("look")], says("Report.")],
      },
      lead: {
        delegate: false,
        instructions: "LEAD-INSTRUCTIONS",
        subagents: [agent({ name: "scout", instructions: "Scout.", tools: [simpleTool("look", () => "VIEW-SECRET")] })],
      },
    });
    const [lead, scout] = stage.eventsOf("run-start");
    assert.notEqual(lead?.runId, scout?.runId);
    assert.equal(scout?.parentId, lead?.runId);
    const [first] = stage.requestsOf("lead/scout");
    assert.deepEqual(first?.messages, [{ role: "user", content: [{ type: "text", text: "Look." }] }]);
    assert.equal(first?.instructions, "Scout.");
    const seenByScout = JSON.stringify(stage.requestsOf("lead/scout").map(({ messages }) => messages));
    assert.doesNotMatch(seenByScout, /PARENT-SECRET|LEAD-INSTRUCTIONS|Go\./);
    const seenByLead = JSON.stringify(stage.requestsOf("lead").map(({ messages }) => messages));
    assert.doesNotMatch(seenByLead, /CHILD-SECRET|VIEW-SECRET/);
    assert.match(seenByLead, /Report\./);
  });

  test("C5: the hooks of a child see its calls only, may refuse one, answer one and replace a result", async () => {
    const seen: string[] = [];
    const hooks: Hooks = {
      beforeToolCall({ toolName, path }) {
        seen.push(`before ${toolName} at ${path}`);
        if (toolName === "refused") return { refuse: "Not today." };
        if (toolName === "answered") return { result: { success: true, output: "From the hook." } };
        if (toolName === "throws") throw new Error("The hook is broken.");
        return undefined;
      },
      afterToolCall({ toolName }, result) {
        seen.push(`after ${toolName}: ${result.output}`);
        return toolName === "replaced" ? { ...result, output: "Replaced." } : undefined;
      },
    };
    const names = ["refused", "answered", "throws", "replaced", "plain"];
    const tools = names.map((name) => recordingTool(name));
    const { stage } = await runTree({
      script: {
        lead: [[calls("plain"), calls("subagent_scout", { task: "Look." })], says("Seen.")],
        "lead/scout": [names.map((name) => calls(name)), says("Done.")],
      },
      lead: { delegate: false, hooks: {}, tools: [...tools], subagents: [agent({ name: "scout", tools, hooks })] },
    });
    const results = stage.resultsOf("lead/scout").map(({ output, isError }) => [output, isError]);
    assert.deepEqual(results, [
      ["Not today.", true],
      ["From the hook.", false],
      ["The hook is broken.", true],
      ["Replaced.", false],
      ["plain is done", false],
    ]);
    assert.deepEqual(
      tools.map(({ inputs }) => inputs.length),
      [0, 0, 0, 1, 2],
    );
    assert.deepEqual(seen, [
      ...names.map((name) => `before ${name} at lead/scout`),
      "after replaced: replaced is done",
      "after plain: plain is done",
    ]);
  });

  test("C5: a hook cannot change what runs, only refuse it", async () => {
    const look = recordingTool("look");
    const hooks: Hooks = {
      beforeToolCall({ input }) {
        (input as Record<string, unknown>).at = "/etc/passwd";
        return undefined;
      },
    };
    await runTree({ script: { lead: [calls("look", { at: "src" }), says("Seen.")] }, lead: { tools: [look], hooks } });
    assert.deepEqual(look.inputs, [{ at: "src" }]);
  });

  test("C5: onEvent hears the child's own events from start to end, onError its fault; both may throw", async () => {
    const heard: SousEvent[] = [];
    const errors: unknown[] = [];
    const hooks: Hooks = {
      onEvent(event) {
        heard.push(event);
        throw new Error("A broken listener");
      },
      async onError(error) {
        errors.push(error);
        throw new Error("A broken listener");
      },
    };
    const { stage, result } = await runTree({
      script: {
        lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
        "lead/scout": [[streams("Ha", "lf."), fails("invalid_request", { message: "no such model" })]],
      },
      lead: { delegate: false, subagents: [agent({ name: "scout", hooks })] },
    });
    assert.deepEqual(
      heard.map(({ type, path }) => [type, path]),
      ["run-start", "turn-start", "text-delta", "text-delta", "run-end"].map((type) => [type, "lead/scout"]),
    );
    const [{ runId = "" } = {}] = stage.eventsOf("run-start", "lead/scout");
    assert.deepEqual(errors, [{ message: "no such model", path: "lead/scout", runId }]);
    assert.equal(result.status, "completed");
  });

  test("C5: the stores of a child receive copies of what the journal holds, and a broken one keeps no other waiting", async () => {
    const opened: string[] = [];
    const messages: Message[] = [];
    const states: ChildState[] = [];
    const events: StoredEvent[] = [];
    const model = scriptedModel(
      {
        "lead/scout": [
          [says("First."), calls("look", { at: 1 }), uses({ input: 10, output: 5 })],
          [says("Last."), uses({ input: 20, output: 5 })],
        ],
      },
      { id: "scripted/scout" },
    );
    const factory = subagentFactory({
      model,
      registry: new ToolRegistry([simpleTool("look")]),
      stores: {
        events: (runId) => {
          opened.push(`events of ${runId}`);
          return {
            add(event) {
              events.push(event);
              throw new Error("This store is full");
            },
          };
        },
        messages: (runId) => {
          opened.push(`messages of ${runId}`);
          return { add: (message) => void messages.push(message) };
        },
        state: (runId) => {
          opened.push(`state of ${runId}`);
          return { set: (state) => void states.push(state) };
        },
      },
    });
    const { stage, result } = await runTree({
      script: { lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")] },
      lead: { delegate: false, tools: [factory.create({ name: "scout" })] },
      runtime: { approve: () => ({ allow: true }) },
    });
    assert.equal(result.status, "completed");
    const own = stage.events.filter((event) => event.path === "lead/scout" && event.seq !== undefined);
    assert.deepEqual(events, own);
    const [{ runId = "" } = {}] = own;
    assert.deepEqual(opened.toSorted(), [`events of ${runId}`, `messages of ${runId}`, `state of ${runId}`]);
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["user", "assistant", "tool", "assistant"],
    );
    assert.deepEqual(
      states.map(({ status, turns, toolCount, totalTokens }) => [status, turns, toolCount, totalTokens]),
      [
        ["running", 0, 0, 0],
        ["running", 1, 0, 15],
        ["running", 1, 1, 15],
        ["running", 2, 1, 40],
        ["completed", 2, 1, 40],
      ],
    );
    // Copies: whoever changes one changes nothing else.
    for (const event of events) Object.assign(event, { path: "elsewhere" });
    assert.equal((await stage.store.read(result.runId)).filter(({ path }) => path === "elsewhere").length, 0);
  });
});
