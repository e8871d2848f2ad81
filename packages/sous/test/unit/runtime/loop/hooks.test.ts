/** The two points where a user's code steps in, before and after a tool call, and the two where it watches. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as z from "zod";
import { type AgentOptions, agent } from "../../../../src/core/agent.ts";
import type { HookCall, Hooks } from "../../../../src/core/approval.ts";
import { tool } from "../../../../src/core/tool.ts";
import { calls, fails, says } from "../../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../../support/requirements/support.ts";

/** Runs one call with these hooks; gives what the tool saw and what the model read. */
async function withHooks(hooks: Hooks, options: Partial<AgentOptions> = {}) {
  const ran: unknown[] = [];
  const look = simpleTool("look", (input) => {
    ran.push(input);
    return "the tool's own words";
  });
  const stage = openStage({ lead: [calls("look", { at: "door" }, "c1"), says("Done.")] });
  const result = await stage.run(stage.lead({ tools: [look], hooks, ...options }));
  const [read] = stage.resultsOf("lead");
  return { ran, read: [read?.output, read?.isError], result, stage };
}

suite("a hook before a tool call", () => {
  test("a hook before a tool call sees the call and lets it run by returning nothing", async () => {
    const seen: HookCall[] = [];
    const { ran, read, stage } = await withHooks({ beforeToolCall: (call) => void seen.push(call) });
    const runId = stage.eventsOf("run-start")[0]?.runId;
    assert.deepEqual(seen, [{ callId: "c1", toolName: "look", input: { at: "door" }, path: "lead", runId }]);
    assert.deepEqual([ran, read], [[{ at: "door" }], ["the tool's own words", false]]);
  });

  test("a hook before a tool call sees a copy of the input, and what a schema made that cannot be copied as it is", async () => {
    const seen: unknown[] = [];
    const ran: unknown[] = [];
    const hooks: Hooks = { beforeToolCall: ({ input }) => void seen.push(input) };
    const run = async (inputSchema: z.ZodType) => {
      const look = tool({ name: "look", description: "Looks.", inputSchema, execute: (input) => void ran.push(input) });
      const stage = openStage({ lead: [calls("look", { at: "door" }), says("Done.")] });
      await stage.run(stage.lead({ tools: [look], hooks }));
    };
    await run(z.object({ at: z.string() }));
    await run(z.object({ at: z.string().transform((at) => () => at) }));
    assert.deepEqual(seen[0], ran[0]);
    assert.notEqual(seen[0], ran[0]);
    assert.equal(seen[1], ran[1]);
    assert.equal((seen[1] as { at: () => string }).at(), "door");
  });

  test("a hook before a tool call may stop the run, and then the tool does not run", async () => {
    const ran: string[] = [];
    const stage = openStage({ lead: [calls("look")] });
    const tools = [simpleTool("look", () => ran.push("look"))];
    const hooks: Hooks = { beforeToolCall: () => void handle.cancel() };
    const handle = stage.start(stage.lead({ tools, hooks }));
    assert.deepEqual([(await stage.end(handle)).status, ran], ["cancelled", []]);
  });

  test("a hook before a tool call may refuse it, with words the model reads", async () => {
    const { ran, read, result } = await withHooks({ beforeToolCall: async () => ({ refuse: "Not at night." }) });
    assert.deepEqual([ran, read, result.status], [[], ["Not at night.", true], "completed"]);
  });

  test("a hook before a tool call may answer it in the tool's place", async () => {
    const answer = { result: { success: true, output: "from a cache" } };
    const { ran, read } = await withHooks({ beforeToolCall: () => answer });
    assert.deepEqual([ran, read], [[], ["from a cache", false]]);
  });

  test("a hook before a tool call refuses it by throwing, and a developer finds the stack", async () => {
    const { ran, read, stage } = await withHooks({
      beforeToolCall() {
        throw new Error("The policy could not be read");
      },
    });
    assert.deepEqual([ran, read], [[], ["The policy could not be read", true]]);
    assert.match(stage.eventsOf("tool-call-end")[0]?.stack ?? "", /^Error: The policy/);
  });

  test("a hook before a tool call comes before the question for approval", async () => {
    let asked = 0;
    const write = simpleTool("write", undefined, { tier: "confirm" });
    const stage = openStage(
      { lead: [calls("write"), says("Done.")] },
      { runtime: { approve: () => ({ allow: ++asked > 0 }) } },
    );
    const hooks: Hooks = { beforeToolCall: () => ({ refuse: "Never." }) };
    await stage.run(stage.lead({ tools: [write], hooks }));
    assert.deepEqual([asked, stage.resultsOf("lead")[0]?.output], [0, "Never."]);
  });

  test("a hook before a tool call is not called for input the tool would not take", async () => {
    const seen: HookCall[] = [];
    const stage = openStage({ lead: [calls("look", "{broken"), says("Done.")] });
    const hooks: Hooks = { beforeToolCall: (call) => void seen.push(call) };
    await stage.run(stage.lead({ tools: [simpleTool("look")], hooks }));
    assert.deepEqual(seen, []);
  });
});

suite("a hook after a tool call", () => {
  test("a hook after a tool call sees the result and may replace it", async () => {
    const { read } = await withHooks({
      afterToolCall: (_call, { output }) => ({ success: true, output: output.toUpperCase() }),
    });
    assert.deepEqual(read, ["THE TOOL'S OWN WORDS", false]);
  });

  test("a hook after a tool call leaves the result by returning nothing", async () => {
    const seen: string[] = [];
    const { read } = await withHooks({ afterToolCall: async (_call, { output }) => void seen.push(output) });
    assert.deepEqual([seen, read], [["the tool's own words"], ["the tool's own words", false]]);
  });

  test("a hook after a tool call makes a failed result by throwing", async () => {
    const { ran, read } = await withHooks({
      afterToolCall() {
        throw new Error("The result holds a secret");
      },
    });
    assert.deepEqual([ran.length, read], [1, ["The result holds a secret", true]]);
  });
});

suite("a hook that watches", () => {
  test("a hook that watches hears the events of its own run, and its throws change nothing", async () => {
    const heard: string[] = [];
    const { result } = await withHooks({
      onEvent(event) {
        heard.push(event.type);
        throw new Error("a broken listener");
      },
    });
    assert.equal(result.status, "completed");
    assert.deepEqual([heard[0], heard.at(-1)], ["run-start", "run-end"]);
    assert.ok(heard.includes("tool-call-end"));
  });

  test("a hook that watches is told when its run ends badly, and its throws change nothing", async () => {
    const errors: unknown[] = [];
    const stage = openStage({ lead: [fails("auth", { message: "No such key" })] });
    const hooks: Hooks = {
      onError(error) {
        errors.push(error);
        throw new Error("a broken listener");
      },
    };
    const result = await stage.run(stage.lead({ hooks }));
    assert.equal(result.status, "failed");
    assert.deepEqual(errors, [{ message: "No such key", path: "lead", runId: result.runId }]);
  });

  test("a hook of one agent that watches does not hear its parent or its siblings", async () => {
    const heard = new Set<string>();
    const stage = openStage({
      lead: [[calls("subagent_scout", { task: "Left." }), calls("subagent_other", { task: "Right." })], says("Done.")],
      "**": [says("Seen.")],
    });
    const scout = stage.lead({
      name: "scout",
      delegate: false,
      hooks: { onEvent: ({ path }) => void heard.add(path) },
    });
    const other = stage.lead({ name: "other", delegate: false });
    await stage.run(stage.lead({ subagents: [scout, other] }));
    assert.deepEqual([...heard], ["lead/scout"]);
  });
});

suite("the hooks of a parent", () => {
  const noLooking: Hooks = {
    beforeToolCall: ({ toolName }) => (toolName === "look" ? { refuse: "Not here." } : undefined),
  };

  async function lookBelow(call: ReturnType<typeof calls>, options: Partial<AgentOptions> = {}) {
    const ran: string[] = [];
    const look = simpleTool("look", () => {
      ran.push("look");
      return "A wall.";
    });
    const stage = openStage({ lead: [call, says("Done.")], "lead/*": [calls("look", {}), says("Seen.")] });
    const watched: string[] = [];
    const hooks: Hooks = { ...noLooking, onEvent: ({ path }) => void watched.push(path) };
    await stage.run(stage.lead({ tools: [look], hooks, ...options }));
    return {
      ran,
      read: stage.resultsOf("lead/x").concat(stage.resultsOf("lead/scout"))[0]?.output,
      watched: new Set(watched),
    };
  }

  test("the hooks of a parent guard the tools it passes on to a child that a call made up, and watch no other agent", async () => {
    const { ran, read, watched } = await lookBelow(calls("subagent", { label: "x", task_prompt: "Look." }));
    assert.deepEqual([ran, read, watched], [[], "Not here.", new Set(["lead"])]);
  });

  test("the hooks of a parent guard a fork of it too", async () => {
    const { ran, read } = await lookBelow(calls("subagent", { label: "x", task_prompt: "Look.", context: "fork" }));
    assert.deepEqual([ran, read], [[], "Not here."]);
  });

  test("the hooks of a parent are not those of a specialist, which has its own", async () => {
    const scout = agent({ name: "scout" });
    const { ran } = await lookBelow(calls("subagent_scout", { task: "Look." }), { subagents: [scout] });
    assert.deepEqual(ran, ["look"]);
  });
});
