/** D1, D2: the two tools for any registry, and their callbacks. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { UserError } from "../../../src/core/errors.ts";
import type { ToolContext, ToolRegistry, ToolResult } from "../../../src/core/tool.ts";
import type { SubagentCallbacks, SubagentInfo } from "../../../src/runtime/subagents/callbacks.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, fails, hangs, refuses, says, streams } from "../../../src/testing/steps.ts";
import { ALLOW, fakeClient, recorder, registryWith } from "../../support/requirements/embedding.ts";
import { readBy, runTree, startsOf, statuses } from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

suite("D1: registerSubagentTools", () => {
  test("D1: registerSubagentTools adds subagent_spawn, with a client subagent_delegate, subagent_report, at the limit nothing", () => {
    const model = scriptedModel();
    const client = fakeClient(async () => "");
    assert.deepEqual(registryWith({ model }).names(), ["subagent_spawn", "subagent_report"]);
    assert.deepEqual(registryWith({ model, client }).names(), [
      "subagent_spawn",
      "subagent_delegate",
      "subagent_report",
    ]);
    assert.deepEqual(registryWith({ client }).names(), ["subagent_spawn", "subagent_delegate", "subagent_report"]);
    assert.deepEqual(registryWith({ model, client }, 1).names(), [
      "subagent_spawn",
      "subagent_delegate",
      "subagent_report",
    ]);
    assert.deepEqual(registryWith({ model, client }, 2).names(), []);
    assert.deepEqual(registryWith({ model, maxDepth: 4 }, 3).names(), ["subagent_spawn", "subagent_report"]);
    assert.deepEqual(registryWith({ model, maxDepth: 4 }, 4).names(), []);
    assert.throws(() => registryWith({}), UserError);
    const tiers = registryWith({ model, client })
      .list()
      .map(({ tier, category }) => [tier, category]);
    assert.deepEqual(tiers, [
      ["observe", "subagent"],
      ["confirm", "subagent"],
      ["observe", "subagent"],
    ]);
  });

  test("D1: registerSubagentTools keeps camelCase inputs and says in a sentence what is wrong with them", async () => {
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

  test("D1: a child in a tree goes through its gate, with the registry's tools, 10 turns and two levels", async () => {
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
    assert.deepEqual(own.requests[0]?.tools, ["look", "subagent_spawn", "subagent_report"]);
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

  test("D1: a child outside of a tree is a root of its own", async () => {
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

  test("D1: a failure outside of a tree is a failed result, and the signal stops the child", async () => {
    const { said, callbacks } = recorder();
    const broken = registryWith({ model: scriptedModel({ "**": [fails("auth", { message: "no key" })] }), callbacks });
    const stop = new AbortController();
    const spawn = (registry: ToolRegistry) =>
      registry
        .get("subagent_spawn")
        ?.execute({ task: "t", description: "d" }, { signal: stop.signal } as ToolContext) as Promise<ToolResult>;
    const failed = await spawn(broken);
    assert.deepEqual([failed.success, failed.error], [false, "Subagent failed: no key"]);
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

  test("D2: children side by side each have their calls in order, under the id of their events", async () => {
    const heard = new Map<string, string[]>();
    const note =
      (what: string) =>
      async (given: SubagentInfo | string): Promise<void> => {
        const id = typeof given === "string" ? given : given.id;
        heard.set(id, [...(heard.get(id) ?? []), what]);
        throw new Error("A broken callback");
      };
    const callbacks: SubagentCallbacks = {
      onSubagentStart: note("start"),
      onSubagentStreamDelta: note("delta"),
      onSubagentToolCallStart: note("call"),
      onSubagentToolCallEnd: note("called"),
      onSubagentComplete: note("complete"),
      onSubagentError: note("error"),
    };
    const own = scriptedModel(
      {
        "lead/*": [[streams("I ", "look."), calls("look"), calls("break")], says("Found.")],
        "lead/c": [[says("Half."), fails("auth")]],
        "lead/d": [[says("Half."), hangs()]],
      },
      { id: "scripted/own" },
    );
    const broken = simpleTool("break", () => assert.fail("broken"));
    const registry = registryWith({ model: own, callbacks }, 0, [simpleTool("look"), broken]);
    const labels = ["a", "b", "c", "d"];
    const { stage } = await runTree({
      script: {
        lead: [labels.map((description) => calls("subagent_spawn", { task: description, description })), says("Seen.")],
      },
      lead: { delegate: false, tools: [...registry] },
      during: ({ handle, at }) => at(1000, () => handle.cancel("lead/d")),
    });
    const inOrder = Object.fromEntries(
      stage.eventsOf("run-start").map(({ label, agentId }) => [label, heard.get(agentId)?.join(" ")]),
    );
    assert.deepEqual(inOrder, {
      lead: undefined,
      a: "start delta delta call call called called delta complete",
      b: "start delta delta call call called called delta complete",
      c: "start delta error",
      d: "start delta error",
    });
  });

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
