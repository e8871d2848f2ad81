/** Sections B1, B2 and B12: what the `subagent` tool takes, in which order it is checked, and the messages others rely on. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import type { RunOptions, RuntimeOptions } from "../../../src/core/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { after, calls, hangs, says } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";

const good = { label: "x", task_prompt: "Look." };

/** What the model reads about one call of `subagent`, and what came of it. */
async function answerTo(input: unknown, runtime: RuntimeOptions = {}, options: RunOptions = {}) {
  const stage = openStage({ lead: [calls("subagent", input), says("Done.")], "lead/**": [says("Seen.")] }, { runtime });
  const tools = [simpleTool("grep"), simpleTool("read")];
  await stage.run(stage.lead({ tools }), "The task.", options);
  const [read] = stage.resultsOf("lead");
  return { output: read?.output ?? "", isError: read?.isError, stage };
}

suite("B1: the input of subagent", () => {
  test("B1: label and task_prompt are all that subagent needs", async () => {
    const { output, isError, stage } = await answerTo(good);
    assert.match(output, /^Seen\.\n\(subagent_id: [0-9A-Z]{26}\)$/);
    assert.equal(isError, false);
    const [, start] = stage.eventsOf("run-start");
    assert.deepEqual(
      [start?.label, start?.path, start?.depth, start?.maxTurns, start?.agent, start?.call],
      ["x", "lead/x", 1, 10, "subagent", { callId: "call_lead_1", index: 0 }],
    );
  });

  const bad: [string, unknown, string | RegExp][] = [
    ["no label", { task_prompt: "Look." }, "label is required"],
    ["a blank label", { label: " \n", task_prompt: "Look." }, "label cannot be empty"],
    ["a label that is no text", { label: 7, task_prompt: "Look." }, "label cannot be empty; found 7"],
    [
      "max_turns as a text of 60 characters with its quotes",
      { ...good, max_turns: "7".repeat(58) },
      `max_turns must be between 1 and 50; found "${"7".repeat(58)}"`,
    ],
    [
      "max_turns as a longer text",
      { ...good, max_turns: "7".repeat(59) },
      `max_turns must be between 1 and 50; found "${"7".repeat(59)}…`,
    ],
    ["no task", { label: "x" }, "task_prompt is required"],
    ["a blank task", { label: "x", task_prompt: "" }, "task_prompt cannot be empty"],
    ["max_turns 0", { ...good, max_turns: 0 }, "max_turns must be between 1 and 50; found 0"],
    ["max_turns 51", { ...good, max_turns: 51 }, "max_turns must be between 1 and 50; found 51"],
    ["max_turns as text", { ...good, max_turns: "5" }, 'max_turns must be between 1 and 50; found "5"'],
    ["half a turn", { ...good, max_turns: 1.5 }, "max_turns must be between 1 and 50; found 1.5"],
    ["an unknown field", { ...good, turns: 3 }, /^Unknown field: turns\. Allowed: label, task_prompt, /],
    ["a wrong context", { ...good, context: "all" }, 'context must be "none" or "fork"; found "all"'],
    ["tools that are no list", { ...good, allowed_tools: "grep" }, /^allowed_tools must be a list of tool names/],
    ["a blank summary_prompt", { ...good, summary_prompt: " " }, "summary_prompt cannot be empty"],
    ["a timeout of 0", { ...good, timeout_ms: 0 }, "timeout_ms must be a whole number of at least 1; found 0"],
    ["an output_schema that is no object", { ...good, output_schema: "x" }, /^output_schema must be a JSON Schema/],
    ["an output_schema that is no schema", { ...good, output_schema: { type: "nonsense" } }, /^This JSON Schema/],
    ["an output_schema with look-around", { ...good, output_schema: { pattern: "(?=a)" } }, /look-around .* Write it/],
    [
      "an output_schema that doubles",
      { ...good, output_schema: doubling() },
      /it checks one value more than 10000 times/,
    ],
    ["background as text", { ...good, background: "yes" }, 'background must be true or false; found "yes"'],
    ["an agent nobody knows", { ...good, agent: "nobody" }, "Unknown agent: nobody. No agents are defined."],
    ["no object at all", [good], "The input must be an object"],
    [
      "several mistakes at once",
      { label: "", max_turns: 99 },
      /label cannot be empty; task_prompt is required; max_turns/,
    ],
  ];
  for (const [name, input, sentence] of bad) {
    test(`B1: ${name} is one failed result that names the field: no child, nothing reserved`, async () => {
      const { output, isError, stage } = await answerTo(input, {}, { budget: { executions: 1 } });
      if (typeof sentence === "string") assert.equal(output, sentence);
      else assert.match(output, sentence);
      assert.equal(isError, true);
      assert.equal(stage.eventsOf("run-start").length, 1);
    });
  }

  test("B1: a bad call costs nothing: the next one still has the whole budget", async () => {
    const stage = openStage({
      lead: [calls("subagent", { ...good, max_turns: 0 }), calls("subagent", good), says("Done.")],
      "lead/x": [says("Seen.")],
    });
    await stage.run(stage.lead(), "The task.", { budget: { executions: 1 } });
    assert.deepEqual(
      stage.resultsOf("lead").map(({ isError }) => isError),
      [true, false],
    );
  });

  test("B1: max_turns bounds the call only: configuration and definitions reach 1000", async () => {
    const { stage } = await answerTo({ ...good, max_turns: 50 });
    assert.equal(stage.eventsOf("run-start", "lead/x")[0]?.maxTurns, 50);
    const configured = await answerTo(good, { limits: { defaultMaxTurns: 1000 } });
    assert.equal(configured.stage.eventsOf("run-start", "lead/x")[0]?.maxTurns, 1000);
  });

  test("B1: agent names a definition, with its instructions, model and turns", async () => {
    const other = scriptedModel({ "**": [says("Found.")] }, { id: "scripted/other" });
    const scout = agent({ name: "scout", instructions: "You find things.", model: other, maxTurns: 7 });
    const plain = agent({ name: "plain" });
    const stage = openStage(
      {
        lead: [
          calls("subagent", { ...good, agent: "scout" }),
          calls("subagent", { ...good, agent: "scout", max_turns: 3 }),
          calls("subagent", { ...good, agent: "plain" }),
          calls("subagent_plain", { task: "Look." }),
          says("Done."),
        ],
        "lead/*": [says("Seen.")],
      },
      { runtime: { agents: [scout] } },
    );
    await stage.run(stage.lead({ subagents: [plain] }));
    assert.deepEqual(
      stage
        .eventsOf("run-start")
        .slice(1)
        .map(({ path, agent: name, instructions, model, maxTurns }) => [path, name, instructions, model, maxTurns]),
      [
        ["lead/x", "scout", "You find things.", "scripted/other", 7],
        ["lead/x#2", "scout", "You find things.", "scripted/other", 3],
        ["lead/x#3", "plain", undefined, "scripted/model", 10],
        ["lead/plain", "plain", undefined, "scripted/model", 100],
      ],
    );
  });

  test("B1: system_prompt replaces the default instructions of the child", async () => {
    const { stage } = await answerTo({ ...good, system_prompt: "Answer in rhyme." });
    assert.equal(stage.requestsOf("lead/x")[0]?.instructions, "Answer in rhyme.");
  });

  test("B1: timeout_ms stops the child, and a definition's own timeout can only be lowered", async () => {
    const slow = agent({ name: "slow", timeoutMs: 1000 });
    const stage = openStage({
      lead: [
        calls("subagent", { ...good, agent: "slow", timeout_ms: 400 }),
        calls("subagent", { ...good, agent: "slow", timeout_ms: 5000 }),
        says("Done."),
      ],
      "lead/*": [hangs()],
    });
    await stage.run(stage.lead({ subagents: [slow] }));
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output }) => output.split("\n")[0]),
      ["Subagent timed out after 400 ms (x)", "Subagent timed out after 1000 ms (x)"],
    );
    assert.equal(stage.world.clock.monotonic(), 1400);
  });

  test("B1: context none is the default, fork starts from the parent's history and keeps its prefix", async () => {
    const stage = openStage({
      lead: [
        calls("grep"),
        [calls("subagent", { ...good, context: "fork" }), calls("subagent", { label: "y", task_prompt: "Look." })],
        says("Done."),
      ],
      "lead/*": [says("Seen.")],
    });
    const lead = stage.lead({ instructions: "You lead.", tools: [simpleTool("grep", () => "a.ts:1")] });
    await stage.run(lead, "The whole task.");
    const before = stage.requestsOf("lead")[1];
    const [fork] = stage.requestsOf("lead/x");
    const task = { role: "user", content: [{ type: "text", text: "Look." }] };
    assert.deepEqual(fork?.messages, [...(before?.messages ?? []), task]);
    assert.deepEqual([fork?.instructions, fork?.tools], [before?.instructions, before?.tools]);
    assert.deepEqual(stage.requestsOf("lead/y")[0]?.messages, [task]);
    const origin = stage.eventsOf("run-start", "lead/x")[0]?.origin;
    assert.deepEqual(origin, { kind: "fork", runId: before?.runId, messages: 3 });
  });

  test("B1: a fork with its own instructions reads them with its task", async () => {
    const { stage } = await answerTo({ ...good, context: "fork", system_prompt: "Answer in rhyme." });
    assert.deepEqual(stage.requestsOf("lead/x")[0]?.messages.at(-1), {
      role: "user",
      content: [{ type: "text", text: "Answer in rhyme.\n\nLook." }],
    });
  });
});

suite("B2: the order of the checks", () => {
  const bad = { label: "", task_prompt: "" };
  const broke = { limits: { children: { executions: 0 } } };

  test("B2: the input is checked before the budget", async () => {
    assert.match((await answerTo(bad, broke)).output, /^label cannot be empty/);
    assert.match((await answerTo(good, broke)).output, /^Execution limit reached: 0\/0/);
  });

  test("B2: the depth is checked before input and budget, for a run that was never shown the tool", async () => {
    const stage = openStage(
      {
        lead: [calls("subagent", good), says("Done.")],
        "lead/x": [calls("subagent", bad), says("Then not.")],
      },
      { runtime: { limits: { maxDepth: 1, children: { executions: 1 } } } },
    );
    await stage.run(stage.lead());
    assert.match(
      stage.resultsOf("lead/x")[0]?.output ?? "",
      /^Maximum subagent recursion depth \(1\) exceeded\. Current depth: 1/,
    );
  });

  test("B2: the depth is checked before input also for a fork, which was shown its parent's tools", async () => {
    const stage = openStage(
      {
        lead: [calls("subagent", { ...good, context: "fork" }), says("Done.")],
        "lead/x": [calls("subagent", bad), says("Then not.")],
      },
      { runtime: { limits: { maxDepth: 1 } } },
    );
    await stage.run(stage.lead());
    const [read] = stage.resultsOf("lead/x");
    assert.match(read?.output ?? "", /^Maximum subagent recursion depth \(1\) exceeded/);
    assert.deepEqual(
      stage.eventsOf("spawn-refused").map(({ path, errorType }) => [path, errorType]),
      [["lead/x", "depth_limit"]],
    );
  });
});

suite("B12: messages people and tests rely on", () => {
  test("B12: the messages of the gate are the promised ones", async () => {
    const beginnings: [unknown, RuntimeOptions, string][] = [
      [{ ...good, label: "" }, {}, "label cannot be empty"],
      [{ ...good, task_prompt: "" }, {}, "task_prompt cannot be empty"],
      [{ ...good, max_turns: 51 }, {}, "max_turns must be between 1 and 50"],
      [{ ...good, allowed_tools: ["fly"] }, {}, "Unknown tool in allowed_tools: fly"],
      [{ ...good, allowed_tools: ["subagent"] }, {}, "Subagent cannot have 'subagent' in allowed_tools"],
      [good, { limits: { children: { executions: 0 } } }, "Execution limit reached: 0/0"],
      [good, { limits: { children: { tokens: 100 } } }, "Token limit exceeded: "],
      [good, { limits: { children: { durationMs: 0 } } }, "Time limit exceeded: 0s/0s"],
    ];
    for (const [input, runtime, beginning] of beginnings) {
      const { output, isError } = await answerTo(input, runtime);
      assert.equal(output.slice(0, beginning.length), beginning);
      assert.ok(isError && !output.includes("\n"), "more may follow on the same line");
    }
  });

  test("B12: the message of parallel_subagent without tasks is the promised one", async () => {
    const stage = openStage({ lead: [calls("parallel_subagent", { tasks: [] }), says("Done.")] });
    await stage.run(stage.lead());
    assert.match(stage.resultsOf("lead")[0]?.output ?? "", /^At least one task required/);
  });

  test("B12: the messages of the execution limit, of timeouts and of cancelled children are the promised ones", async () => {
    const stage = openStage(
      {
        lead: [
          [calls("subagent", { ...good, timeout_ms: 10 }), calls("subagent", good), calls("subagent", good)],
          says("Done."),
        ],
        "lead/x": [hangs()],
        "lead/x#2": [[after(100), says("Seen.")]],
      },
      { runtime: { limits: { children: { executions: 2 } } } },
    );
    const handle = stage.start(stage.lead());
    stage.when(
      (event) => event.type === "turn-start" && event.path === "lead/x#2",
      () => handle.cancel("lead/x#2"),
    );
    await stage.end(handle);
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output }) => output.split("\n")[0]),
      ["Subagent timed out after 10 ms (x)", "Subagent cancelled (x)", "Execution limit reached: 2/2"],
    );
  });
});

/** 26 definitions, each of which refers twice to the next. */
function doubling(): object {
  const names = Array.from({ length: 26 }, (_, index) => `d${index}`);
  const twice = (index: number) => ({ allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] });
  return {
    $ref: "#/$defs/d0",
    $defs: { ...Object.fromEntries(names.map((name, index) => [name, twice(index)])), d26: {} },
  };
}
