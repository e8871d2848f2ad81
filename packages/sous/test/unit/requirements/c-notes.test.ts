/** Notes of a definition: what follows its instructions, and which children get the same. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";

const child = (label: string, more: object = {}) => calls("subagent", { label, task_prompt: `Do ${label}.`, ...more });
const SCHEMA = { type: "object", properties: { done: { type: "boolean" } }, required: ["done"] };

suite("C1: notes", () => {
  test("C1: notes follow the instructions of the agent and of the children that its calls make up", async () => {
    const own = agent({ name: "own", instructions: "You are another.", notes: "Your own notes." });
    const bare = agent({ name: "bare", notes: "Only notes." });
    const stage = openStage({
      lead: [
        child("plain"),
        child("prompted", { system_prompt: "Be brief." }),
        child("shaped", { system_prompt: "Be brief.", output_schema: SCHEMA }),
        child("forked", { context: "fork" }),
        calls("subagent_own", { task: "Look." }),
        calls("subagent_bare", { task: "Look." }),
        calls("subagent_silent", { task: "Look." }),
        says("Done."),
      ],
      "lead/plain": [child("deeper"), says("Done.")],
      "lead/shaped": [says('{"done":true}')],
      "**": [says("Done.")],
    });
    const subagents = [own, bare, agent({ name: "silent", instructions: "You are silent." })];
    await stage.run(stage.lead({ instructions: "You lead.", notes: "Mind the gap.", subagents }));
    const [plain, shaped] = ["lead/plain", "lead/shaped"].map((path) => stage.requestsOf(path)[0]?.instructions);
    assert.match(plain ?? "", /^You are a subagent: [^\n]*\n\nMind the gap\.$/);
    assert.match(shaped ?? "", /^Be brief\.\n\nWhen you are done, [^\n]*\n\{[^\n]*\}\n\nMind the gap\.$/);
    const told = (label: string) => stage.requestsOf(`lead/${label}`)[0]?.instructions;
    assert.deepEqual(["prompted", "forked", "own", "bare", "silent", "plain/deeper"].map(told), [
      "Be brief.\n\nMind the gap.",
      "You lead.\n\nMind the gap.",
      "You are another.\n\nYour own notes.",
      "Only notes.",
      "You are silent.",
      plain,
    ]);
    const recorded = stage.eventsOf("run-start").map(({ path, notes }) => [path, notes]);
    assert.deepEqual(Object.fromEntries(recorded), {
      lead: "Mind the gap.",
      "lead/plain": "Mind the gap.",
      "lead/plain/deeper": "Mind the gap.",
      "lead/prompted": "Mind the gap.",
      "lead/shaped": "Mind the gap.",
      "lead/forked": "Mind the gap.",
      "lead/own": "Your own notes.",
      "lead/bare": "Only notes.",
      "lead/silent": undefined,
    });
  });

  test("C1: nothing is added unless it is asked for", async () => {
    const stage = openStage({ lead: [child("plain"), says("Done.")], "**": [says("Done.")] });
    await stage.run(stage.lead({ instructions: "You lead." }));
    assert.deepEqual(stage.requestsOf("lead")[0]?.instructions, "You lead.");
    assert.match(stage.requestsOf("lead/plain")[0]?.instructions ?? "", /^You are a subagent: [^\n]*$/);
  });
});

suite("H3: tools for children are denied like others", () => {
  test("H3: a tool for children that is denied is neither shown nor run, for the agent and everything below it", async () => {
    const stage = openStage({
      lead: [calls("parallel_subagent", { tasks: [{ label: "x", task_prompt: "Do." }] }), child("mid"), says("Done.")],
      "lead/mid": [calls("parallel_subagent", { tasks: [{ label: "x", task_prompt: "Do." }] }), says("Done.")],
    });
    await stage.run(stage.lead({ deny: ["parallel_subagent"] }));
    for (const path of ["lead", "lead/mid"]) {
      assert.equal(stage.requestsOf(path)[0]?.tools.includes("parallel_subagent"), false);
      assert.match(stage.resultsOf(path)[0]?.output ?? "", /^Unknown tool: parallel_subagent\. /);
    }
  });

  test("H3: an agent whose tool is denied cannot be called by its name either", async () => {
    const stage = openStage(
      {
        lead: [calls("subagent_scout", { task: "Look." }), child("look", { agent: "scout" }), says("Done.")],
        "**": [says("Done.")],
      },
      { runtime: { agents: [agent({ name: "reader" })] } },
    );
    await stage.run(stage.lead({ subagents: [agent({ name: "scout" })], deny: ["subagent_scout"] }));
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output }) => output.slice(0, 45)),
      ["Unknown tool: subagent_scout. Your tools: sub", "Unknown agent: scout. Known: reader."],
    );
    assert.deepEqual(stage.eventsOf("run-start").length, 1);
  });

  test("H3: a tool that only serves children is not offered where nothing can start one", async () => {
    const stage = openStage({ lead: [says("Done.")] });
    await stage.run(stage.lead({ tools: [simpleTool("look")], deny: ["subagent", "parallel_subagent"] }));
    assert.deepEqual(stage.requestsOf("lead")[0]?.tools, ["look"]);
  });

  test("H3: a run with delegate: false has no children, also when a tool starts them by itself", async () => {
    const start = simpleTool("start", async (_input, context) => {
      const reply = await context.spawn({ label: "x", task: "Do." });
      return reply.kind === "refused" ? reply.message : reply.kind;
    });
    const results: string[] = [];
    for (const delegate of [undefined, false]) {
      const stage = openStage({ lead: [calls("start"), says("Done.")], "**": [says("Done.")] });
      await stage.run(stage.lead({ tools: [start], delegate }));
      results.push(stage.resultsOf("lead")[0]?.output ?? "");
    }
    assert.deepEqual(results, ["ended", "You may not start subagents: do this part of the work yourself"]);
  });
});
