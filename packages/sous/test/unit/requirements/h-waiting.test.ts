/** H1: who waits for budget, who may start, and what people and programs see of it meanwhile. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { after, calls, hangs, says, uses } from "../../../src/testing/steps.ts";
import { inShort, parallelOutput, readBy, runTree, startsOf, statuses } from "../../support/requirements/run-tree.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";

function child(label: string, more: Record<string, unknown> = {}) {
  return calls("subagent", { label, task_prompt: `Do ${label}.`, allowed_tools: [], ...more });
}

function named(label: string, agentName: string) {
  return calls("subagent", { label, task_prompt: `Do ${label} as ${agentName}.`, agent: agentName });
}

function inParallel(labels: readonly string[], more: Record<string, unknown> = {}) {
  const tasks = labels.map((label, index) => ({ label, task_prompt: `Part ${index}.`, allowed_tools: [], ...more }));
  return calls("parallel_subagent", { tasks });
}

/** Pays for the first call of one child at a time: about 50 tokens of prompt and 4,096 of output. */
const FOR_ONE = { limits: { children: { tokens: 6_000 } } };
const SMALL = uses({ input: 50, output: 50 });

suite("H1: a child that cannot pay its first call", () => {
  test("H1: a child that cannot pay its first call waits to start: it has no start, no clock and no call before it can", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [inParallel(["a", "b"], { timeout_ms: 1_500 }), says("Seen.")],
        "lead/a": [[after(1_000), says("A."), SMALL]],
        "lead/b": [[after(1_000), says("B."), SMALL]],
      },
      runtime: FOR_ONE,
    });
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a": "completed", "lead/b": "completed" });
    const [, , b] = stage.eventsOf("run-start");
    assert.equal((b?.time ?? 0) - (stage.eventsOf("run-start")[0]?.time ?? 0), 1_000);
    assert.equal(result.agents.find(({ path }) => path === "lead/b")?.durationMs, 1_000, "its clock stood still");
    const waits = stage.eventsOf("budget-wait");
    assert.deepEqual(
      waits.map(({ path, limit: { of, unit, limit } }) => [path, of, unit, limit]),
      [["lead/b", "children", "tokens", 6_000]],
    );
  });

  test("H1: a child that cannot pay its first call has its execution set aside: the sixth of five is refused at once", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [inParallel(["a", "b", "c", "d", "e", "f"]), says("Seen.")],
        "lead/*": [[after(1_000), says("Done."), uses({ input: 500, output: 100 })]],
      },
      runtime: { limits: { children: { tokens: 10_000, executions: 5 }, maxConcurrent: 6 } },
    });
    assert.equal(result.status, "completed");
    const { results } = parallelOutput(stage);
    assert.deepEqual(inShort({ ...parallelOutput(stage), results: results.slice(0, 5) }), [
      ["a", true, "complete"],
      ["b", true, "complete"],
      ["c", true, "complete"],
      ["d", true, "complete"],
      ["e", true, "complete"],
    ]);
    assert.deepEqual([results[5]?.success, results[5]?.error], [false, "Execution limit reached: 5/5"]);
    const [refused] = stage.eventsOf("spawn-refused");
    assert.equal(refused?.time, stage.eventsOf("tool-call-start", "lead")[0]?.time, "nobody had to end first");
  });

  test("H1: a waiting child gives its execution back when it is cancelled", async () => {
    const { result } = await runTree({
      script: {
        lead: [[child("a"), child("b")], child("c"), says("Seen.")],
        "lead/a": [[after(2_000), says("A."), SMALL]],
        "lead/c": [[says("C."), SMALL]],
      },
      runtime: { limits: { children: { tokens: 6_000, executions: 2 } } },
      during: ({ handle, at }) => at(1_000, () => void handle.cancel("lead/b")),
    });
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a": "completed", "lead/c": "completed" });
  });

  test("H1: a waiting child holds no slot while it waits for its budget", async () => {
    const rich = agent({ name: "rich", budget: { tokens: 50_000 } });
    const { stage } = await runTree({
      script: {
        lead: [[inParallel(["a", "b"]), calls("subagent_free", { task: "Now." })], says("Seen.")],
        "lead/a": [[after(5_000), says("A."), SMALL]],
        "lead/b": [[says("B."), SMALL]],
        "lead/free": [[says("Free."), SMALL]],
      },
      lead: { subagents: [rich.with({ name: "free", budget: undefined })] },
      runtime: { limits: { children: { tokens: 12_000 }, maxConcurrent: 2 } },
    });
    assert.deepEqual(startsOf(stage), ["lead", "lead/a", "lead/b", "lead/free"]);
  });

  test("H1: a child is refused at once when it could never be paid", async () => {
    const { stage, result } = await runTree({
      script: { lead: [[inParallel(["a"]), child("b")], says("Seen.")] },
      runtime: { limits: { children: { tokens: 300 } } },
    });
    assert.equal(result.status, "completed");
    assert.deepEqual(startsOf(stage), ["lead"]);
    assert.match(
      readBy(stage, "subagent")[0] ?? "",
      /^Token limit exceeded: \d+\/300 \(spent 0, reserved 0, asked \d+: it was not started\)/,
    );
  });

  test("H1: a waiting child is refused when nothing moves any more, before any run that is at work", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [inParallel(["a", "b"]), says("Seen.")],
        "lead/a": [[after(100), says("A."), uses({ input: 3_000, output: 2_700 })]],
      },
      runtime: { limits: { children: { tokens: 6_000 } } },
    });
    assert.equal(result.status, "completed");
    assert.deepEqual(startsOf(stage), ["lead", "lead/a"]);
    const { results } = parallelOutput(stage);
    assert.equal(results[0]?.success, true);
    assert.match(results[1]?.error ?? "", /^Token limit exceeded: \d+\/6000 \(spent 5700, reserved 0, .*not started\)/);
  });

  test("H1: a call for a waiting child in the background returns at once, and a later refusal is told to the parent", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [
          [child("a", { background: true }), child("b", { background: true })],
          says("I wait."),
          says("One."),
          says("Done."),
        ],
        "lead/a": [[after(100), says("A."), uses({ input: 3_000, output: 2_700 })]],
      },
      runtime: { limits: { children: { tokens: 6_000 } } },
    });
    assert.equal(result.status, "completed");
    assert.deepEqual(startsOf(stage), ["lead", "lead/a"]);
    const [notice] = stage.eventsOf("notice", "lead");
    assert.match(notice?.text ?? "", /^The background subagent b will not report: Token limit exceeded/);
  });

  test("H1: a child that waits to start is listed as queued, and a word to it is part of its first prompt", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [
          [child("a", { background: true }), child("b", { background: true })],
          calls("subagent_list"),
          ({ messages }) => {
            const [, id = ""] = /(\S+) {2}b {2}queued/.exec(JSON.stringify(messages)) ?? [];
            return calls("subagent_send", { subagent_id: id.replace(/^.*n/, ""), message: "Look closely." });
          },
          says("I wait."),
          says("One."),
          says("Done."),
        ],
        "lead/a": [[after(1_000), says("A."), SMALL]],
        "lead/b": [[says("B."), SMALL]],
      },
      runtime: FOR_ONE,
    });
    assert.equal(result.status, "completed");
    assert.match(
      readBy(stage, "subagent_list")[0] ?? "",
      /\ba {2}running {2}.*\n.*\bb {2}queued {2}0 turns {2}background/,
    );
    assert.match(JSON.stringify(stage.requestsOf("lead/b")[0]?.messages), /Look closely\./);
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a": "completed", "lead/b": "completed" });
  });

  test("H1: a waiting child is waited for by subagent_wait, which ends when it is refused", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [
          [child("a", { background: true }), child("b", { background: true })],
          calls("subagent_wait"),
          says("Done."),
        ],
        "lead/a": [[after(100), says("A."), uses({ input: 3_000, output: 2_700 })]],
      },
      runtime: { limits: { children: { tokens: 6_000 } } },
    });
    assert.equal(result.status, "completed");
    assert.deepEqual(startsOf(stage), ["lead", "lead/a"]);
  });
});

suite("H1: names before money", () => {
  test("a path is given in the order of the calls, not of payment", async () => {
    const { stage } = await runTree({
      script: {
        lead: [[child("x"), named("x", "own"), child("x")], says("Seen.")],
        "lead/*": [[after(10), says("Done."), SMALL]],
      },
      lead: { subagents: [agent({ name: "own", maxOutputTokens: 100, budget: { tokens: 1_000 } })] },
      runtime: { limits: { children: { tokens: 6_000 } } },
    });
    const pathOf = (callId: string) => stage.eventsOf("run-start").find(({ call }) => call?.callId === callId)?.path;
    const asked = stage.eventsOf("tool-call-start", "lead").map(({ callId }) => callId);
    assert.deepEqual(asked.map(pathOf), ["lead/x", "lead/x#2", "lead/x#3"]);
  });

  test("a refused child keeps its path, also after a restart", async () => {
    const script = {
      lead: [[child("x"), named("x", "greedy")], [says("One more."), child("x")], says("Seen.")],
      "lead/*": [says("Done.")],
    };
    const first = openStage(script);
    const greedy = agent({ name: "greedy", budget: { tokens: 1e9 } });
    const handle = first.start(first.lead({ subagents: [greedy] }), "Go.", { budget: { tokens: 100_000 } });
    first.when(
      ({ type, path }) =>
        type === "tool-call-start" && path === "lead" && first.eventsOf("turn-start", "lead").length === 2,
      () => void handle.cancel(),
    );
    const { runId } = await first.end(handle);
    assert.deepEqual(
      first.eventsOf("spawn-refused").map(({ childPath }) => childPath),
      ["lead/x#2"],
    );
    const again = openStage(
      { lead: [child("x"), says("Seen.")], "lead/*": [says("Done.")] },
      { runtime: { store: first.store }, seed: 2 },
    );
    const resumed = again.runtime.resume(runId, { agent: again.lead(), message: "Go on." });
    const paths: string[] = [];
    const result = await again.world.run(async () => {
      for await (const event of resumed) if (event.type === "run-start") paths.push(event.path);
      return resumed;
    });
    assert.deepEqual([result.status, paths.at(-1)], ["completed", "lead/x#3"]);
  });
});

suite("H1: the view of a budget", () => {
  test("H1: a limit of which most is spent is told once, by the run that came near it", async () => {
    const { stage } = await runTree({
      script: {
        lead: [
          [calls("look"), uses({ input: 8_100, output: 10 })],
          [calls("look"), uses({ input: 100, output: 10 })],
          says("Done."),
        ],
      },
      lead: { delegate: false, tools: [simpleTool("look")], maxOutputTokens: 600 },
      run: { budget: { tokens: 10_000, executions: 3 }, onExhausted: "stop" },
    });
    assert.deepEqual(
      stage
        .eventsOf("budget-near")
        .map(({ path, limit: { of, unit, spent, limit } }) => [path, of, unit, spent, limit]),
      [["lead", "tree", "tokens", 8_110, 10_000]],
    );
  });

  test("H1: a limit of executions, or of the time of the tree or its children, is told once when most of it is spent", async () => {
    const { stage } = await runTree({
      script: {
        lead: [inParallel(["a", "b", "c", "d"]), [after(30_000), child("e")], says("Done.")],
        "lead/e": [[after(6_000), says("E.")]],
        "lead/*": [[after(5_000), says("Found.")]],
      },
      run: { budget: { durationMs: 50_000, executions: 5 }, limits: { children: { durationMs: 12_000 } } },
    });
    assert.deepEqual(
      stage
        .eventsOf("budget-near")
        .map(({ path, limit: { of, unit, spent, limit } }) => [path, of, unit, spent, limit]),
      [
        ["lead", "tree", "executions", 4, 5],
        ["lead", "children", "durationMs", 9_600, 12_000],
        ["lead", "tree", "durationMs", 40_000, 50_000],
      ],
    );
  });

  test("a handle tells every limit, what is spent and reserved of it, and who holds what", async () => {
    const stage = openStage({
      lead: [[says("Two."), inParallel(["a", "b"]), uses({ input: 100, output: 10 })], says("Seen.")],
      "lead/*": [hangs()],
    });
    const handle = stage.start(stage.lead(), "Go.", {
      budget: { tokens: 20_000, durationMs: 60_000, executions: 9 },
      limits: { children: { tokens: 6_000, durationMs: 30_000 } },
    });
    let seen = handle.spending();
    stage.when(
      ({ type, depth }) => type === "turn-start" && depth === 1,
      () =>
        stage.world.clock.ownTimer(2_000, () => {
          seen = handle.spending();
          handle.cancel();
        }),
    );
    await stage.end(handle);
    const brief = seen.limits.map(({ of, unit, limit, spent }) => [of, unit, limit, spent]);
    assert.deepEqual(brief, [
      ["tree", "durationMs", 60_000, 2_000],
      ["tree", "tokens", 20_000, 110],
      ["tree", "executions", 9, 1],
      ["children", "tokens", 6_000, 0],
      ["children", "durationMs", 30_000, 2_000],
    ]);
    const [lead, a] = seen.runs;
    assert.deepEqual([lead?.path, lead?.inCall.tokens, a?.path, a?.kept.tokens], ["lead", 0, "lead/a", 0]);
    assert.ok((lead?.kept.tokens ?? 0) > 110, "the lead keeps its last words");
    const tokens = seen.limits.find(({ of, unit }) => of === "children" && unit === "tokens");
    assert.equal(tokens?.reserved, a?.inCall.tokens);
    assert.equal(seen.runs.length, 2, "one that waits to start holds nothing");
  });
});
