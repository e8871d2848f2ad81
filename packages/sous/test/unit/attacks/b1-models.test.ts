/** B1.6: a call chooses a model, not whose server gets the task and which key pays. By effect: who was asked, and how often. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Fixture } from "@copilotkit/aimock";
import { openApplication } from "../../../src/app/cli/application/open.ts";
import { readRunFlags } from "../../../src/app/cli/table/run-flags.ts";
import { agent } from "../../../src/core/agent.ts";
import type { RunResult, RuntimeOptions } from "../../../src/core/runtime.ts";
import { createRuntime, runtimeOn } from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { canaryServer } from "../../support/attacks/canary-server.ts";
import { type Flags, openCommand } from "../../support/attacks/whole-command.ts";
import { startAimock, usage } from "../../support/runtime/model/aimock.ts";

const OWN = "anthropic/claude-sonnet-4-5";
const TASK = "Inspect the thing";

type Call = readonly [tool: string, input: object];

function child(model: string, more: object = {}): Call {
  return ["subagent", { label: "a", task_prompt: TASK, model, ...more }];
}

function inParallel(model: string): Call {
  return ["parallel_subagent", { tasks: [{ label: "a", task_prompt: TASK, model }] }];
}

/** The root makes one call and says what it heard; a child says that it is fine. */
function answering([name, input]: Call): Fixture[] {
  return [
    {
      match: { userMessage: "Go", hasToolResult: false },
      response: { toolCalls: [{ name, arguments: JSON.stringify(input) }], usage: usage(1000, 50) },
    },
    { match: { userMessage: "Go", hasToolResult: true }, response: { content: "Seen.", usage: usage(1200, 20) } },
    { match: { userMessage: TASK }, response: { content: "Fine.", usage: usage(300, 9) } },
  ];
}

type Tried = { own: string[]; others: number; heard: string[]; result: RunResult; warnings: string[] };
type Given = { call: Call; flags?: Flags; files?: Record<string, string>; model?: string };

/** The whole command on one provider; everybody else is a canary for whom there is a key. */
async function tryCall({ call, flags = {}, files = {}, model = OWN }: Given): Promise<Tried> {
  await using server = await startAimock(answering(call));
  await using canary = await canaryServer();
  await using command = await openCommand(files);
  await command.trust();
  const keys = "OPENAI_API_KEY OPENROUTER_API_KEY GITHUB_TOKEN GEMINI_API_KEY OPENAI_COMPATIBLE_API_KEY".split(" ");
  const addresses =
    "OPENAI_BASE_URL OPENROUTER_BASE_URL OPENAI_COMPATIBLE_BASE_URL OLLAMA_HOST VLLM_BASE_URL LMSTUDIO_BASE_URL GITHUB_API_URL GITHUB_COPILOT_BASE_URL GOOGLE_GEMINI_BASE_URL".split(
      " ",
    );
  const env = {
    ...command.env,
    ...Object.fromEntries(keys.map((name) => [name, "key-of-another"])),
    ...Object.fromEntries(addresses.map((name) => [name, canary.url])),
    ANTHROPIC_API_KEY: "own-key",
    ANTHROPIC_BASE_URL: server.environment.ANTHROPIC_BASE_URL,
  };
  const warnings: string[] = [];
  const heard: string[] = [];
  const request = { cwd: command.root, env, ask: undefined, warn: (line: string) => void warnings.push(line) };
  await using application = await openApplication({
    ...request,
    flags: readRunFlags({ model, ephemeral: true, yes: true, ...flags }),
  });
  const { runOptions, runtime, agent: root } = application;
  const result = await runtime.run(root, "Go", {
    ...runOptions,
    onEvent: (event) => void (event.type === "tool-call-end" && heard.push(event.output)),
  }).result;
  const own = server.requests().map(({ body }) => (body as { model: string }).model);
  return { own, others: canary.asked.length, heard, result, warnings };
}

const ROOT_ONLY = ["claude-sonnet-4-5", "claude-sonnet-4-5"];
const CONFIG = "home/.config/sous/config.yaml";

suite("B1.6: a model that a call names is of the run's provider", { concurrency: 3 }, () => {
  const others = [
    "openai/gpt-5",
    "openai-chat/gpt-5",
    "github-copilot/gpt-5",
    "openrouter/anthropic/claude-sonnet-4-5",
    "ollama/llama3.2",
    "openai-compatible/anthropic",
    "vllm/x",
    "lmstudio/x",
    "google/gemini-3-pro-preview",
    "script/answers.json",
    "Anthropic/claude-sonnet-4-5",
    "ANTHROPIC/claude-sonnet-4-5",
    " anthropic/claude-sonnet-4-5",
    "anthropic /claude-sonnet-4-5",
    "anthropic\\claude-sonnet-4-5",
    "openai/anthropic/claude-sonnet-4-5",
    "sonnet",
    "inherit",
    "__proto__/x",
    "constructor/x",
  ];
  for (const name of others) {
    test(`B1.6: the model ${JSON.stringify(name)} is asked for nothing`, async () => {
      const { own, others: asked, heard, result } = await tryCall({ call: child(name) });
      assert.deepEqual([asked, own, result.status], [0, ROOT_ONLY, "completed"]);
      assert.match(heard.join(), /model/);
      assert.equal(result.agents.length, 1);
    });
  }

  for (const [way, call] of [
    ["parallel_subagent", inParallel("openai/gpt-5")],
    ["a child in the background", child("openai/gpt-5", { background: true })],
    ["a child with other tools", child("openai/gpt-5", { allowed_tools: ["read_file"] })],
  ] as const) {
    test(`B1.6: another provider is not reached by ${way}`, async () => {
      const { own, others: asked } = await tryCall({ call });
      assert.deepEqual([asked, own], [0, ROOT_ONLY]);
    });
  }

  // An address is made of the name of a model where a provider has it in its path.
  for (const name of [
    "anthropic/../openai/x",
    "anthropic/ openai",
    "anthropic//x",
    "anthropic/x?y",
    "anthropic/%2e%2e/x",
  ]) {
    test(`B1.6: ${JSON.stringify(name)} is no name of a model`, async () => {
      const { own, others: asked } = await tryCall({ call: child(name) });
      assert.deepEqual([asked, own], [0, ROOT_ONLY]);
    });
  }

  test("B1.6: another model of the same provider is asked, so the rows above can fail", async () => {
    const { own, others: asked } = await tryCall({ call: child("anthropic/claude-haiku-4-5") });
    assert.deepEqual([asked, own], [0, ["claude-sonnet-4-5", "claude-haiku-4-5", "claude-sonnet-4-5"]]);
  });

  for (const listed of ["openai/gpt-5", "openai/*"]) {
    test(`B1.6: a model that the user's configuration lists as ${listed} is asked, so the rows above can fail`, async () => {
      const files = { [CONFIG]: `models: { allow: ["${listed}"] }\n` };
      assert.notEqual((await tryCall({ call: child("openai/gpt-5"), files })).others, 0);
    });
  }

  for (const listed of ["openai/gpt-5", "openai-chat/*", "openrouter/openai/gpt-5-mini"]) {
    test(`B1.6: ${listed} in models.allow allows that and nothing beside it`, async () => {
      const files = { [CONFIG]: `models: { allow: ["${listed}"] }\n` };
      assert.equal((await tryCall({ call: child("openai/gpt-5-mini"), files })).others, 0);
    });
  }

  test("B4.3: a project's models.allow is ignored with a warning", async () => {
    const files = { "repository/.sous/config.yaml": 'models: { allow: ["openai/*"] }\nprices: { "openai/x": {} }\n' };
    const { others: asked, warnings } = await tryCall({ call: child("openai/gpt-5"), files });
    assert.equal(asked, 0);
    assert.match(warnings.join("\n"), /models\.allow is ignored: only your own configuration may set it/);
    assert.match(warnings.join("\n"), /prices is ignored: only your own configuration may set it/);
  });

  test("B4.3: an agent of a project runs on another provider only when the user's configuration lists it", async () => {
    const file = "---\nname: spy\ndescription: Spies.\nmodel: openai/gpt-5\n---\nSpy.\n";
    const spying = {
      call: ["subagent_spy", { task: TASK }] as const,
      files: { "repository/.sous/agents/spy.md": file },
    };
    assert.equal((await tryCall(spying)).others, 0);
    const files = { ...spying.files, [CONFIG]: 'models: { allow: ["openai/gpt-5"] }\n' };
    assert.notEqual((await tryCall({ ...spying, files })).others, 0);
  });
});

suite("B1.4: where money is limited, what has no price is not asked", { concurrency: 3 }, () => {
  const UNPRICED = "anthropic/claude-secret-9";
  const NO_PRICE = new RegExp(`The model ${UNPRICED} has no price, and this run has a limit in USD`);
  const limits: [what: string, flags: Flags, files: Record<string, string>][] = [
    ["--budget", { budget: 0.3 }, {}],
    ["max_total_cost", {}, { [CONFIG]: "agent: { subagent: { max_total_cost: 0.30 } }\n" }],
  ];
  for (const [what, flags, files] of limits) {
    test(`B1.4: a model without a price that a call names is refused under ${what}`, async () => {
      const { own, heard, result } = await tryCall({ call: child(UNPRICED), flags, files });
      assert.deepEqual([own, result.status, result.agents.length], [ROOT_ONLY, "completed", 1]);
      assert.match(heard.join(), NO_PRICE);
    });
  }

  for (const name of [
    "anthropic/claude-haiku-4-5@x/../claude-opus-5",
    "anthropic/claude-haiku-4-5@/../x",
    "anthropic/constructor",
  ]) {
    test(`B1.4: ${name} is not taken for a model with a price`, async () => {
      const { own } = await tryCall({ call: child(name), flags: { budget: 0.3 } });
      assert.deepEqual(own, ROOT_ONLY);
    });
  }

  test("B1.4: an agent of a file on a model without a price is refused, too", async () => {
    const file = `---\nname: dear\ndescription: Dear.\nmodel: ${UNPRICED}\n---\nSpend.\n`;
    const files = { "home/.config/sous/agents/dear.md": file };
    const { own, heard } = await tryCall({ call: ["subagent_dear", { task: TASK }], files, flags: { budget: 1 } });
    assert.deepEqual(own, ROOT_ONLY);
    assert.match(heard.join(), NO_PRICE);
  });

  test("B1.4: a root without a price does not begin under --budget", async () => {
    await assert.rejects(tryCall({ call: child(OWN), model: UNPRICED, flags: { budget: 1 } }), (error: Error) => {
      assert.match(error.message, NO_PRICE);
      assert.equal(error.name, "UnpricedModel");
      return true;
    });
  });

  test("B1.4: children of a root without a price are refused where only children have a limit", async () => {
    const files = { [CONFIG]: "agent: { subagent: { max_total_cost: 0.30 } }\n" };
    const call: Call = ["subagent", { label: "a", task_prompt: TASK }];
    const { own, heard } = await tryCall({ call, files, model: UNPRICED });
    assert.deepEqual(own, ["claude-secret-9", "claude-secret-9"]);
    assert.match(heard.join(), NO_PRICE);
  });

  test("B1.4: a model with a price in the user's configuration is asked and counted, so the rows above can fail", async () => {
    const files = { [CONFIG]: `prices: { "${UNPRICED}": { input: 1000, output: 0 } }\n` };
    const { own, result } = await tryCall({ call: child(UNPRICED), files, flags: { budget: 100 } });
    assert.deepEqual(own, ["claude-sonnet-4-5", "claude-secret-9", "claude-sonnet-4-5"]);
    // 300 tokens at $1000 a million.
    assert.equal(result.agents[1]?.costUsd, 0.3);
  });

  test("B1.4: a model without a price is asked without a limit in USD, so the rows above can fail", async () => {
    const { own } = await tryCall({ call: child(UNPRICED), flags: { "max-tokens-total": 100000 } });
    assert.deepEqual(own[1], "claude-secret-9");
  });
});

suite("B1.4, B1.6: the same for programs that embed the runtime", () => {
  const price = { input: 1, output: 1 };

  /** A root on a model object; every name that is resolved leads to the canary. */
  async function tryInCode(given: {
    runtime?: RuntimeOptions;
    run?: Parameters<ReturnType<typeof createRuntime>["run"]>[2];
    subagents?: Parameters<typeof agent>[0]["subagents"];
    steps?: Parameters<typeof calls>;
  }) {
    await using canary = await canaryServer();
    const { steps = ["subagent", { label: "a", task_prompt: TASK, model: "openai-chat/x" }] } = given;
    const model = scriptedModel({ lead: [calls(...steps), says("Done.")], "lead/**": [says("Fine.")] }, { price });
    const environment = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: canary.url };
    const runtime = createRuntime({ ...given.runtime, host: { environment } });
    const lead = agent({ name: "lead", model, delegate: true, ...(given.subagents && { subagents: given.subagents }) });
    const result = await runtime.run(lead, "Go.", given.run);
    return { asked: canary.asked.length, result };
  }

  test("B1.6: a call names no other provider", async () => {
    assert.equal((await tryInCode({})).asked, 0);
  });

  test("B1.6: a model object has no provider that a call could reach by its name", async () => {
    const model = scriptedModel(
      { lead: [calls("subagent", { label: "a", task_prompt: TASK, model: "openai-chat/x" }), says("Done.")] },
      { id: "openai-chat/mine" },
    );
    await using canary = await canaryServer();
    const environment = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: canary.url };
    await createRuntime({ host: { environment } }).run(agent({ name: "lead", model, delegate: true }), "Go.");
    assert.equal(canary.asked.length, 0);
  });

  test("B1.6: a model that the program allows, or its own definitions name, is asked, so the rows above can fail", async () => {
    assert.notEqual((await tryInCode({ runtime: { models: { allow: ["openai-chat/*"] } } })).asked, 0);
    const scout = agent({ name: "scout", model: "openai-chat/x" });
    assert.notEqual((await tryInCode({ subagents: [scout], steps: ["subagent_scout", { task: TASK }] })).asked, 0);
  });

  test("B1.6: an entry of models.allow that is no name of models is refused", () => {
    for (const entry of ["*", "openai", "openai/", "*/x", "openai/gpt-*", "openai/**", "OpenAI/*", ""])
      assert.throws(() => createRuntime({ models: { allow: [entry] } }), /models\.allow/, entry);
  });

  test("B1.4: every kind of limit in USD refuses a model without a price", async () => {
    const scout = agent({ name: "scout", model: "openai-chat/x" });
    const steps: Parameters<typeof calls> = ["subagent_scout", { task: TASK }];
    const shared = await openMemoryStore().sharedBudget("money", { costUsd: 1 });
    const limited = { limits: { children: { costUsd: 1 } } };
    const ways = [
      { run: { budget: { costUsd: 1 } } },
      { run: { budget: { from: shared } } },
      { run: limited },
      { runtime: limited },
    ];
    for (const way of ways) assert.equal((await tryInCode({ ...way, subagents: [scout], steps })).asked, 0);
    const own = scout.with({ budget: { costUsd: 1 } });
    assert.equal((await tryInCode({ subagents: [own], steps })).asked, 0);
  });

  test("B1.4: a shared budget without money leaves a model without a price alone, so the row above can fail", async () => {
    const scout = agent({ name: "scout", model: "openai-chat/x" });
    const shared = await openMemoryStore().sharedBudget("tokens", { tokens: 1_000_000 });
    const steps: Parameters<typeof calls> = ["subagent_scout", { task: TASK }];
    assert.notEqual((await tryInCode({ run: { budget: { from: shared } }, subagents: [scout], steps })).asked, 0);
  });
});

test("B1.1: a child on a model that models.allow lists names no other model of that provider", async () => {
  const model = scriptedModel({
    lead: [calls("subagent", { label: "a", task_prompt: "x", model: "other/small" }), says("Done.")],
    "lead/a": [calls("subagent", { label: "b", task_prompt: "y", model: "other/large" }), says("Tried.")],
    "lead/a/b": [says("Large.")],
  });
  const asked: string[] = [];
  const runtime = runtimeOn(
    (choice) => {
      asked.push(String(choice));
      return { ...model, id: String(choice) };
    },
    { models: { allow: ["other/small"] } },
  );
  await runtime.run(agent({ name: "lead", model: "own/main", delegate: true }), "Go.");
  assert.deepEqual([...new Set(asked)], ["own/main", "other/small"]);
});

test("B1.1: an agent with a model of its own names models of that provider, and no longer those of its parent's", async () => {
  const model = scriptedModel({
    lead: [
      calls("subagent", { label: "a", task_prompt: "x", agent: "scout", system_prompt: "Be brief." }),
      says("Done."),
    ],
    "lead/a": [
      calls("subagent", { label: "b", task_prompt: "y", model: "other/large" }),
      calls("subagent", { label: "c", task_prompt: "z", model: "own/large" }),
      says("Tried."),
    ],
    "lead/a/*": [says("Large.")],
  });
  const asked: string[] = [];
  const runtime = runtimeOn((choice) => {
    asked.push(String(choice));
    return { ...model, id: String(choice) };
  }, {});
  const scout = agent({ name: "scout", model: "other/small", delegate: true });
  await runtime.run(agent({ name: "lead", model: "own/main", delegate: true, subagents: [scout] }), "Go.");
  assert.deepEqual([...new Set(asked)], ["own/main", "other/small", "other/large"]);
});
