/** Options of an agent on the way to its model: who has them, who inherits them, and how long a forced call is forced. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../src/core/agent.ts";
import type { ModelRequest } from "../../../../src/core/model.ts";
import { resume, run } from "../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, fails, says, stopsAtLength } from "../../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../../support/requirements/support.ts";

type Asked = { path: string; mayCallTools: boolean; settings: ModelRequest["settings"] };

function openListener(script: Parameters<typeof openStage>[0]) {
  const asked: Asked[] = [];
  const onRequest = ({ caller, mayCallTools, settings }: ModelRequest) =>
    void asked.push({ path: caller.path, mayCallTools, settings: { ...settings } });
  return { asked, stage: openStage(script, { model: { onRequest } }) };
}

const look = simpleTool("look");
const search = simpleTool("search");

suite("temperature, effort and provider options", () => {
  const own = { temperature: 0.3, effort: "low", providerOptions: { openai: { serviceTier: "flex" } } } as const;

  test("temperature, effort and provider options are in every request of the agent", async () => {
    const { asked, stage } = openListener({ scout: [calls("look"), says("Done.")] });
    await stage.run(agent({ name: "scout", model: stage.model, tools: [look], ...own }));
    assert.equal(asked.length, 2);
    for (const { settings } of asked) {
      const { temperature, effort, providerOptions } = settings;
      assert.deepEqual({ temperature, effort, providerOptions }, own);
    }
  });

  test("options go with the model: a child with the model of its parent has them where it says nothing itself", async () => {
    const { asked, stage } = openListener({
      lead: [
        calls("subagent", { label: "made-up", task_prompt: "Go." }),
        calls("subagent_named", { task: "Go." }),
        calls("subagent_other", { task: "Go." }),
        says("Done."),
      ],
      "lead/made-up": [says("Done.")],
      "lead/named": [says("Done.")],
      "lead/other": [says("Done.")],
    });
    const named = agent({ name: "named", effort: "high", providerOptions: { openai: { user: "u" } } });
    const other = agent({ name: "other", model: stage.model, effort: "max" });
    await stage.run(agent({ name: "lead", model: stage.model, delegate: true, subagents: [named, other], ...own }));
    const of = (path: string) => {
      const { temperature, effort, providerOptions } = asked.find((each) => each.path === path)?.settings ?? {};
      return { temperature, effort, providerOptions };
    };
    assert.deepEqual(of("lead/made-up"), own);
    assert.deepEqual(of("lead/named"), {
      ...{ temperature: 0.3, effort: "high" },
      providerOptions: { openai: { serviceTier: "flex", user: "u" } },
    });
    assert.deepEqual(of("lead/other"), { temperature: undefined, effort: "max", providerOptions: undefined });
  });
});

suite("tool choice", () => {
  test("a tool choice that requires a call holds until the run has made one", async () => {
    const { asked, stage } = openListener({
      scout: [[says("I be"), stopsAtLength()], calls("look"), calls("search"), says("Done.")],
    });
    await stage.run(agent({ name: "scout", model: stage.model, tools: [look, search], toolChoice: "required" }));
    assert.deepEqual(
      asked.map(({ settings }) => settings.toolChoice),
      ["required", "required", undefined, undefined],
    );
  });

  test("a tool choice of one tool holds until the first call, whichever it is", async () => {
    const toolChoice = { tool: "look" };
    const { asked, stage } = openListener({ scout: [calls("search"), says("Done.")] });
    await stage.run(agent({ name: "scout", model: stage.model, tools: [look, search], toolChoice }));
    assert.deepEqual(
      asked.map(({ settings }) => settings.toolChoice),
      [toolChoice, undefined],
    );
  });

  test("a model that answers without the required call ends the run: nothing is asked for ever", async () => {
    const { asked, stage } = openListener({ scout: [says("I will not.")] });
    const { status } = await stage.run(
      agent({ name: "scout", model: stage.model, tools: [look], toolChoice: "required" }),
    );
    assert.deepEqual([status, asked.length], ["completed", 1]);
  });

  test("a tool choice of none leaves the definitions in the prompt and runs no call, whatever the model sends", async () => {
    let ran = 0;
    const counted = simpleTool("look", () => {
      ran += 1;
      return "seen";
    });
    const { asked, stage } = openListener({ scout: [[says("Hm."), calls("look")]] });
    const { status, text } = await stage.run(
      agent({ name: "scout", model: stage.model, tools: [counted], toolChoice: "none" }),
    );
    assert.deepEqual([status, text, ran], ["completed", "Hm.", 0]);
    assert.deepEqual(
      asked.map(({ mayCallTools }) => mayCallTools),
      [false],
    );
    assert.equal(stage.requestsOf("scout")[0]?.tools.length, 1);
  });

  test("a tool choice of a tool that the agent does not have is a UserError", async () => {
    const { stage } = openListener({ scout: [says("Done.")] });
    const wrong = agent({ name: "scout", model: stage.model, tools: [look], toolChoice: { tool: "lok" } });
    await assert.rejects(async () => stage.run(wrong), {
      name: "UserError",
      message: "toolChoice of agent scout names the tool lok, which the agent does not have; did you mean look?",
    });
    const none = agent({ name: "scout", model: stage.model, toolChoice: "required" });
    await assert.rejects(async () => stage.run(none), {
      name: "UserError",
      message: 'toolChoice of agent scout is "required", and the agent has no tools',
    });
  });

  test("a tool choice of a tool that only a call took away is free", async () => {
    const { asked, stage } = openListener({
      lead: [
        calls("subagent", { label: "x", task_prompt: "Go.", agent: "scout", allowed_tools: ["search"] }),
        says("Done."),
      ],
      "lead/x": [calls("search"), says("Done.")],
    });
    const scout = agent({ name: "scout", tools: [look, search], toolChoice: { tool: "look" } });
    await stage.run(
      agent({ name: "lead", model: stage.model, delegate: true, tools: [look, search], subagents: [scout] }),
    );
    const child = asked.filter(({ path }) => path === "lead/x");
    assert.deepEqual(
      child.map(({ settings }) => settings.toolChoice),
      [undefined, undefined],
    );
  });

  test("a tool choice that requires a call is not forced again when the run is resumed", async () => {
    const asked: (ModelRequest["settings"]["toolChoice"] | undefined)[] = [];
    const onRequest = ({ settings }: ModelRequest) => void asked.push(settings.toolChoice);
    const script = { scout: [calls("look"), fails("auth"), says("Done.")] };
    const store = openMemoryStore();
    const scout = agent({
      ...{ name: "scout", model: scriptedModel(script, { onRequest }) },
      ...{ tools: [look], toolChoice: "required" as const },
    });
    const first = await run(scout, "Go.", { store }).result;
    assert.equal(first.status, "failed");
    const { text } = await resume(first.runId, { store, agent: scout });
    assert.equal(text, "Done.");
    assert.deepEqual(asked, ["required", undefined, undefined]);
  });
});
