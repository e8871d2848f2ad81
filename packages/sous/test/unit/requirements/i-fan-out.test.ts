/** I4: the machinery of parallel_subagent is open to code. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import type { SousEvent } from "../../../src/core/event.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { after, calls, fails, says, uses } from "../../../src/testing/steps.ts";
import { createWorld } from "../../../src/testing/world.ts";
import { fanOut, inShort } from "../../support/requirements/fan-out.ts";
import { recordingTool } from "../../support/requirements/run-tree.ts";

suite("I4: fanOut", () => {
  test("I4: fanOut gives one result per input, in order, at most `limit` at once", async () => {
    const { results, world, events } = await fanOut(["auth", "billing", "jobs"], {
      script: {
        "fan-out/scout": [[after(3000), says("Auth.")]],
        "fan-out/scout#2": [[after(1000), says("Billing.")]],
        "fan-out/scout#3": [[after(1000), says("Jobs.")]],
      },
      options: { concurrency: 2 },
    });
    assert.deepEqual(inShort(results), [
      ["completed", "Auth.", undefined],
      ["completed", "Billing.", undefined],
      ["completed", "Jobs.", undefined],
    ]);
    assert.equal(world.clock.monotonic(), 3000);
    assert.deepEqual(
      results.map(({ agents }) => agents.map(({ path }) => path)),
      [["fan-out/scout"], ["fan-out/scout#2"], ["fan-out/scout#3"]],
    );
    assert.equal(events.filter(({ type }) => type === "run-end").length, 4);
  });

  test("I4: nothing to do is no result, and a limit below one means one at a time", async () => {
    assert.deepEqual((await fanOut([], { script: {} })).results, []);
    for (const [concurrency, time] of [
      [0, 3000],
      [-1, 3000],
      [1.5, 3000],
      [2, 2000],
      [Number.POSITIVE_INFINITY, 1000],
    ] as const) {
      const { results, world } = await fanOut(["a", "b", "c"], {
        script: { "**": [[after(1000), says("Done.")]] },
        options: { concurrency },
      });
      assert.deepEqual([results.map(({ text }) => text).join(), world.clock.monotonic()], ["Done.,Done.,Done.", time]);
    }
  });

  test("I4: the limit of the whole tree holds as well, five by default", async () => {
    const inputs = Array.from({ length: 10 }, (_, index) => `Input ${index}`);
    const script = { "**": [[after(1000), says("Done.")]] };
    assert.equal((await fanOut(inputs, { script })).world.clock.monotonic(), 2000);
    const wide = await fanOut(inputs, { script, runtime: { limits: { maxConcurrent: 10 } } });
    assert.equal(wide.world.clock.monotonic(), 1000);
  });

  test("I4: a limit above five is meant, unless the limit of the tree is given too", async () => {
    const inputs = Array.from({ length: 10 }, (_, index) => `Input ${index}`);
    const script = { "**": [[after(1000), says("Done.")]] };
    const asked = await fanOut(inputs, { script, options: { concurrency: 10 } });
    const held = await fanOut(inputs, {
      script,
      options: { concurrency: 10 },
      runtime: { limits: { maxConcurrent: 2 } },
    });
    assert.deepEqual([asked.world.clock.monotonic(), held.world.clock.monotonic()], [1000, 5000]);
  });

  test("I4: every agent that can be run can be fanned out, whatever its name and its input", async () => {
    for (const name of ["fan-out", "list", "report", "spawn"]) {
      const { results } = await fanOut(["Look."], { script: { "**": [says("Done.")] }, definition: { name } });
      assert.deepEqual(inShort(results), [["completed", "Done.", undefined]]);
    }
    const odd = [5, undefined, "Look."] as readonly string[];
    const { results } = await fanOut(odd, { script: { "**": [says("Done.")] } });
    assert.deepEqual(
      results.map(({ status }) => status),
      ["failed", "failed", "completed"],
    );
  });

  test("I4: a child has the tools, the specialists and the refusals of its definition, and no more", async () => {
    const { model, events } = await fanOut(["a"], {
      script: {
        "fan-out/scout": [calls("subagent_helper", { task: "Help." }), says("Done.")],
        "fan-out/scout/helper": [calls("grep"), calls("write"), says("Helped.")],
      },
      definition: {
        name: "scout",
        tools: [recordingTool("look")],
        deny: ["write"],
        subagents: [agent({ name: "helper", tools: [recordingTool("grep"), recordingTool("write")] })],
      },
    });
    const offered = model.requests.map(({ path, tools }) => [path, tools.join()]);
    assert.deepEqual(offered.slice(0, 2), [
      ["fan-out/scout", "look,subagent_helper,subagent_report"],
      ["fan-out/scout/helper", "grep"],
    ]);
    const outputs = events.filter((event) => event.type === "tool-call-end").map(({ output }) => output);
    assert.deepEqual(outputs.slice(0, 2), ["grep is done", "Unknown tool: write. Your tools: grep."]);
  });

  test("I4: the usage of the results adds up to that of the tree, with everything below each input", async () => {
    const { results, events, model } = await fanOut(["a", "b", "c"], {
      script: {
        "fan-out/*": [
          [calls("subagent", { label: "sub", task_prompt: "Help." }), uses({ input: 10, output: 1 })],
          [says("Done."), uses({ input: 20, output: 2 })],
        ],
        "fan-out/*/sub": [[says("Helped."), uses({ input: 100, output: 10 })]],
        "fan-out/scout#2": [[after(500), fails("auth"), uses({ input: 7, output: 7 })]],
      },
      definition: { name: "scout", delegate: true },
    });
    assert.deepEqual(
      results.map(({ status, usage, agents }) => [status, usage.totalTokens, agents.map(({ path }) => path)]),
      [
        ["completed", 143, ["fan-out/scout", "fan-out/scout/sub"]],
        ["failed", 0, ["fan-out/scout#2"]],
        ["completed", 143, ["fan-out/scout#3", "fan-out/scout#3/sub"]],
      ],
    );
    const ends = events.filter((event) => event.type === "run-end");
    assert.equal(
      ends.reduce((sum, { usage }) => sum + usage.totalTokens, 0),
      286,
    );
    assert.equal(model.reported.totalTokens, 286);
    for (const { usage, agents } of results) {
      assert.equal(
        agents.reduce((sum, each) => sum + each.usage.totalTokens, 0),
        usage.totalTokens,
      );
    }
  });

  test("I4: a listener hears the whole tree, and one that throws changes nothing", async () => {
    const world = createWorld({ seed: 1, lateness: 0 });
    const model = scriptedModel({ "**": [says("Done.")] }, { clock: world.clock });
    const heard: string[] = [];
    const onEvent = ({ type, path }: SousEvent) => {
      heard.push(`${type} ${path}`);
      throw new Error("A broken listener");
    };
    const scout = agent({ name: "scout", model });
    const results = await world.run(() => createRuntime({ host: world.host }).fanOut(scout, ["a", "b"], { onEvent }));
    assert.deepEqual(inShort(results), [
      ["completed", "Done.", undefined],
      ["completed", "Done.", undefined],
    ]);
    assert.deepEqual(heard.filter((line) => line.startsWith("run-")).sort(), [
      "run-end fan-out",
      "run-end fan-out/scout",
      "run-end fan-out/scout#2",
      "run-start fan-out",
      "run-start fan-out/scout",
      "run-start fan-out/scout#2",
    ]);
  });

  test("I4: one tree, one budget: all of it is for the children", async () => {
    const { results } = await fanOut(["a", "b", "c"], {
      script: { "**": [[says("Done."), uses({ input: 100, output: 100 })]] },
      options: { concurrency: 1, budget: { tokens: 1300, executions: 2 } },
    });
    assert.deepEqual(inShort(results), [
      ["completed", "Done.", undefined],
      ["completed", "Done.", undefined],
      ["budget_exceeded", "", "Execution limit reached: 2/2"],
    ]);
  });

  test("I4: each of 200 results has its own agents only", async () => {
    const inputs = Array.from({ length: 200 }, (_, index) => `Input ${index}`);
    const { results } = await fanOut(inputs, { script: { "**": [says("Done.")] }, options: { concurrency: 100 } });
    assert.deepEqual(
      results.map(({ status, agents }) => [status, agents.length]),
      inputs.map(() => ["completed", 1]),
    );
  });
});
