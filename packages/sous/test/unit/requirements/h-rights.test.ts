/** H3 and the boundaries between parent and child (B1, B2), judged by effect: what ran, what was sent, what was stored. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { DEFAULT_LIMITS } from "../../../src/core/words/limits.ts";
import { Profiles } from "../../../src/runtime/tree/profiles.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { readBy, recordingTool, runTree, startsOf } from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

function child(label: string, more: Record<string, unknown> = {}) {
  return calls("subagent", { label, task_prompt: `Do ${label}.`, ...more });
}

suite("H3, B1.1: a child has no more than its parent may pass on", () => {
  test("B1.1: a read-only parent and a child that declares a writing tool: absent, and a forged call does nothing", async () => {
    const write = recordingTool("write");
    const { stage } = await runTree({
      script: {
        lead: [child("a", { agent: "writer" }), says("Seen.")],
        "lead/a": [calls("write", { path: "x" }), says("Wrote it.")],
      },
      lead: { tools: [simpleTool("look")] },
      runtime: { agents: [agent({ name: "writer", tools: [write, simpleTool("look")] })] },
    });
    assert.deepEqual(stage.requestsOf("lead/a")[0]?.tools, ["look"]);
    assert.deepEqual(write.inputs, []);
    const [result] = stage.resultsOf("lead/a");
    assert.deepEqual([result?.isError, result?.output], [true, "Unknown tool: write. Your tools: look."]);
    // Refused and recorded.
    assert.deepEqual(
      stage.eventsOf("tool-call-end", "lead/a").map(({ toolName, isError }) => [toolName, isError]),
      [["write", true]],
    );
    assert.deepEqual(stage.eventsOf("run-start", "lead/a")[0]?.rights, {
      use: ["look"],
      delegate: ["look"],
      deny: [],
      spawn: true,
    });
  });

  test("B1.1: a coordinator may pass on what its specialists declare, and may not use it itself", async () => {
    const read = recordingTool("read");
    const { stage } = await runTree({
      script: {
        lead: [calls("read", { forged: true }), calls("subagent_scout", { task: "Read." }), says("Seen.")],
        "lead/scout": [calls("read", { asked: true }), says("Read it.")],
      },
      lead: { delegate: false, tools: [], subagents: [agent({ name: "scout", tools: [read] })] },
    });
    assert.deepEqual(read.inputs, [{ asked: true }]);
    assert.deepEqual(stage.requestsOf("lead")[0]?.tools, ["subagent_scout", "subagent_report"]);
  });

  test("B1.1: deny wins over allow at every level below it", async () => {
    const write = recordingTool("write");
    const { stage } = await runTree({
      script: {
        lead: [calls("subagent_careful", { task: "Begin." }), calls("write", { by: "lead" }), says("Seen.")],
        "lead/careful": [child("below", { agent: "writer" }), child("also"), says("Done.")],
        "lead/careful/*": [calls("write", { by: "below" }), says("Done.")],
      },
      lead: {
        delegate: false,
        tools: [write],
        subagents: [
          agent({
            name: "careful",
            deny: ["write"],
            tools: [write],
            delegate: true,
            subagents: [agent({ name: "writer", tools: [write] })],
          }),
        ],
      },
    });
    assert.deepEqual(write.inputs, [{ by: "lead" }]);
    assert.equal(stage.eventsOf("run-start", "lead/careful/below").length, 1);
  });

  test("H3: a child has the tools that are declared, asked for and may be passed on, all three", async () => {
    const names = ["a", "b", "c", "d"];
    const tools = names.map((name) => recordingTool(name));
    const [, b, c, d] = tools;
    const { stage } = await runTree({
      script: {
        lead: [child("x", { agent: "some", allowed_tools: ["b", "c"] }), child("y", { agent: "some" }), says("Seen.")],
        "lead/*": [names.map((name) => calls(name)), says("Done.")],
      },
      lead: { tools: tools.slice(0, 3) },
      runtime: { agents: [agent({ name: "some", tools: [b, c, d].filter((each) => each !== undefined) })] },
    });
    assert.deepEqual(
      [...stage.requestsOf("lead/x").slice(0, 1), ...stage.requestsOf("lead/y").slice(0, 1)].map((each) => each.tools),
      [
        ["b", "c"],
        ["b", "c"],
      ],
    );
    assert.deepEqual(
      tools.map(({ inputs }) => inputs.length),
      [0, 2, 2, 0],
    );
    // Asking for what it does not declare is a mistake that is named.
    const { stage: asked } = await runTree({
      script: { lead: [child("x", { agent: "some", allowed_tools: ["a"] }), says("Oh.")] },
      lead: { tools: tools.slice(0, 3) },
      runtime: { agents: [agent({ name: "some", tools: [b, c].filter((each) => each !== undefined) })] },
    });
    assert.match(readBy(asked, "subagent")[0] ?? "", /^Unknown tool in allowed_tools: a\. Known: b, c\./);
  });
});

suite("H3, B1.2, B1.3: on every path, and when a tool is dispatched", () => {
  test("B1.3: a fork sees its parent's tools, and may use only its own", async () => {
    const write = recordingTool("write");
    const look = recordingTool("look");
    const { stage } = await runTree({
      script: {
        lead: [
          [says("PREFIX"), child("f", { context: "fork", allowed_tools: ["look"] })],
          child("g", { context: "fork", agent: "scout" }),
          says("Seen."),
        ],
        "lead/*": [
          [
            calls("look"),
            calls("write"),
            child("below", { allowed_tools: [] }),
            calls("parallel_subagent", { tasks: [{ label: "p", task_prompt: "q" }] }),
          ],
          says("Done."),
        ],
      },
      lead: { tools: [look, write] },
      runtime: { agents: [agent({ name: "scout", tools: [look] })] },
    });
    // The prefix is the parent's, byte for byte: the same tools are shown.
    for (const path of ["lead/f", "lead/g"]) {
      assert.deepEqual(stage.requestsOf(path)[0]?.tools, stage.requestsOf("lead")[0]?.tools);
      // The last four: a fork has read the results of its parent too.
      const results = stage.resultsOf(path).slice(-4);
      assert.deepEqual(
        results.map(({ toolName, isError }) => [toolName, isError]),
        [
          ["look", false],
          ["write", true],
          ["subagent", true],
          ["parallel_subagent", true],
        ],
      );
      assert.match(results[1]?.output ?? "", /^You may not use the tool: write\./);
      assert.match(results[2]?.output ?? "", /^You may not use the tool: subagent\./);
    }
    assert.deepEqual([look.inputs.length, write.inputs.length], [2, 0]);
    assert.deepEqual(startsOf(stage), ["lead", "lead/f", "lead/g"]);
  });

  test("B1.3: a fork without limits may delegate like its parent, and pays its parent's price", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [child("f", { context: "fork", agent: "cheap" }), child("g", { context: "fork" }), says("Seen.")],
        "lead/f": [says("Done.")],
        "lead/g": [child("below"), says("Done.")],
        "lead/g/below": [says("Done.")],
      },
      runtime: {
        agents: [
          agent({ name: "cheap", model: scriptedModel({}, { id: "scripted/cheap", price: { input: 0, output: 0 } }) }),
        ],
      },
      model: { price: { input: 100, output: 100 } },
    });
    assert.deepEqual(startsOf(stage), ["lead", "lead/f", "lead/g", "lead/g/below"]);
    assert.ok((result.agents.find(({ path }) => path === "lead/f")?.costUsd ?? 0) > 0);
  });

  test("B1.2: a follow-up has what its first run had and not more", async () => {
    const write = recordingTool("write");
    const { stage } = await runTree({
      script: {
        lead: [
          child("a", { allowed_tools: ["look"] }),
          ({ messages }) => {
            const id = /subagent_id: (\w+)/.exec(JSON.stringify(messages))?.[1];
            return calls("subagent_send", { subagent_id: id, message: "Now write." });
          },
          says("Seen."),
        ],
        "lead/a": [says("Looked."), [calls("write"), child("below")], says("Done.")],
      },
      lead: { tools: [simpleTool("look"), write] },
    });
    assert.deepEqual(write.inputs, []);
    assert.deepEqual(startsOf(stage), ["lead", "lead/a", "lead/a"]);
    const [first, second] = stage.eventsOf("run-start", "lead/a");
    assert.deepEqual(second?.rights, first?.rights);
  });

  test("B1.7: a child that is revived is narrowed by what its parent may pass on now", async () => {
    const tools = [simpleTool("look"), simpleTool("write")];
    const profiles = new Profiles({
      resolveModel: () => scriptedModel(),
      priceOf: () => undefined,
      windowOf: () => undefined,
      allowedModels: [],
      limits: DEFAULT_LIMITS,
      agents: [],
      now: () => 0,
    });
    const parent = await profiles.root(agent({ name: "lead", model: scriptedModel(), tools, delegate: true }));
    const earlier = await profiles.child(parent, { label: "a", task: "b" });
    const now = await profiles.root(agent({ name: "lead", model: scriptedModel(), tools, deny: ["write"] }));
    const { use, delegate, deny } = profiles.revived(earlier, now).rights;
    assert.deepEqual([[...use], [...delegate], [...deny]], [["look"], ["look"], ["write"]]);
    assert.ok(earlier.rights.use.has("write"));
  });

  test("B1.3: a call that was never offered is refused, recorded, and not executed, at any depth", async () => {
    const write = recordingTool("write");
    const { stage } = await runTree({
      script: {
        lead: [child("a", { allowed_tools: [] }), says("Seen.")],
        "lead/a": [[calls("write"), child("x"), calls("subagent_list"), calls("no_such")], says("Done.")],
      },
      lead: { tools: [write] },
    });
    assert.deepEqual(
      stage.resultsOf("lead/a").map(({ output }) => output),
      ["write", "subagent", "subagent_list", "no_such"].map((name) => `Unknown tool: ${name}. You have no tools.`),
    );
    assert.equal(stage.eventsOf("tool-call-end", "lead/a").length, 4);
    assert.deepEqual([write.inputs, startsOf(stage)], [[], ["lead", "lead/a"]]);
  });
});
