/** Sections B3 and B4: how deep a tree may be, and which tools a child has. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";

const DELEGATION = [
  "subagent",
  "parallel_subagent",
  "subagent_send",
  "subagent_report",
  "subagent_wait",
  "subagent_cancel",
  "subagent_list",
];
const spawn = (label: string, more: object = {}) =>
  calls("subagent", { label, task_prompt: `Task ${label}.`, ...more });

suite("B3: depth", () => {
  test("B3, B12: the root is 0, max_depth is the deepest level that may exist, and the refusal has both numbers", async () => {
    const stage = openStage(
      { "**": ({ caller }) => (caller.turn === 1 ? spawn(`d${caller.depth + 1}`) : says(`Depth ${caller.depth}.`)) },
      { runtime: { limits: { maxDepth: 2 } } },
    );
    const result = await stage.run(stage.lead());
    assert.deepEqual(
      result.agents.map(({ path, depth, status }) => [path, depth, status]),
      [
        ["lead", 0, "completed"],
        ["lead/d1", 1, "completed"],
        ["lead/d1/d2", 2, "completed"],
      ],
    );
    const [refused] = stage.resultsOf("lead/d1/d2");
    assert.match(refused?.output ?? "", /^Maximum subagent recursion depth \(2\) exceeded\. Current depth: 2/);
    assert.equal(refused?.isError, true);
  });

  test("B3: a tree has three levels below the root by default", async () => {
    const stage = openStage({
      "**": ({ caller }) => (caller.turn === 1 ? spawn(`d${caller.depth + 1}`) : says("Done.")),
    });
    const { agents } = await stage.run(stage.lead());
    assert.equal(Math.max(...agents.map(({ depth }) => depth)), 3);
  });

  test("B3: max_depth is between 1 and 10", () => {
    for (const maxDepth of [0, 11, 1.5, Number.NaN]) {
      const stage = openStage({}, { runtime: { limits: { maxDepth } } });
      assert.throws(() => stage.start(stage.lead()), {
        name: "UserError",
        message: `limits.maxDepth must be a whole number between 1 and 10; found ${maxDepth}`,
      });
    }
  });

  test("B3: limits that nothing could ever pass are refused instead of waited for", () => {
    const bad = [
      { maxConcurrent: 0 },
      { defaultMaxTurns: 0 },
      { defaultMaxTurns: 1001 },
      { outputMaxSize: 1023 },
      { maxConcurrent: Number.NaN },
    ];
    for (const limits of bad) {
      const stage = openStage({}, { runtime: { limits } });
      assert.throws(() => stage.start(stage.lead()), { name: "UserError", message: /^limits\.\w+ must be/ });
    }
  });

  test("B3: a continued and a forked child keep their depth", async () => {
    const stage = openStage(
      {
        lead: [
          spawn("x", { context: "fork" }),
          ({ messages }) => calls("subagent_send", { subagent_id: idIn(messages), message: "Go on." }),
          says("Done."),
        ],
        "lead/x": [says("Forked."), spawn("y"), says("Not deeper.")],
      },
      { runtime: { limits: { maxDepth: 1 } } },
    );
    await stage.run(stage.lead());
    assert.deepEqual(
      stage.eventsOf("run-start").map(({ path, depth }) => [path, depth]),
      [
        ["lead", 0],
        ["lead/x", 1],
        ["lead/x", 1],
      ],
    );
    assert.match(stage.resultsOf("lead/x").at(-1)?.output ?? "", /^Maximum subagent recursion depth \(1\) exceeded/);
  });
});

/** The id in the last report of a child. */
function idIn(messages: unknown): string {
  return /subagent_id: (\w{26})/.exec(JSON.stringify(messages))?.[1] ?? "";
}

suite("B4: the tools of a child", () => {
  const tools = [simpleTool("grep"), simpleTool("read")];

  test("B4: omitted allowed_tools gives all the parent may pass on, and its own subagent tools while depth allows", async () => {
    const stage = openStage(
      { "**": ({ caller }) => (caller.turn === 1 ? spawn(`d${caller.depth + 1}`) : says("Done.")) },
      { runtime: { limits: { maxDepth: 2 } } },
    );
    await stage.run(stage.lead({ tools }));
    assert.deepEqual(
      ["lead", "lead/d1", "lead/d1/d2"].map((path) => stage.requestsOf(path)[0]?.tools),
      [
        ["grep", "read", ...DELEGATION],
        ["grep", "read", ...DELEGATION],
        ["grep", "read"],
      ],
    );
  });

  test("B4: at the deepest level every subagent tool is answered with the depth message", async () => {
    const names = [...DELEGATION, "subagent_scout"];
    const stage = openStage(
      {
        lead: [spawn("x"), says("Done.")],
        "lead/x": [names.map((name) => calls(name, { anything: 1 })), says("Then not.")],
      },
      { runtime: { limits: { maxDepth: 1 } } },
    );
    await stage.run(stage.lead({ subagents: [agent({ name: "scout" })] }));
    const results = stage.resultsOf("lead/x");
    assert.equal(results.length, names.length);
    for (const { output } of results)
      assert.match(output, /^Maximum subagent recursion depth \(1\) exceeded\. Current depth: 1/);
  });

  test("B4: a given allowed_tools is exact: those tools and no subagent tools", async () => {
    const stage = openStage({
      lead: [spawn("x", { allowed_tools: ["read"] }), says("Done.")],
      "lead/x": [[calls("grep"), spawn("y"), calls("read")], says("Only read.")],
    });
    await stage.run(stage.lead({ tools }));
    assert.deepEqual(stage.requestsOf("lead/x")[0]?.tools, ["read"]);
    assert.deepEqual(
      stage.resultsOf("lead/x").map(({ output, isError }) => [output, isError]),
      [
        ["Unknown tool: grep. Your tools: read.", true],
        ["Unknown tool: subagent. Your tools: read.", true],
        ["read is done", false],
      ],
    );
    assert.equal(stage.eventsOf("run-start").length, 2);
  });

  test("B4: a given allowed_tools is exact for a fork too, whose model is shown more", async () => {
    let grepped = 0;
    const stage = openStage({
      lead: [spawn("x", { allowed_tools: ["read"], context: "fork" }), says("Done.")],
      "lead/x": [
        [
          calls("grep"),
          spawn("y"),
          calls("parallel_subagent", { tasks: [{ label: "z", task_prompt: "Z." }] }),
          calls("read"),
        ],
        says("Only read."),
      ],
    });
    await stage.run(stage.lead({ tools: [simpleTool("grep", () => ++grepped), simpleTool("read")] }));
    assert.deepEqual(stage.requestsOf("lead/x")[0]?.tools, stage.requestsOf("lead")[0]?.tools);
    assert.deepEqual(
      stage.resultsOf("lead/x").map(({ output, isError }) => [output.split(".")[0], isError]),
      [
        ["You may not use the tool: grep", true],
        ["You may not use the tool: subagent", true],
        ["You may not use the tool: parallel_subagent", true],
        ["read is done", false],
      ],
    );
    assert.deepEqual([grepped, stage.eventsOf("run-start").length], [0, 2]);
  });

  test("B4: a child without subagent tools cannot start a child through a tool of its own", async () => {
    const sly = simpleTool("sly", async (_input, context) => {
      const reply = await context.spawn({ label: "y", task: "Behind the back." });
      return reply.kind === "refused" ? reply.message : reply.kind;
    });
    const stage = openStage({
      lead: [spawn("x", { allowed_tools: ["sly"] }), says("Done.")],
      "lead/x": [calls("sly"), says("Tried.")],
    });
    await stage.run(stage.lead({ tools: [sly] }));
    assert.match(stage.resultsOf("lead/x")[0]?.output ?? "", /^You may not start subagents/);
    assert.equal(stage.eventsOf("run-start").length, 2);
  });

  test("B4: an empty list means no tools", async () => {
    const stage = openStage({ lead: [spawn("x", { allowed_tools: [] }), says("Done.")], "lead/x": [says("Thought.")] });
    await stage.run(stage.lead({ tools }));
    assert.deepEqual(stage.requestsOf("lead/x")[0]?.tools, []);
  });

  test("B4: a subagent tool or an unknown one in the list is a failed result that names it", async () => {
    const stage = openStage({
      lead: [
        [
          spawn("x", { allowed_tools: ["read", "subagent"] }),
          spawn("x", { allowed_tools: ["subagent_scout"] }),
          spawn("x", { allowed_tools: ["parallel_subagent"] }),
          spawn("x", { allowed_tools: ["write"] }),
        ],
        says("Done."),
      ],
    });
    await stage.run(stage.lead({ tools }));
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output, isError }) => [output, isError]),
      [
        ["Subagent cannot have 'subagent' in allowed_tools", true],
        ["Subagent cannot have 'subagent_scout' in allowed_tools", true],
        ["Subagent cannot have 'parallel_subagent' in allowed_tools", true],
        ["Unknown tool in allowed_tools: write. Known: grep, read.", true],
      ],
    );
    assert.equal(stage.eventsOf("run-start").length, 1);
  });

  test("B4: a child can never do what its parent may not pass on", async () => {
    let wrote = 0;
    const write = simpleTool("write", () => ++wrote);
    const writer = agent({ name: "writer", tools: [write] });
    const stage = openStage(
      {
        lead: [spawn("x"), says("Done.")],
        "lead/x": [calls("subagent", { label: "w", task_prompt: "Write.", agent: "writer" }), says("Tried.")],
        "lead/x/w": [calls("write"), says("I could not.")],
      },
      { runtime: { agents: [writer] } },
    );
    await stage.run(stage.lead({ tools }));
    assert.equal(wrote, 0);
    assert.deepEqual(stage.requestsOf("lead/x/w")[0]?.tools, []);
    assert.equal(stage.resultsOf("lead/x/w")[0]?.isError, true);
  });

  test("B4: a lead without grep can have a scout with it", async () => {
    let grepped = 0;
    const scout = agent({ name: "scout", tools: [simpleTool("grep", () => ++grepped)] });
    const stage = openStage({
      lead: [calls("grep"), calls("subagent_scout", { task: "Find it." }), says("Done.")],
      "lead/scout": [calls("grep"), says("Found.")],
    });
    await stage.run(stage.lead({ subagents: [scout], delegate: false }));
    assert.equal(grepped, 1);
    assert.equal(stage.resultsOf("lead")[0]?.isError, true, "the lead itself may not");
    assert.deepEqual(stage.requestsOf("lead")[0]?.tools, ["subagent_scout", "subagent_report"]);
  });
});
