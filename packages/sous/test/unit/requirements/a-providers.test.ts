/** Sections A4 and A5: providers, and who hears of an error. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { StoreError } from "../../../src/core/errors.ts";
import { RunError } from "../../../src/core/runtime.ts";
import { tool } from "../../../src/core/tool.ts";
import { resolveModel } from "../../../src/runtime/model/resolve.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, fails, says } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";
import { wrapStore } from "../../support/testing/faults.ts";

suite("A4: providers", () => {
  test("A4: one model instance serves the whole tree, and a child may name another", async () => {
    const other = scriptedModel({ "**": [says("I am the other one.")] }, { id: "scripted/other" });
    const stage = openStage({
      lead: [
        calls("subagent", { label: "same", task_prompt: "Who are you?" }),
        calls("subagent_guest", { task: "Who are you?" }),
        says("Done."),
      ],
      "lead/same": [says("I am the same.")],
    });
    const guest = agent({ name: "guest", model: other });
    await stage.run(stage.lead({ subagents: [guest] }));
    assert.deepEqual(
      stage.eventsOf("run-start").map(({ path, model }) => [path, model]),
      [
        ["lead", "scripted/model"],
        ["lead/same", "scripted/model"],
        ["lead/guest", "scripted/other"],
      ],
    );
    assert.deepEqual([stage.model.requestCount, other.requestCount], [4, 1]);
  });

  test("A4: a model that a call names and that is not known is a failed result, and no child", async () => {
    const stage = openStage({
      lead: [calls("subagent", { label: "x", task_prompt: "Look.", model: "nowhere/none" }), says("Done.")],
    });
    await stage.run(stage.lead());
    const [read] = stage.resultsOf("lead");
    assert.match(
      read?.output ?? "",
      /^The model nowhere\/none is of the provider "nowhere", and a call may name only models of its run/,
    );
    assert.equal(stage.eventsOf("run-start").length, 1);
  });

  test("A4: every real provider is named as provider/model, and needs no network before it is asked", async () => {
    const environment = {
      ANTHROPIC_API_KEY: "k",
      OPENAI_API_KEY: "k",
      GEMINI_API_KEY: "k",
      OPENROUTER_API_KEY: "k",
      GITHUB_COPILOT_TOKEN: "k",
      GITHUB_TOKEN: "k",
      OPENAI_COMPATIBLE_BASE_URL: "http://127.0.0.1:1/v1",
      VLLM_BASE_URL: "http://127.0.0.1:1/v1",
      LMSTUDIO_BASE_URL: "http://127.0.0.1:1/v1",
    };
    const providers = [
      "anthropic",
      "openai",
      "google",
      "openai-compatible",
      "openrouter",
      "vllm",
      "lmstudio",
      "ollama",
    ];
    const options = { fetch: () => assert.fail("no network"), baseUrl: "http://127.0.0.1:1/v1" };
    for (const provider of [...providers, "github-copilot"]) {
      const { id } = await resolveModel(`${provider}/some-model`, environment, options);
      assert.equal(id, `${provider}/some-model`);
    }
  });

  test("A4: an agent without a model is told so before anything starts", async () => {
    const stage = openStage({});
    await assert.rejects(
      stage.world.run(() => stage.start(agent({ name: "lead" }))),
      { name: "UserError", message: /^No model: give the agent one/ },
    );
  });
});

suite("A5: tool errors are data, system errors are errors", () => {
  test("A5: bad input, an unknown tool, a limit and a throw are failed results the model reads", async () => {
    const strict = tool({
      name: "strict",
      description: "Strict.",
      inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      execute: () => 1,
    });
    const broken = simpleTool("broken", () => {
      throw new Error("It broke");
    });
    const stage = openStage(
      {
        lead: [
          [
            calls("strict", {}),
            calls("missing"),
            calls("broken"),
            calls("subagent", { label: "x", task_prompt: "Go." }),
          ],
          says("I read all of it."),
        ],
      },
      { runtime: { limits: { children: { executions: 0 } } } },
    );
    const result = await stage.run(stage.lead({ tools: [strict, broken] }));
    assert.deepEqual([result.status, result.text], ["completed", "I read all of it."]);
    const results = stage.resultsOf("lead");
    assert.ok(results.every(({ isError }) => isError));
    assert.deepEqual(
      results.map(({ output }) => output.split(/[:.]/)[0]),
      ["n", "Unknown tool", "It broke", "Execution limit reached"],
    );
  });

  test("A5: a fault of the provider's code ends the run as failed, with its cause", async () => {
    const cause = new TypeError("undefined is not a function");
    const stage = openStage({ lead: [fails(cause)] });
    const error = await stage.world.run(() => stage.start(stage.lead()).catch((thrown: unknown) => thrown));
    assert.ok(error instanceof RunError);
    assert.equal(error.message, "The model failed: undefined is not a function");
    assert.deepEqual([error.result.status, error.result.error?.type], ["failed", "model"]);
    assert.equal((error.cause as Error).cause, cause);
  });

  for (const [when, kept] of [
    ["at once", 0],
    ["in the middle", 3],
    ["at the very end", 4],
  ] as const) {
    test(`A5: a required store that breaks ${when} ends the run as failed, with its cause`, async () => {
      let appended = 0;
      const memory = openMemoryStore();
      const store = wrapStore(memory, {
        isImmediate: true,
        append(rootId: string, events: Parameters<typeof memory.append>[1]) {
          if (appended + events.length > kept) throw new Error("No space is left");
          appended += events.length;
          return memory.append(rootId, events);
        },
      });
      const stage = openStage({ lead: [calls("look"), says("Done.")] }, { runtime: { store, requireStore: true } });
      const handle = stage.runtime.run(
        stage.lead({ tools: [simpleTool("look", undefined, { effect: "unsafe" })] }),
        "Look.",
      );
      const error = await stage.world.run(() => handle.catch((thrown: unknown) => thrown));
      assert.ok(error instanceof RunError);
      assert.deepEqual([error.result.status, error.result.error?.type], ["failed", "store"]);
      assert.match(error.message, /^The store failed 4 times to keep event \d+: No space is left$/);
      assert.ok(error.cause instanceof StoreError);
    });
  }

  test("A5: a broken store that is not required lets the run continue", async () => {
    const store = wrapStore(openMemoryStore(), { append: () => assert.fail("No space is left") });
    const stage = openStage({ lead: [says("Done.")] }, { runtime: { store } });
    assert.equal((await stage.run(stage.lead())).text, "Done.");
  });
});
