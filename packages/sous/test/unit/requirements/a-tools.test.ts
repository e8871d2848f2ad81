/** Sections A2 and A3: conversations and the tool registry. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { type Tool, type ToolCategory, ToolRegistry, tool } from "../../../src/core/tool.ts";
import { namedAgentTool, subagentFactory } from "../../../src/runtime/subagents/named-agent.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says, uses } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";

suite("A2: a conversation", () => {
  test("A2: a conversation belongs to one run: a child sees its task and nothing of its parent", async () => {
    const stage = openStage({
      lead: [says(""), calls("subagent", { label: "x", task_prompt: "Find the door." }), says("Done.")],
      "lead/x": [says("The door is red.")],
    });
    await stage.run(stage.lead({ instructions: "CANARY of the instructions" }), "CANARY of the task");
    const [request] = stage.requestsOf("lead/x");
    assert.deepEqual(request?.messages, [{ role: "user", content: [{ type: "text", text: "Find the door." }] }]);
    assert.ok(!JSON.stringify([request.messages, request.instructions]).includes("CANARY"));
  });

  test("A2: a conversation is pruned at maxTokens × pruneThreshold, keeps minRetainTurns, the task, and calls with results", async () => {
    const stage = openStage({ lead: [...Array.from({ length: 6 }, () => calls("read")), says("Done.")] });
    const conversation = { maxTokens: 4000, pruneThreshold: 0.75, minRetainTurns: 2 };
    const tools = [simpleTool("read", () => "x".repeat(3000))];
    await stage.run(agent({ name: "lead", model: stage.model, tools }), "The task.", { conversation });
    assert.deepEqual(
      stage.requestsOf("lead").map(({ messages }) => messages.map(({ role }) => role[0]).join("")),
      // u = task, a = call, t = its result: two turns stay each time it has grown too long.
      ["u", "uat", "uatat", "uatat", "uatat", "uatat", "uatat"],
    );
    const task = { role: "user", content: [{ type: "text", text: "The task." }] };
    for (const { messages } of stage.requestsOf("lead")) assert.deepEqual(messages[0], task);
  });

  test("A2: a conversation has defaults: 100,000 tokens, threshold 0.8, five turns", async () => {
    const stage = openStage({
      lead: [
        ...Array.from({ length: 7 }, () => calls("read")),
        [calls("read"), uses({ input: 79_000, output: 500 })],
        [calls("read"), uses({ input: 80_000, output: 500 })],
        says("Done."),
      ],
    });
    await stage.run(agent({ name: "lead", model: stage.model, tools: [simpleTool("read")] }));
    assert.deepEqual(
      stage.requestsOf("lead").map(({ messages }) => messages.length),
      [1, 3, 5, 7, 9, 11, 13, 15, 17, 11],
    );
  });
});

suite("A3: the tool registry", () => {
  const one = simpleTool("one", () => 1);
  const two = simpleTool("two", () => 2, { tier: "confirm", category: "edit", displayName: "The second" });

  test("A3: a registry registers, gets and lists definitions in their order", () => {
    const registry = new ToolRegistry([one]).register(two);
    assert.equal(registry.get("two"), two);
    assert.equal(registry.get("three"), undefined);
    assert.deepEqual([registry.has("one"), registry.has("three"), registry.names()], [true, false, ["one", "two"]]);
    assert.deepEqual(registry.list(), [
      {
        name: "one",
        displayName: "one",
        description: "Does one.",
        category: "other",
        tier: "observe",
        effect: "read",
        inputSchema: { type: "object" },
      },
      {
        name: "two",
        displayName: "The second",
        description: "Does two.",
        category: "edit",
        tier: "confirm",
        effect: "read",
        inputSchema: { type: "object" },
      },
    ]);
    assert.deepEqual([...registry], [one, two]);
  });

  test("A3: a registry makes clones, whole and filtered, that do not see each other's changes", () => {
    const registry = new ToolRegistry([one]);
    const clone = registry.clone();
    clone.register(two);
    const filtered = clone.cloneFiltered(({ tier }) => tier === "confirm");
    registry.register(simpleTool("three"));
    assert.deepEqual([registry.names(), clone.names(), filtered.names()], [["one", "three"], ["one", "two"], ["two"]]);
  });

  test("A3: a registry refuses a second tool of one name, and names a provider would not take", () => {
    const registry = new ToolRegistry([one]);
    assert.throws(() => registry.register(one), { name: "UserError", message: /one is already registered/ });
    for (const name of ["", "with space", "a/b", "ä", "x".repeat(65)]) {
      assert.throws(() => simpleTool(name), { name: "UserError", message: /1 to 64 letters/ });
    }
  });

  test("A3: a tool is observe, unsafe and other unless it says so, and cannot be changed afterwards", () => {
    const plain = tool({ name: "plain", description: "Plain.", inputSchema: {}, execute: () => 1 });
    const { tier, effect, category } = plain;
    assert.deepEqual([tier, effect, category], ["observe", "unsafe", "other"]);
    assert.throws(() => Object.assign(plain, { tier: "confirm" }), TypeError);
  });

  test("A3: the categories are those of the contract", () => {
    const categories: ToolCategory[] = [
      "read",
      "edit",
      "search",
      "execute",
      "memory",
      "vfs",
      "task",
      "subagent",
      "other",
    ];
    assert.deepEqual(
      categories.map((category) => simpleTool("any", undefined, { category }).category),
      categories,
    );
  });

  test("A3: subagent and parallel_subagent observe; a specialist asks unless its holder lists it", async () => {
    const scout = agent({ name: "scout" });
    const tiers = (tools: readonly Tool[]) => tools.map(({ name, tier, category }) => [name, tier, category]);
    const factory = subagentFactory({ model: scriptedModel(), registry: new ToolRegistry() });
    assert.deepEqual(tiers([namedAgentTool(scout), factory.create({ name: "finder" })]), [
      ["subagent_scout", "confirm", "subagent"],
      ["subagent_finder", "confirm", "subagent"],
    ]);
    let asked = 0;
    const stage = openStage(
      {
        lead: [
          calls("subagent_scout", { task: "Look." }),
          calls("subagent", { label: "x", task_prompt: "Look left." }),
          calls("parallel_subagent", { tasks: [{ label: "y", task_prompt: "Look right." }] }),
          says("Done."),
        ],
        "lead/*": [says("Seen.")],
      },
      { runtime: { approve: () => ({ allow: ++asked < 0 }) } },
    );
    await stage.run(stage.lead({ subagents: [scout] }));
    assert.equal(asked, 0);
    assert.equal(stage.eventsOf("run-start").length, 4);
  });

  test("A3: a child's own confirm tools ask for themselves", async () => {
    const asked: unknown[] = [];
    const stage = openStage(
      {
        lead: [calls("subagent", { label: "x", task_prompt: "Write." }), says("Done.")],
        "lead/x": [calls("write", { to: "a.txt" }, "c1"), says("Written.")],
      },
      {
        runtime: {
          approve({ path, toolName, input, callId }) {
            asked.push({ path, toolName, input, callId });
            return { allow: true };
          },
        },
      },
    );
    await stage.run(stage.lead({ tools: [simpleTool("write", undefined, { tier: "confirm" })] }));
    assert.deepEqual(asked, [{ path: "lead/x", toolName: "write", input: { to: "a.txt" }, callId: "c1" }]);
  });

  test("A3: a result's fields reach whom they are for", async () => {
    const picture = { type: "file", mediaType: "image/png", data: "aGk=" } as const;
    const full = {
      success: true,
      output: "for the model",
      data: { for: "code" },
      documents: [picture],
      metadata: { lines: 3 },
    };
    let seen: unknown;
    const stage = openStage({ lead: [calls("full"), says("Done.")] });
    const hooks = {
      afterToolCall(_call: unknown, result: unknown) {
        seen = result;
        return undefined;
      },
    };
    await stage.run(stage.lead({ tools: [simpleTool("full", () => full)], hooks }));
    assert.deepEqual(seen, full);
    const [end] = stage.eventsOf("tool-call-end");
    assert.deepEqual(
      [end?.output, end?.isError, end?.files, end?.metadata, end?.durationMs],
      ["for the model", false, [picture], { lines: 3 }, 0],
    );
  });
});
