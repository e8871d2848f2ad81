/** Numbers, words and definitions that are not allowed: each is refused with a sentence that names it, before anything runs. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as z from "zod";
import { type AgentOptions, agent } from "../../../src/core/agent.ts";
import { UserError } from "../../../src/core/errors.ts";
import type { RunOptions, RuntimeOptions } from "../../../src/core/runtime.ts";
import { type Tool, tool } from "../../../src/core/tool.ts";
import { createRuntime, run } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { after, calls, says } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";

const NOT_NUMBERS = [-1, Number.NaN, "5", null] as unknown as number[];
const model = scriptedModel(says("Done."));

function refused(act: () => unknown, name: string): void {
  assert.throws(
    act,
    (error) => error instanceof UserError && error.message.includes(name) && error.message.includes("found"),
    name,
  );
}

suite("a number that is not allowed", () => {
  test("a number that is not allowed is refused in the options of a run", () => {
    const lead = agent({ name: "lead", model });
    const given: [string, (value: number) => RunOptions & RuntimeOptions, number[]][] = [];
    for (const unit of ["tokens", "costUsd", "durationMs", "executions"]) {
      given.push([`budget.${unit}`, (value) => ({ budget: { [unit]: value } }), []]);
      given.push([`limits.children.${unit}`, (value) => ({ limits: { children: { [unit]: value } } }), []]);
    }
    for (const name of ["maxDepth", "defaultMaxTurns", "outputMaxSize", "maxConcurrent"]) {
      given.push([`limits.${name}`, (value) => ({ limits: { [name]: value } }), [0, 1.5, 1e308]]);
    }
    for (const name of ["maxTokens", "minRetainTurns", "pruneThreshold"]) {
      given.push([`conversation.${name}`, (value) => ({ conversation: { [name]: value } }), [0]]);
    }
    given.push(["maxConcurrentCalls", (maxConcurrentCalls) => ({ maxConcurrentCalls }), [0, 1.5, 1e308]]);
    for (const [name, options, more] of given) {
      for (const value of [...NOT_NUMBERS, ...more]) refused(() => run(lead, "Go.", options(value)), name);
    }
  });

  test("a number that is not allowed is refused in a definition", () => {
    for (const value of [...NOT_NUMBERS, 0, 1.5]) {
      for (const name of ["maxTurns", "maxOutputTokens"])
        refused(() => agent({ name: "lead", [name]: value }), `agent lead: ${name}`);
    }
    for (const value of [...NOT_NUMBERS, 0]) refused(() => agent({ name: "lead", timeoutMs: value }), "timeoutMs");
    for (const tokens of NOT_NUMBERS)
      refused(() => agent({ name: "lead", budget: { tokens } }), "agent lead: budget.tokens");
  });
});

test("a word that is not allowed is refused", () => {
  const lead = agent({ name: "lead", model });
  const wrong = "sometimes" as never;
  refused(() => run(lead, "Go.", { onExhausted: wrong }), 'onExhausted must be "wrap-up" or "stop"');
  refused(() => run(lead, "Go.", { onLiveChildren: wrong }), 'onLiveChildren must be "wait" or "cancel"');
  refused(() => createRuntime({ limits: { onFull: wrong } }).run(lead, "Go."), "limits.onFull");
  refused(() => run(lead, "Go.", { limits: { summary: wrong } }), "limits.summary");
});

test("a setting that is undefined was not given", async () => {
  const undefinedOnes = { maxDepth: undefined, children: undefined, summary: undefined } as object;
  const stage = openStage(
    { lead: [calls("subagent", { label: "scout", task_prompt: "Look." }), says("Done.")], "lead/scout": [says("A.")] },
    { runtime: { limits: undefinedOnes } },
  );
  const conversation = { maxTokens: undefined, pruneThreshold: undefined } as object;
  const { status, agents } = await stage.run(stage.lead(), "Go.", { limits: undefinedOnes, conversation });
  assert.deepEqual([status, agents.length, stage.eventsOf("prune").length], ["completed", 2, 0]);
});

test("a person is not asked without any time left, neither at first nor in a follow-up", async () => {
  const stage = openStage({ lead: [says("Never.")] });
  const none = await stage.run(stage.lead(), "Go.", { budget: { durationMs: 0 } });
  assert.deepEqual([none.status, none.error?.message], ["timeout", "Time limit exceeded: 0s/0s"]);
  assert.equal(stage.model.requests.length, 0);
  const slow = openStage({ lead: [[after(2000), says("Too late.")], says("Never.")] });
  const handle = slow.start(slow.lead(), "Go.", { budget: { durationMs: 1000 } });
  assert.equal((await slow.end(handle)).status, "timeout");
  assert.equal((await slow.end(handle.followUp("And now?"))).status, "timeout");
  assert.equal(slow.model.requests.length, 1);
});

suite("a definition that cannot be", () => {
  const nothing = undefined as unknown as Tool;

  test("a definition is refused when it names what is no tool and what is no agent", () => {
    assert.throws(
      () => agent({ name: "lead", tools: [nothing] }),
      /tools of agent lead: 0 is undefined and not a tool/,
    );
    assert.throws(() => agent({ name: "lead", tools: { grep: nothing } }), /tools of agent lead: grep is undefined/);
    const plain = { name: "scout" } as never;
    assert.throws(() => agent({ name: "lead", subagents: [plain] }), /subagents of agent lead: 0 is an object and not/);
    const scout = agent({ name: "scout" });
    assert.throws(
      () => agent({ name: "lead", subagents: [scout, scout] }),
      /Two subagents of agent lead are called scout/,
    );
  });

  test("an error about a tool that cannot be used names the tool, and why", async () => {
    const whole = { name: "grow", description: "Grows.", inputSchema: {}, execute: () => 1 };
    assert.throws(() => tool({ ...whole, name: undefined as never }), /A tool name has/);
    assert.throws(() => tool({ ...whole, execute: undefined as never }), /The tool grow has no execute function/);
    assert.throws(() => tool({ ...whole, inputSchema: undefined as never }), /The tool grow has no inputSchema/);
    const wrong = [
      [z.object({ at: z.date() }), /The input schema of the tool grow cannot be used: Date cannot be/],
      [{ type: "banana" }, /The input schema of the tool grow cannot be used: .*banana/],
      [z.string(), /The input of the tool grow must be an object; its schema says "string"/],
    ] as const;
    for (const [inputSchema, said] of wrong) {
      const lead = agent({ name: "lead", model, tools: [tool({ ...whole, inputSchema })] });
      await assert.rejects(Promise.resolve(run(lead, "Go.")), said);
    }
  });

  test("a definition is refused when it names a model that is none", () => {
    for (const odd of [{}, null, 5, { id: "x" }, { answer: () => 1 }] as unknown as AgentOptions["model"][]) {
      assert.throws(() => agent({ name: "lead", model: odd }), {
        name: "UserError",
        message:
          /^agent lead: model must be "provider\/model", a model of the AI SDK, or an object with an id and answer\(\); found/,
      });
    }
  });

  test("a definition keeps names that mean something to JavaScript apart", async () => {
    const names = ["__proto__", "constructor", "toString"];
    const stage = openStage({
      lead: [[...names.map((name) => calls(name)), calls("valueOf")], says("Done.")],
    });
    await stage.run(stage.lead({ tools: names.map((name) => simpleTool(name)) }));
    const [unknown, ...known] = stage.resultsOf("lead").toReversed();
    assert.match(unknown?.output ?? "", /^Unknown tool: valueOf/);
    assert.deepEqual(
      known.toReversed().map(({ output }) => output),
      names.map((name) => `${name} is done`),
    );
  });
});

test("the types of a definition follow its schema, also when it is changed", async () => {
  const first = agent({
    name: "lead",
    model: scriptedModel(says('{"hits":["a"]}')),
    outputSchema: z.object({ hits: z.array(z.string()) }),
  });
  const kept = await run(first.with({ maxTurns: 3 }), "Go.");
  assert.deepEqual(kept.output?.hits satisfies string[] | undefined, ["a"]);
  const other = first.with({ model: scriptedModel(says('{"size":3}')), outputSchema: z.object({ size: z.number() }) });
  const changed = await run(other, "Go.");
  assert.equal(changed.output?.size satisfies number | undefined, 3);
  // @ts-expect-error what the schema no longer has
  assert.equal(changed.output?.hits, undefined);
  // @ts-expect-error no agent without a name
  assert.throws(() => agent({ model }));
  // @ts-expect-error no such setting
  assert.throws(() => agent({ name: "lead", modle: model }), /did you mean model\?$/);
});
