/** Sections B5 to B9: how a child sums up, what its report says, and what its parent keeps of it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { textOf } from "../../../src/core/message.ts";
import type { DelegationLimits } from "../../../src/core/words/limits.ts";
import { reportText } from "../../../src/runtime/subagents/report.ts";
import {
  after,
  calls,
  fails,
  hangs,
  refuses,
  type ScriptLines,
  says,
  streams,
  uses,
} from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";

/** One child with this script; gives the report its parent read and everything around it. */
async function reportOf(child: ScriptLines, input: object = {}, limits: Partial<DelegationLimits> = {}) {
  const stage = openStage(
    { lead: [calls("subagent", { label: "x", task_prompt: "Look.", ...input }), says("Done.")], "lead/x": child },
    { runtime: { limits } },
  );
  const result = await stage.run(stage.lead({ tools: [simpleTool("look", () => "a wall")] }));
  const [read] = stage.resultsOf("lead");
  const [end] = stage.eventsOf("tool-call-end", "lead");
  const lines = (read?.output ?? "").split("\n");
  return { output: lines.slice(0, -1).join("\n"), trailer: lines.at(-1), isError: read?.isError, end, stage, result };
}

const lastWords = (stage: Awaited<ReturnType<typeof reportOf>>["stage"]) => {
  const last = stage.requestsOf("lead/x").at(-1)?.messages.at(-1);
  return last?.role === "user" ? textOf(last) : undefined;
};

suite("B5: the summary", () => {
  const long = "A long answer. ".repeat(300);

  test("B5: the summary is not asked for when the answer fits the report", async () => {
    const { output, stage } = await reportOf([says("Short.")]);
    assert.deepEqual([output, stage.requestsOf("lead/x").length], ["Short.", 1]);
  });

  test("B5: the summary is asked for in the same conversation when the answer does not fit: in one turn without tools", async () => {
    const { output, stage, end } = await reportOf([says(long), says("In short: a wall.")], { max_turns: 1 });
    assert.equal(output, "In short: a wall.");
    const [first, second] = stage.requestsOf("lead/x");
    assert.equal(lastWords(stage), "Summarize your findings concisely");
    assert.deepEqual(second?.messages.slice(0, 1), first?.messages);
    assert.deepEqual([second?.mayCallTools, second?.messages.length], [false, 3]);
    assert.deepEqual(
      [end?.metadata?.turns_used, end?.metadata?.completion_status, end?.metadata?.max_turns_reached],
      [1, "complete", false],
    );
  });

  test("B5: the summary is asked for in the words of summary_prompt, also when the answer would fit", async () => {
    const { output, stage } = await reportOf([says("A wall."), says("- a wall")], {
      summary_prompt: "As bullet points.",
    });
    assert.deepEqual([output, lastWords(stage)], ["- a wall", "As bullet points."]);
    assert.equal(stage.eventsOf("run-start", "lead/x")[0]?.summaryPrompt, "As bullet points.");
  });

  test("B5: the summary runs no tool, even when the model asks for one", async () => {
    const { output, stage } = await reportOf([says(long), [says("A wall."), calls("look")]]);
    assert.equal(output, "A wall.");
    assert.equal(stage.eventsOf("tool-call-start", "lead/x").length, 0);
  });

  const failures: [string, ScriptLines][] = [
    ["fails", [says("The answer."), fails("invalid_request")]],
    ["fails in the middle of it", [says("The answer."), [streams("Half a "), fails("invalid_request")]]],
    ["is refused", [says("The answer."), [says("No."), refuses()]]],
    ["is empty", [says("The answer."), says("")]],
  ];
  for (const [name, script] of failures) {
    test(`B5: a summary that ${name} leaves the answer of the task as the report`, async () => {
      const { output, isError, end } = await reportOf(script, { summary_prompt: "In a word." });
      assert.deepEqual([output, isError, end?.metadata?.completion_status], ["The answer.", false, "complete"]);
    });
  }

  test("B5: the summary stays inside the budget: when there is none left the answer is the report", async () => {
    const stage = openStage({
      lead: [
        [
          calls("subagent", { label: "x", task_prompt: "Look.", summary_prompt: "In a word." }),
          uses({ input: 10, output: 1 }),
        ],
        [says("Done."), uses({ input: 10, output: 1 })],
      ],
      "lead/x": [[says("The answer."), uses({ input: 19_000, output: 500 })], says("Never.")],
    });
    await stage.run(stage.lead(), "The task.", { budget: { tokens: 20_000 } });
    assert.equal(stage.requestsOf("lead/x").length, 1);
    const read = stage.eventsOf("tool-call-end", "lead")[0]?.output ?? "";
    assert.match(read, /^The answer\./);
  });

  test("B5: the summary is always asked for with the setting always, never with never", async () => {
    const always = await reportOf([says("Short."), says("Shorter.")], {}, { summary: "always" });
    assert.deepEqual([always.output, always.stage.requestsOf("lead/x").length], ["Shorter.", 2]);
    const never = await reportOf([says(long)], { summary_prompt: "In a word." }, { summary: "never" });
    assert.equal(never.stage.requestsOf("lead/x").length, 1);
    assert.match(never.output, /^A long answer\./);
  });

  test("B5: the summary is not asked of a root", async () => {
    const stage = openStage({ lead: [says(long)] });
    assert.equal((await stage.run(stage.lead())).text, long);
  });
});

suite("B6: out of turns", () => {
  test("B6: running out of turns is no error: the report has what there is, a notice, incomplete and max_turns_reached", async () => {
    const looking = [says("I looked left."), calls("look")];
    const { output, isError, end } = await reportOf([looking, says("Left: a wall. Right: not seen.")], {
      max_turns: 1,
    });
    assert.equal(
      output,
      "[Notice: the subagent ran out of turns after 1; the result is incomplete]\nLeft: a wall. Right: not seen.",
    );
    const { completion_status, max_turns_reached, turns_used, tool_count } = end?.metadata ?? {};
    assert.deepEqual(
      [isError, completion_status, max_turns_reached, turns_used, tool_count],
      [false, "incomplete", true, 1, 1],
    );
  });

  test("B6: a report without a summary carries what was said last when the turns run out", async () => {
    const { output } = await reportOf(
      [[says("I looked left."), calls("look")]],
      { max_turns: 1 },
      { summary: "never" },
    );
    assert.match(output, /incomplete\]\nI looked left\.$/);
  });

  test("B6: an answer given on the last turn is complete", async () => {
    const { output, end } = await reportOf([calls("look"), says("A wall.")], { max_turns: 2 });
    assert.deepEqual(
      [output, end?.metadata?.completion_status, end?.metadata?.max_turns_reached],
      ["A wall.", "complete", false],
    );
  });
});

suite("B7: the metadata of a report", () => {
  test("B7: the metadata of a report have all their fields, and the tokens of everything below", async () => {
    const { end, stage } = await reportOf([
      [calls("look"), after(250), uses({ input: 100, output: 20 })],
      [says("A wall."), uses({ input: 200, output: 30 })],
    ]);
    assert.deepEqual(end?.metadata, {
      subagent_id: stage.eventsOf("run-start", "lead/x")[0]?.agentId,
      subagent_label: "x",
      recursion_depth: 1,
      turns_used: 2,
      tool_count: 1,
      tokens_consumed: 350,
      tree_tokens: 350,
      prompt_tokens: 300,
      completion_tokens: 50,
      completion_status: "complete",
      max_turns_reached: false,
      truncated: false,
      duration_ms: 250,
    });
  });

  const endings: [string, ScriptLines, object, string, boolean][] = [
    ["complete", [says("Yes.")], {}, "complete", false],
    ["incomplete", [calls("look"), says("So far.")], { max_turns: 1 }, "incomplete", false],
    ["failed", [fails("invalid_request")], {}, "failed", true],
    ["refused", [[says("No."), refuses()]], {}, "refused", true],
    ["timeout", [hangs()], { timeout_ms: 100 }, "timeout", true],
  ];
  for (const [name, script, input, status, isError] of endings) {
    test(`B7: the metadata of a report tell ${name} from every other ending`, async () => {
      const report = await reportOf(script, input);
      assert.deepEqual([report.end?.metadata?.completion_status, report.isError], [status, isError]);
      assert.equal(report.trailer, `(subagent_id: ${report.end?.metadata?.subagent_id})`);
    });
  }
});

suite("B8: truncation", () => {
  const never = { summary: "never" } as const;

  test("B8: truncation cuts a report over 4,096 bytes on a character boundary and says so", async () => {
    // 4 bytes each, so that the limit falls between two of them after 1,024; one byte before shifts it.
    const text = `!${"🦊".repeat(2000)}`;
    const { output, end, stage } = await reportOf([says(text)], {}, never);
    assert.equal(
      output,
      `!${"🦊".repeat(1023)}\n[Notice: cut after 4093 of 8001 bytes; subagent_report reads the rest from offset 4093]`,
    );
    assert.equal(end?.metadata?.truncated, true);
    assert.deepEqual(
      stage
        .eventsOf("truncation")
        .map(({ path, subject, originalBytes, keptBytes }) => ({ path, subject, originalBytes, keptBytes })),
      [{ path: "lead/x", subject: "report", originalBytes: 8001, keptBytes: 4093 }],
    );
  });

  test("B8: truncation leaves exactly the limit alone", async () => {
    const { output, end, stage } = await reportOf([says("x".repeat(4096))], {}, never);
    assert.deepEqual([output.length, end?.metadata?.truncated, stage.eventsOf("truncation")], [4096, false, []]);
  });

  test("B8: truncation is the only reason for a summary that is paid for: a report of exactly the limit has none", async () => {
    for (const [bytes, turns] of [
      [4096, 1],
      [4097, 2],
    ] as const) {
      const { stage } = await reportOf([says("x".repeat(bytes)), says("Short.")]);
      assert.equal(stage.requestsOf("lead/x").length, turns, `${bytes} bytes`);
    }
  });

  test("B8: truncation says so for a failed child too", async () => {
    const { output, isError } = await reportOf([[says("x".repeat(5000)), refuses()]], {}, never);
    assert.equal(isError, true);
    assert.match(
      output,
      /^The subagent's model refused the task\nPartial result:\nx{4096}\n\[Notice: cut after 4096 of 5000 bytes/,
    );
  });

  test("B8: the whole stays in the store and is read page by page, by id", async () => {
    const text = Array.from({ length: 4000 }, (_, line) => `line ${line}`).join("\n");
    const pages: string[] = [];
    const stage = openStage(
      {
        lead: ({ messages, caller }) => {
          if (caller.turn === 1) return calls("subagent", { label: "x", task_prompt: "Look." });
          const last = messages.at(-1);
          const read = last?.role === "tool" ? (last.content[0]?.output ?? "") : "";
          const id = /subagent_id: (\w{26})/.exec(JSON.stringify(messages))?.[1];
          const page = /^(.*)\n\[Notice: \d+ more bytes; ask again with offset (\d+)\]$/s.exec(read);
          if (caller.turn > 2) pages.push(page?.[1] ?? read);
          if (caller.turn > 2 && page === null) return says("Read.");
          return calls("subagent_report", { subagent_id: id, ...(page ? { offset: Number(page[2]) } : {}) });
        },
        "lead/x": [says(text)],
      },
      { runtime: { limits: never } },
    );
    const result = await stage.run(stage.lead());
    assert.equal(result.text, "Read.");
    assert.equal(pages.join(""), text);
    assert.ok(pages.length > 2);
    const kept = (await stage.store.read(result.runId)).findLast(
      ({ type, path }) => type === "run-end" && path === "lead/x",
    );
    assert.equal(kept?.type === "run-end" && kept.text, text);
  });

  test("B8: the notice names the tool for the rest only to a parent that has it", async () => {
    const texts: string[] = [];
    const ask = simpleTool("ask", async (_input, { spawn }) => {
      const reply = await spawn({ label: "x", task: "Look." });
      if (reply.kind === "ended") texts.push(reportText(reply.report), reply.report.outcome.text);
    });
    const stage = openStage(
      { lead: [calls("ask"), says("Done.")], "lead/x": [says("x".repeat(3000))] },
      { runtime: { limits: { outputMaxSize: 1024, summary: "never" } } },
    );
    await stage.run(stage.lead({ delegate: undefined, tools: [ask] }));
    assert.deepEqual(texts, [`${"x".repeat(1024)}\n[Notice: cut after 1024 of 3000 bytes]`, "x".repeat(3000)]);
  });

  test("B8: a report that does not exist cannot be read", async () => {
    const stage = openStage({ lead: [calls("subagent_report", { subagent_id: "nobody" }), says("Done.")] });
    await stage.run(stage.lead());
    assert.equal(
      stage.resultsOf("lead")[0]?.output,
      "No finished subagent with the id nobody. subagent_list shows those you started.",
    );
  });
});

test("B9: the parent's conversation holds the call and the report, nothing else of the child", async () => {
  const { stage } = await reportOf([[says("CANARY of a thought"), calls("look")], says("A wall.")]);
  const { messages = [] } = stage.requestsOf("lead").at(-1) ?? {};
  assert.deepEqual(
    messages.map(({ role }) => role),
    ["user", "assistant", "tool"],
  );
  assert.ok(!JSON.stringify(messages).includes("CANARY"));
  assert.match(JSON.stringify(messages.at(-1)), /A wall\./);
});
