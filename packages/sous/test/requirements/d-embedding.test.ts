/** D1, D2, D6: the two tools for any registry, their callbacks, external agents behind a port, and ids. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../src/core/agent.ts";
import { ulidSource } from "../../src/core/clock.ts";
import { UserError } from "../../src/core/errors.ts";
import type { ExternalAgents, ExternalPrompt } from "../../src/core/external-agent.ts";
import { type Tool, type ToolContext, ToolRegistry, type ToolResult } from "../../src/core/tool.ts";
import { systemHost } from "../../src/host.ts";
import { createRuntime, registerSubagentTools } from "../../src/runtime.ts";
import type { SubagentCallbacks, SubagentInfo } from "../../src/subagents/callbacks.ts";
import type { SubagentToolsOptions } from "../../src/subagents/register.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { calls, fails, hangs, refuses, says, streams, uses } from "../../src/testing/steps.ts";
import { readBy, runTree, startsOf, statuses } from "./run-tree.ts";
import { simpleTool } from "./support.ts";

function registryWith(options: SubagentToolsOptions, depth?: number, tools: readonly Tool[] = []): ToolRegistry {
  const registry = new ToolRegistry(tools);
  registerSubagentTools(registry, options, depth);
  return registry;
}

/** Everything that was called back, in words. */
function recorder(): { said: string[]; callbacks: SubagentCallbacks } {
  const said: string[] = [];
  const who = ({ description, mode }: SubagentInfo) => `${mode} ${description}`;
  return {
    said,
    callbacks: {
      onSubagentStart: (info) => void said.push(`start ${who(info)}`),
      onStreamDelta: (info, text) => void said.push(`delta ${who(info)}: ${text}`),
      onToolCallStart: (info, { toolName, input }) =>
        void said.push(`call ${who(info)}: ${toolName} ${JSON.stringify(input)}`),
      onToolCallEnd: (info, { toolName, output, isError }) =>
        void said.push(`called ${who(info)}: ${toolName} ${output} ${isError}`),
      onComplete: (info, { text, turns, durationMs }) =>
        void said.push(`complete ${who(info)}: ${text}, ${turns} turns, ${durationMs >= 0}`),
      onError: (info, { message, text }) => void said.push(`error ${who(info)}: ${message}; ${text}`),
    },
  };
}

/** A client that answers as it is told. */
function fakeClient(
  answer: (prompt: ExternalPrompt, options: { signal: AbortSignal; onText(text: string): void }) => Promise<string>,
  usage?: { inputTokens: number; outputTokens: number },
): ExternalAgents & { prompts: ExternalPrompt[] } {
  const prompts: ExternalPrompt[] = [];
  return {
    prompts,
    async generate(prompt, options) {
      prompts.push(prompt);
      const content = await answer(prompt, options);
      return { content, agentId: "codex", serverName: "local", sessionId: "s1", usage };
    },
  };
}

const ALLOW = { approve: () => ({ allow: true }) as const };

suite("D1: registerSubagentTools", () => {
  test("D1: adds subagent_spawn, with a client subagent_delegate, and nothing at the depth limit", () => {
    const model = scriptedModel();
    const client = fakeClient(async () => "");
    assert.deepEqual(registryWith({ model }).names(), ["subagent_spawn"]);
    assert.deepEqual(registryWith({ model, client }).names(), ["subagent_spawn", "subagent_delegate"]);
    assert.deepEqual(registryWith({ client }).names(), ["subagent_spawn", "subagent_delegate"]);
    assert.deepEqual(registryWith({ model, client }, 1).names(), ["subagent_spawn", "subagent_delegate"]);
    assert.deepEqual(registryWith({ model, client }, 2).names(), []);
    assert.deepEqual(registryWith({ model, maxDepth: 4 }, 3).names(), ["subagent_spawn"]);
    assert.deepEqual(registryWith({ model, maxDepth: 4 }, 4).names(), []);
    assert.throws(() => registryWith({}), UserError);
    const tiers = registryWith({ model, client })
      .list()
      .map(({ tier, category }) => [tier, category]);
    assert.deepEqual(tiers, [
      ["observe", "subagent"],
      ["confirm", "subagent"],
    ]);
  });

  test("D1: keeps camelCase inputs and says in a sentence what is wrong with them", async () => {
    const registry = registryWith({ model: scriptedModel(), client: fakeClient(async () => "") });
    const { stage } = await runTree({
      script: {
        lead: [
          [
            calls("subagent_spawn", { task: "Look." }),
            calls("subagent_spawn", { task: " ", description: "d" }),
            calls("subagent_spawn", { task: "t", description: "d", maxTurns: 0 }),
            calls("subagent_spawn", { task: "t", description: "d", max_turns: 3 }),
            calls("subagent_delegate", { task: "t", description: "d", server: "x" }),
          ],
          says("Oh."),
        ],
      },
      lead: { delegate: false, tools: [...registry] },
      runtime: ALLOW,
    });
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output }) => output),
      [
        "description is required",
        "task cannot be empty",
        "maxTurns must be between 1 and 50; found 0",
        "Unknown field: max_turns. Allowed: task, description, maxTurns, systemPrompt.",
        "Unknown field: server. Allowed: task, description, serverName, agentId.",
      ],
    );
    assert.deepEqual(startsOf(stage), ["lead"]);
  });

  test("D1: in a tree the child goes through its gate, with the registry's tools, 10 turns and two levels", async () => {
    const { said, callbacks } = recorder();
    const own = scriptedModel(
      {
        "lead/first look": [
          [streams("I ", "look."), calls("look", { at: 1 })],
          calls("subagent_spawn", { task: "Deeper.", description: "second look" }),
          says("Found."),
        ],
        "lead/first look/second look": [says("Deep.")],
      },
      { id: "scripted/own" },
    );
    const registry = registryWith({ model: own, callbacks, systemPrompt: "Be brief." }, 0, [simpleTool("look")]);
    const { stage, result } = await runTree({
      script: { lead: [calls("subagent_spawn", { task: "Look.", description: "first look" }), says("Seen.")] },
      lead: { delegate: false, tools: [...registry] },
    });
    assert.deepEqual(statuses(result), {
      lead: "completed",
      "lead/first look": "completed",
      "lead/first look/second look": "completed",
    });
    const [start] = stage.eventsOf("run-start", "lead/first look");
    assert.deepEqual([start?.maxTurns, start?.instructions, start?.model], [10, "Be brief.", "scripted/own"]);
    assert.deepEqual(own.requests[0]?.tools, ["look", "subagent_spawn"]);
    assert.deepEqual(own.requests.find(({ path }) => path.endsWith("second look"))?.tools, ["look"]);
    assert.match(readBy(stage, "subagent_spawn")[0] ?? "", /^Found\./);
    assert.deepEqual(said, [
      "start spawn first look",
      "delta spawn first look: I ",
      "delta spawn first look: look.",
      'call spawn first look: look {"at":1}',
      "called spawn first look: look look is done false",
      'call spawn first look: subagent_spawn {"task":"Deeper.","description":"second look"}',
      "start spawn second look",
      "delta spawn second look: Deep.",
      "complete spawn second look: Deep., 1 turns, true",
      ...said.slice(9, 10),
      "delta spawn first look: Found.",
      "complete spawn first look: Found., 3 turns, true",
    ]);
    assert.match(said[9] ?? "", /^called spawn first look: subagent_spawn Deep\./);
  });

  test("D1: a child of it has no more rights than its parent may pass on", async () => {
    const own = scriptedModel({ "lead/child/x": [calls("write"), says("Done.")] }, { id: "scripted/own" });
    const written: unknown[] = [];
    const write = simpleTool("write", (input) => written.push(input));
    const registry = registryWith({ model: own }, 0, [write]);
    const { stage } = await runTree({
      script: {
        lead: [calls("subagent_child", { task: "Go on." }), says("Seen.")],
        "lead/child": [calls("subagent_spawn", { task: "Write.", description: "x" }), says("Done.")],
      },
      lead: {
        delegate: false,
        tools: [write],
        subagents: [agent({ name: "child", deny: ["write"], tools: [...registry] })],
      },
    });
    assert.deepEqual(written, []);
    assert.match(stage.eventsOf("tool-call-end", "lead/child/x")[0]?.output ?? "", /write/);
  });

  test("D1: outside of a tree it is a root of its own", async () => {
    const { said, callbacks } = recorder();
    const model = scriptedModel({ "**": [calls("look"), says("Found.")] });
    const registry = registryWith({ model, callbacks }, 0, [simpleTool("look")]);
    const result = (await registry.get("subagent_spawn")?.execute({ task: "Look.", description: "a look" }, {
      signal: new AbortController().signal,
    } as ToolContext)) as ToolResult;
    assert.deepEqual([result.success, result.output, typeof result.metadata?.subagent_id], [true, "Found.", "string"]);
    assert.deepEqual(said, [
      "start spawn a look",
      "call spawn a look: look {}",
      "called spawn a look: look look is done false",
      "delta spawn a look: Found.",
      "complete spawn a look: Found., 2 turns, true",
    ]);
  });

  test("D1: outside of a tree a failure is a failed result, and the signal stops it", async () => {
    const { said, callbacks } = recorder();
    const broken = registryWith({ model: scriptedModel({ "**": [fails("auth", { message: "no key" })] }), callbacks });
    const stop = new AbortController();
    const spawn = (registry: ToolRegistry) =>
      registry
        .get("subagent_spawn")
        ?.execute({ task: "t", description: "d" }, { signal: stop.signal } as ToolContext) as Promise<ToolResult>;
    const failed = await spawn(broken);
    assert.deepEqual([failed.success, failed.error], [false, "no key"]);
    const endless = registryWith({ model: scriptedModel({ "**": [[says("Half."), hangs()]] }), callbacks });
    const stopped = spawn(endless);
    setImmediate(() => stop.abort());
    assert.deepEqual([(await stopped).success, (await stopped).output], [false, "Half."]);
    assert.deepEqual(said, [
      "start spawn d",
      "error spawn d: no key; ",
      "start spawn d",
      "delta spawn d: Half.",
      "error spawn d: The run was cancelled; Half.",
    ]);
  });
});

suite("D2: callbacks", () => {
  const endings: [name: string, turns: Parameters<typeof calls>[1][], isError: boolean][] = [
    ["completed", [says("Done.")], false],
    ["refused", [[says("No."), refuses()]], true],
    ["model error", [fails("invalid_request")], true],
    ["crash", [fails(new Error("boom"))], true],
  ];
  for (const [name, turns, isError] of endings) {
    test(`D2: ${name}: exactly one complete or error, and a callback that throws changes nothing`, async () => {
      const { said, callbacks } = recorder();
      const throwing = Object.fromEntries(
        Object.entries(callbacks).map(([key, callback]) => [
          key,
          (...values: unknown[]) => {
            (callback as (...values: unknown[]) => void)(...values);
            throw new Error("A broken callback");
          },
        ]),
      ) as SubagentCallbacks;
      const own = scriptedModel({ "lead/d": turns as never }, { id: "scripted/own" });
      const { result } = await runTree({
        script: { lead: [calls("subagent_spawn", { task: "t", description: "d" }), says("Seen.")] },
        lead: { delegate: false, tools: [...registryWith({ model: own, callbacks: throwing })] },
      });
      assert.equal(result.status, "completed");
      const last = said.filter((line) => /^(complete|error) /.test(line));
      assert.equal(last.length, 1);
      assert.equal(last[0]?.startsWith("error"), isError);
      assert.equal(said.filter((line) => line.startsWith("start")).length, 1);
    });
  }

  test("D2: a child that is refused never started, so nothing is called back", async () => {
    const { said, callbacks } = recorder();
    const own = scriptedModel({}, { id: "scripted/own" });
    await runTree({
      script: { lead: [calls("subagent_spawn", { task: "t", description: "d" }), says("Oh.")] },
      lead: { delegate: false, tools: [...registryWith({ model: own, callbacks })] },
      run: { budget: { executions: 0 } },
    });
    assert.deepEqual(said, []);
  });
});

suite("D1, D2: subagent_delegate", () => {
  const task = { task: "Fix it.", description: "a fix" };

  test("D1: hands the task to the external agent and gives back its answer, in the same tree and events", async () => {
    const { said, callbacks } = recorder();
    const client = fakeClient(
      async (_prompt, { onText }) => {
        onText("Fix");
        onText("ed.");
        return "Fixed.";
      },
      { inputTokens: 700, outputTokens: 30 },
    );
    const registry = registryWith({ client, callbacks, serverName: "local", agentId: "codex" });
    const { stage, result } = await runTree({
      script: {
        lead: [
          calls("subagent_delegate", task),
          calls("subagent_delegate", { ...task, agentId: "goose" }),
          says("Seen."),
        ],
      },
      lead: { delegate: false, tools: [...registry] },
      runtime: ALLOW,
    });
    assert.deepEqual(client.prompts, [
      { task: "Fix it.", serverName: "local", agentId: "codex" },
      { task: "Fix it.", serverName: "local", agentId: "goose" },
    ]);
    assert.match(readBy(stage, "subagent_delegate")[0] ?? "", /^Fixed\./);
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a fix": "completed", "lead/a fix#2": "completed" });
    assert.equal(result.agents[1]?.usage.totalTokens, 730);
    assert.deepEqual(said.slice(0, 4), [
      "start delegate a fix",
      "delta delegate a fix: Fix",
      "delta delegate a fix: ed.",
      "complete delegate a fix: Fixed., 1 turns, true",
    ]);
  });

  test("D1: needs consent", async () => {
    const client = fakeClient(async () => "Fixed.");
    const { result } = await runTree({
      script: { lead: [calls("subagent_delegate", task), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client })] },
    });
    assert.deepEqual([client.prompts.length, result.status, result.stopReason], [0, "incomplete", "consent"]);
  });

  test("D1: with only a client, subagent_spawn is an external run too", async () => {
    const client = fakeClient(async () => "Done.");
    const { stage } = await runTree({
      script: { lead: [calls("subagent_spawn", task), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client, agentId: "codex" })] },
    });
    assert.equal(stage.eventsOf("run-start", "lead/a fix")[0]?.model, "external/codex");
    assert.equal(client.prompts.length, 1);
  });

  test("D2: a failure of the client is a failure of the child", async () => {
    const { said, callbacks } = recorder();
    const client = fakeClient(() => Promise.reject(new Error("server gone")));
    const { stage, result } = await runTree({
      script: { lead: [calls("subagent_delegate", task), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client, callbacks })] },
      runtime: ALLOW,
    });
    assert.match(
      readBy(stage, "subagent_delegate")[0] ?? "",
      /^Subagent failed: The external agent failed: server gone/,
    );
    assert.deepEqual([result.status, statuses(result)["lead/a fix"]], ["completed", "failed"]);
    assert.deepEqual(said, ["start delegate a fix", "error delegate a fix: The external agent failed: server gone; "]);
  });

  test("D2: cancel reaches the external agent, and one that does not listen is not waited for", async () => {
    let wasStopped = false;
    const client = fakeClient((_prompt, { signal }) => {
      signal.addEventListener("abort", () => {
        wasStopped = true;
      });
      return new Promise(() => {});
    });
    const { result } = await runTree({
      script: { lead: [calls("subagent_delegate", task), says("Seen.")] },
      lead: { delegate: false, tools: [...registryWith({ client })] },
      runtime: ALLOW,
      during: ({ handle, at }) => at(1000, () => handle.cancel("lead/a fix")),
    });
    assert.deepEqual([wasStopped, statuses(result)["lead/a fix"], result.durationMs], [true, "cancelled", 1000]);
  });

  test("D1: what it used counts against the budget, or its estimate", async () => {
    for (const usage of [{ inputTokens: 50_000, outputTokens: 900 }, undefined]) {
      const client = fakeClient(async () => "x".repeat(30_000), usage);
      const { stage, result } = await runTree({
        script: {
          lead: [
            calls("subagent_delegate", task),
            [calls("subagent_delegate", task), uses({ input: 1, output: 1 })],
            says("Seen."),
          ],
        },
        lead: { delegate: false, tools: [...registryWith({ client })] },
        runtime: { ...ALLOW, limits: { children: { tokens: 6000 } } },
      });
      assert.equal(client.prompts.length, 1);
      assert.match(readBy(stage, "subagent_delegate")[1] ?? "", /^Token limit exceeded: \d+\/6000/);
      assert.equal(result.usage.estimated, usage === undefined);
    }
  });
});

suite("D6: ids", () => {
  test("D6: are ULIDs, monotonic within a millisecond and when the clock steps back", () => {
    let time = 1_700_000_000_000;
    let drawn = 0;
    const nextId = ulidSource(
      () => time,
      () => (drawn++ % 2 === 0 ? 0.999999 : 0),
    );
    const ids = Array.from({ length: 1000 }, () => nextId());
    time -= 60_000;
    ids.push(nextId());
    time += 120_000;
    ids.push(nextId());
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(ids.toSorted(), ids);
    for (const id of ids) assert.match(id, /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  });

  test("D6: are unique across processes and restarts: two sources in the same millisecond share nothing", () => {
    const sources = Array.from({ length: 50 }, () => ulidSource(() => 1_700_000_000_000, systemHost().random));
    const ids = sources.flatMap((nextId) => Array.from({ length: 200 }, () => nextId()));
    assert.equal(new Set(ids).size, 10_000);
  });

  test("D6: every run of every tree has its own, the root's is known at once, and an agent keeps its first", async () => {
    const model = scriptedModel({
      "**": ({ caller }) =>
        caller.depth === 0 && caller.turn === 1 ? calls("subagent", { label: "a", task_prompt: "b" }) : says("Done."),
    });
    const runtime = createRuntime();
    const lead = agent({ name: "lead", model, delegate: true });
    const handles = Array.from({ length: 20 }, () => runtime.run(lead, "Go."));
    const results = await Promise.all(handles);
    assert.deepEqual(
      results.map(({ runId }) => runId),
      handles.map(({ id }) => id),
    );
    const ids = results.flatMap(({ agents }) => agents.map(({ id }) => id));
    assert.deepEqual([ids.length, new Set(ids).size], [40, 40]);
  });
});
