/** C1–C4: specialists as tools, what they give back to code, and the short words for what their tools did. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { UserError } from "../../../src/core/errors.ts";
import { type Tool, ToolRegistry, tool } from "../../../src/core/tool.ts";
import { type NamedAgentResult, subagentFactory } from "../../../src/runtime/subagents/named-agent.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says, uses } from "../../../src/testing/steps.ts";
import { readBy, recordingTool, runTree, statuses } from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

const ALLOW = () => ({ allow: true }) as const;

suite("C1: a definition", () => {
  test("C1: a definition gives a specialist its instructions, model, turns, tools and output schema", async () => {
    const own = scriptedModel({ "lead/scout": [calls("look"), says('{"hits":["a.ts:1"]}')] }, { id: "scripted/own" });
    const scout = agent({
      name: "scout",
      nickname: "Eyes",
      description: "Finds code.",
      instructions: "Answer with file:line only.",
      model: own,
      maxTurns: 7,
      timeoutMs: 9000,
      tools: [simpleTool("look")],
      outputSchema: { type: "object", properties: { hits: { type: "array" } }, required: ["hits"] },
    });
    const { stage } = await runTree({
      script: { lead: [calls("subagent_scout", { task: "Find it." }), says("Found.")] },
      lead: { delegate: false, subagents: [scout] },
    });
    const [start] = stage.eventsOf("run-start", "lead/scout");
    assert.deepEqual(
      [start?.agent, start?.nickname, start?.label, start?.model, start?.maxTurns, start?.timeoutMs],
      ["scout", "Eyes", "scout", "scripted/own", 7, 9000],
    );
    assert.match(own.requests[0]?.instructions ?? "", /^Answer with file:line only\./);
    assert.deepEqual(own.requests[0]?.tools, ["look"]);
    assert.deepEqual(stage.eventsOf("run-end", "lead/scout")[0]?.output, { hits: ["a.ts:1"] });
  });

  test("C1: a definition is frozen, and with() gives a changed copy", () => {
    const scout = agent({ name: "scout", maxTurns: 3 });
    const patient = scout.with({ maxTurns: 30 }).with({ nickname: "Eyes" });
    assert.deepEqual([scout.maxTurns, scout.nickname], [3, undefined]);
    assert.deepEqual([patient.name, patient.maxTurns, patient.nickname], ["scout", 30, "Eyes"]);
    assert.ok(Object.isFrozen(scout) && Object.isFrozen(patient));
    assert.throws(() => scout.with({ maxTurns: 0 }), UserError);
  });

  test("C1: a definition has 100 turns when it does not say, and a sentence for a description", async () => {
    const { stage } = await runTree({
      script: { lead: [calls("subagent_scout", { task: "Find it." }), says("Found.")], "lead/scout": [says("Here.")] },
      lead: { delegate: false, subagents: [agent({ name: "scout" })] },
    });
    assert.equal(stage.eventsOf("run-start", "lead/scout")[0]?.maxTurns, 100);
    const made = subagentFactory({ model: stage.model, registry: new ToolRegistry() }).create({ name: "scout" });
    assert.match(made.description, /^Spawn a subagent named 'scout'/);
  });
});

suite("C2: one tool per specialist", () => {
  const registry = () =>
    new ToolRegistry([
      simpleTool("look", undefined, { effect: "read" }),
      simpleTool("write", undefined, { effect: "idempotent", tier: "confirm" }),
      recordingTool("subagent_other"),
    ]);

  test("C2: a factory makes several from one model and one registry", async () => {
    const model = scriptedModel({ "**": [says("Done.")] });
    const factory = subagentFactory({ model, registry: registry() });
    const made = [
      factory.create({ name: "scout", description: "Looks." }),
      factory.create({ name: "writer", tools: ["write"] }),
      factory.createReadOnly({ name: "reader" }),
    ];
    const facts = ({ name, displayName, tier, category, agent: definition }: Tool) => ({
      name,
      displayName,
      tier,
      category,
      tools: (definition?.tools as Tool[]).map((each) => each.name),
      isShared: definition?.model === model,
    });
    const common = { tier: "confirm", category: "subagent", isShared: true } as const;
    assert.deepEqual(made.map(facts), [
      { name: "subagent_scout", displayName: "Subagent: scout", tools: ["look", "write", "subagent_other"], ...common },
      { name: "subagent_writer", displayName: "Subagent: writer", tools: ["write"], ...common },
      { name: "subagent_reader", displayName: "Subagent: reader", tools: ["look"], ...common },
    ]);
    assert.equal(made[0]?.description, "Looks.");
    assert.throws(
      () => factory.create({ name: "odd", tools: ["no_such"] }),
      /names a tool the registry does not have: no_such/,
    );
  });

  test("C2: the input is { task } and nothing else", async () => {
    const { stage } = await runTree({
      script: {
        lead: [
          [
            calls("subagent_scout", {}),
            calls("subagent_scout", { task: "  " }),
            calls("subagent_scout", { task: "Look.", label: "x" }),
            calls("subagent_scout", { task: 7 }),
          ],
          says("Oh."),
        ],
      },
      lead: { delegate: false, subagents: [agent({ name: "scout" })] },
    });
    assert.deepEqual(readBy(stage, "subagent_scout"), [
      "task is required",
      "task cannot be empty",
      "Unknown field: label. Allowed: task.",
      "task cannot be empty; found 7",
    ]);
    assert.equal(stage.eventsOf("run-start").length, 1);
  });

  test("C2: a specialist made by a factory asks first, one listed in subagents does not", async () => {
    const asked: string[] = [];
    const approve = ({ toolName }: { toolName: string }) => {
      asked.push(toolName);
      return { allow: true } as const;
    };
    const script = {
      lead: [[calls("subagent_made", { task: "Look." }), calls("subagent_listed", { task: "Look." })], says("Seen.")],
      "lead/*": [says("Here.")],
    };
    const model = scriptedModel({ "lead/made": [says("Here.")] }, { id: "scripted/made" });
    const made = subagentFactory({ model, registry: new ToolRegistry() }).create({ name: "made" });
    const { result } = await runTree({
      script,
      lead: { delegate: false, tools: [made], subagents: [agent({ name: "listed" })] },
      runtime: { approve },
    });
    assert.deepEqual(asked, ["subagent_made"]);
    assert.deepEqual(statuses(result), { lead: "completed", "lead/made": "completed", "lead/listed": "completed" });
  });

  test("C2: names that belong to the runtime's own tools are refused", () => {
    const factory = subagentFactory({ model: scriptedModel(), registry: new ToolRegistry() });
    for (const name of ["spawn", "delegate", "wait", "cancel", "list", "send", "report"]) {
      assert.throws(() => factory.create({ name }), new RegExp(`An agent cannot be called ${name}`));
      assert.throws(() => agent({ name: "lead", subagents: [agent({ name })] }), UserError);
    }
  });
});

suite("C3: the result for code", () => {
  test("C3: NamedAgentResult has the last message, the turns, the tools and the bill", async () => {
    const { returned, stage } = await runTree({
      script: {
        lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
        "lead/scout": [
          [says("First."), calls("look", { at: 1 }), uses({ input: 10, output: 5 })],
          [calls("crash"), uses({ input: 20, output: 5 })],
          [says("Last."), uses({ input: 30, output: 5, cached: 10 })],
        ],
      },
      lead: {
        delegate: false,
        subagents: [
          agent({
            name: "scout",
            tools: [
              simpleTool("look"),
              simpleTool("crash", () => {
                throw new Error("out of order");
              }),
            ],
          }),
        ],
      },
    });
    const log = (name: string, displayName: string, result: string, success: boolean) => ({
      name,
      displayName,
      context: "",
      result,
      success,
      durationMs: 0,
    });
    const data: NamedAgentResult = {
      name: "scout",
      finalResponse: "Last.",
      totalTurns: 3,
      toolCount: 2,
      toolLogs: [log("look", "Look", "1 line", true), log("crash", "Crash", "out of order", false)],
      usage: {
        inputTokens: 60,
        outputTokens: 15,
        cachedInputTokens: 10,
        cacheWriteTokens: 0,
        totalTokens: 75,
        estimated: false,
      },
      success: true,
      durationMs: 0,
    };
    assert.deepEqual(returned[0]?.result.data, data);
    assert.equal(stage.eventsOf("run-end", "lead/scout")[0]?.turns, 3);
  });

  test("C3: the tool that failed is named only when it is known for certain", async () => {
    const liar = simpleTool("liar", () => ({ success: false, output: "", error: "liar needs approval, says liar" }));
    const { returned } = await runTree({
      script: {
        lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
        "lead/scout": [calls("subagent_deep", { task: "Write." }), calls("liar"), says("Hm.")],
        "lead/scout/deep": [calls("write"), says("Wrote it.")],
      },
      lead: {
        delegate: false,
        subagents: [
          agent({
            name: "scout",
            tools: [liar],
            subagents: [agent({ name: "deep", tools: [recordingTool("write", { tier: "confirm" })] })],
          }),
        ],
      },
    });
    const data = returned[0]?.result.data as NamedAgentResult;
    assert.deepEqual([data.success, data.failedTool], [true, undefined]);
  });

  test("C3: a specialist that never started is a failed result without figures", async () => {
    const { returned, stage } = await runTree({
      script: { lead: [calls("subagent_scout", { task: "Look." }), says("Oh.")] },
      lead: { delegate: false, subagents: [agent({ name: "scout" })] },
      run: { budget: { executions: 0 } },
      runtime: { approve: ALLOW },
    });
    assert.deepEqual(returned[0]?.result, {
      success: false,
      output: "",
      error: "Execution limit reached: 0/0",
      metadata: { error_type: "quota" },
    });
    assert.equal(stage.eventsOf("run-start").length, 1);
  });
});

suite("C4: tool logs are short and human", () => {
  const long = "x".repeat(200);
  const cases: [name: string, input: unknown, output: string | Error, context: string, result: string][] = [
    ["read", { path: "src/a.ts" }, "1\n2\n3\n", "src/a.ts", "3 lines"],
    ["read_file", { path: "src/a.ts" }, `${"line\n".repeat(42)}`, "src/a.ts", "42 lines"],
    ["Read", { file_path: "b.ts" }, "one", "b.ts", "1 line"],
    ["write_file", { path: "c.ts", content: long }, "ok", "c.ts", "wrote file"],
    ["write", { file_path: "c.ts", content: long }, "ok", "c.ts", "wrote file"],
    ["edit_file", { path: "d.ts" }, "ok", "d.ts", "edited"],
    ["edit", { file_path: "d.ts", old_string: "a" }, "ok", "d.ts", "edited"],
    ["terminal", { command: "git status" }, "clean\n", "git status", "clean"],
    ["bash", { command: `echo ${long}` }, "a\nb\n", `echo ${"x".repeat(54)}…`, "2 lines"],
    ["terminal", { command: "true" }, "", "true", "done"],
    ["terminal", { command: "cat" }, long, "cat", `${"x".repeat(49)}…`],
    ["grep", { pattern: "retry" }, "a:1\nb:2\nc:3", "retry", "3 matches"],
    ["grep", { pattern: "retry" }, "a:1", "retry", "1 match"],
    ["grep", { pattern: "none" }, "No matches", "none", "0 matches"],
    ["glob", { pattern: "*.ts" }, "1\n2\n3\n4\n5\n6\n7", "*.ts", "7 files"],
    ["fetch", { url: "https://a.test/b" }, "page", "https://a.test/b", "done"],
    ["web_search", { query: "retry after" }, "a\nb\nc", "retry after", "3 lines"],
    ["grep", { pattern: "(" }, new Error(`${long}\nsecond line`), "(", `${"x".repeat(49)}…`],
    ["read_file", { path: "gone.ts" }, new Error("No file\nUse glob"), "gone.ts", "No file"],
    ["ponder", { about: "life", depth: 3 }, "42", "life", "1 line"],
    ["ponder", { about: "life" }, "6\n7\n", "life", "2 lines"],
    ["ponder", { about: "life" }, "", "life", "done"],
    ["terminal", { command: "true" }, "[no output]", "true", "done"],
  ];
  for (const [name, input, output, context, result] of cases) {
    test(`C4: ${name} ${JSON.stringify(input).slice(0, 40)} is “${result.slice(0, 20)}”`, async () => {
      const made = tool({
        name,
        description: name,
        inputSchema: { type: "object" },
        execute() {
          if (output instanceof Error) throw output;
          return output;
        },
      });
      const { returned } = await runTree({
        script: {
          lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
          "lead/scout": [calls(name, input), says("Done.")],
        },
        lead: { delegate: false, subagents: [agent({ name: "scout", tools: [made as Tool] })] },
      });
      const [log] = (returned[0]?.result.data as NamedAgentResult).toolLogs;
      assert.deepEqual(
        [log?.name, log?.context, log?.result, log?.success],
        [name, context, result, !(output instanceof Error)],
      );
    });
  }
});
