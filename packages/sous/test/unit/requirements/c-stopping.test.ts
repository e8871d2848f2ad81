/** C9: stopping a run stops what is below it at once, and the work itself, not just the waiting for it. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { after, calls, fails, hangs, says, streams } from "../../../src/testing/steps.ts";
import {
  parallelOutput,
  readBy,
  runTree,
  startsOf,
  statuses,
  type TreePlan,
  untilStopped,
} from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

/** A tool that works until it is stopped, and remembers when that was. */
function workingTool(): { work: Tool; stoppedAt: number[]; watch: NonNullable<TreePlan["during"]> } {
  const stoppedAt: number[] = [];
  let now = (): number => Number.NaN;
  return {
    work: simpleTool("work", (input, context) => untilStopped(() => stoppedAt.push(now()))(input, context)),
    stoppedAt,
    watch: ({ stage }) => {
      now = stage.world.clock.monotonic;
    },
  };
}

const NESTED = {
  lead: [calls("subagent", { label: "a", task_prompt: "One." }), says("Unreached.")],
  "lead/a": [
    [calls("subagent", { label: "b", task_prompt: "Two." }), calls("subagent", { label: "c", task_prompt: "Three." })],
  ],
  "lead/a/b": [[streams("Ha", "lf."), hangs()]],
  "lead/a/c": [calls("work")],
};

suite("C9: cancel", () => {
  test("C9: cancelling the root stops everything below it at the same moment, models and tools", async () => {
    const { work, stoppedAt, watch } = workingTool();
    const { stage, result } = await runTree({
      script: NESTED,
      lead: { tools: [work] },
      during(scene) {
        watch(scene);
        scene.at(2500, () => scene.handle.cancel());
      },
    });
    assert.deepEqual(stoppedAt, [2500]);
    assert.deepEqual(statuses(result), {
      lead: "cancelled",
      "lead/a": "cancelled",
      "lead/a/b": "cancelled",
      "lead/a/c": "cancelled",
    });
    assert.deepEqual([result.durationMs, result.error?.message], [2500, "The run was cancelled"]);
    assert.equal(stage.eventsOf("run-end", "lead/a/b")[0]?.text, "Half.");
    assert.equal(stage.model.requestCount, 4);
  });

  test("C9: the caller's signal does the same, also when it was aborted before the start", async () => {
    const { work, stoppedAt, watch } = workingTool();
    const stop = new AbortController();
    const { result } = await runTree({
      script: NESTED,
      lead: { tools: [work] },
      run: { signal: stop.signal },
      during(scene) {
        watch(scene);
        scene.at(2500, () => stop.abort());
      },
    });
    assert.deepEqual([stoppedAt, result.status], [[2500], "cancelled"]);

    const early = await runTree({ script: NESTED, run: { signal: AbortSignal.abort() } });
    assert.equal(early.result.status, "cancelled");
    assert.equal(early.stage.model.requestCount, 0);
  });

  test("C9: cancelling one child leaves its siblings and its parent alone; a second cancel changes nothing", async () => {
    const seen: unknown[] = [];
    const { result, stage } = await runTree({
      script: {
        lead: [
          [
            calls("subagent", { label: "a", task_prompt: "One." }),
            calls("subagent", { label: "a", task_prompt: "Two." }),
          ],
          says("Seen."),
        ],
        "lead/a": [hangs()],
        "lead/a#2": [[after(3000), says("Done.")]],
      },
      during({ handle, at }) {
        at(1000, () => seen.push(handle.cancel("lead/a"), handle.cancel("lead/a")));
        at(2000, () => seen.push(handle.cancel("lead/a"), handle.cancel("lead/nobody")));
      },
    });
    assert.deepEqual(seen, [true, true, false, false]);
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a": "cancelled", "lead/a#2": "completed" });
    assert.equal(stage.eventsOf("run-end").length, 3);
  });

  test("C9: a child that waits for a slot can be cancelled, and never starts", async () => {
    const { result, stage } = await runTree({
      script: {
        lead: [
          [
            calls("subagent", { label: "a", task_prompt: "One." }),
            calls("subagent", { label: "b", task_prompt: "Two." }),
          ],
          says("Seen."),
        ],
        "lead/a": [[after(3000), says("Done.")]],
      },
      runtime: { limits: { maxConcurrent: 1 } },
      during: ({ handle, at }) => at(1000, () => assert.equal(handle.cancel("lead/b"), true)),
    });
    assert.deepEqual(startsOf(stage), ["lead", "lead/a"]);
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a": "completed" });
    assert.deepEqual(
      stage.resultsOf("lead").map(({ isError }) => isError),
      [false, true],
    );
    assert.match(stage.resultsOf("lead")[1]?.output ?? "", /^Subagent cancelled before it started/);
    assert.equal(stage.eventsOf("tool-call-end", "lead")[0]?.durationMs, 1000);
  });

  test("C9: a background child can be cancelled by its parent, which does not wait for its turn", async () => {
    const { stage } = await runTree({
      script: {
        lead: [
          calls("subagent", { label: "a", task_prompt: "One.", background: true }),
          calls("subagent", { label: "b", task_prompt: "Two.", background: true }),
          ({ messages }) => {
            const text = JSON.stringify(messages.at(-1));
            return calls("subagent_cancel", { subagent_id: /subagent_id: (\w+)/.exec(text)?.[1] });
          },
          says("Seen."),
          says("All seen."),
        ],
        "lead/a": [[after(3000), says("Done.")]],
      },
      runtime: { limits: { maxConcurrent: 1 } },
    });
    assert.deepEqual(startsOf(stage), ["lead", "lead/a"]);
    const [cancel] = stage.eventsOf("tool-call-end", "lead").filter(({ toolName }) => toolName === "subagent_cancel");
    assert.deepEqual([cancel?.output, cancel?.durationMs], ["b: cancelled", 0]);
  });

  test("C9: a signal that code gives a child stops that child only, also in the background", async () => {
    const stop = new AbortController();
    const spawning = simpleTool("spawning", async (_input, { spawn }) => {
      const spawnOne = (label: string, signal?: AbortSignal) =>
        spawn({ label, task: `Do ${label}.`, options: { background: true, signal } });
      return (await Promise.all([spawnOne("a", stop.signal), spawnOne("b")])).map(({ kind }) => kind);
    });
    const { result } = await runTree({
      script: {
        lead: [calls("spawning"), says("Wait."), says("One."), says("Two.")],
        "lead/*": [[after(3000), says("Done.")]],
      },
      lead: { tools: [spawning] },
      during: ({ at }) => at(1000, () => stop.abort()),
    });
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a": "cancelled", "lead/b": "completed" });
  });

  test("C9: a signal that code gives a child is heard until the child has ended, and then has no listener", async () => {
    const { signal } = new AbortController();
    const listeners: number[] = [];
    const listen = () => void listeners.push(getEventListeners(signal, "abort").length);
    const spawning = simpleTool("spawning", async (_input, { spawn }) => {
      const spawnOne = (label: string, background: boolean) =>
        spawn({ label, task: `Do ${label}.`, options: { background, signal } });
      await spawnOne("behind", true);
      await spawnOne("ahead", false);
      listen();
      // Refused, so it never listens for long.
      await spawnOne("", false);
      listen();
    });
    await runTree({
      script: {
        lead: [calls("spawning"), says("Wait."), says("Done.")],
        "lead/ahead": [[after(1000), says("Done.")]],
        "lead/behind": [[after(3000), says("Done.")]],
      },
      lead: { tools: [spawning] },
      during: ({ at }) => at(500, listen),
    });
    listen();
    assert.deepEqual(listeners, [2, 1, 1, 0]);
  });

  test("C9: a run that wraps up starts no more children", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [
          calls("parallel_subagent", {
            tasks: ["a", "b", "c"].map((label) => ({ label, task_prompt: `Do ${label}.` })),
            max_concurrent: 1,
          }),
          says("What we have."),
        ],
        "lead/a": [[after(2000), calls("work")], says("My half.")],
      },
      lead: { tools: [simpleTool("work")] },
      during: ({ handle, at }) => at(1000, () => handle.cancel(undefined, { mode: "wrap-up" })),
    });
    assert.deepEqual(statuses(result), { lead: "cancelled", "lead/a": "cancelled" });
    assert.deepEqual(
      parallelOutput(stage).results.map(({ label, error, output }) => [label, error, output]),
      [
        ["a", "Subagent cancelled after wrapping up (a)", "My half."],
        ["b", "Subagent cancelled before it started", ""],
        ["c", "Subagent cancelled before it started", ""],
      ],
    );
  });
});

suite("C9: wrapping up", () => {
  for (const path of [undefined, "lead/a"]) {
    test(`C9: wrapping up lets ${path ?? "a run, and its children,"} say what it has in one turn without tools`, async () => {
      let worked = 0;
      const { result, stage } = await runTree({
        script: {
          lead: [calls("subagent", { label: "a", task_prompt: "One." }), says("What we have.")],
          "lead/a": [
            [after(2000), says("Half."), calls("work")],
            [says("My half."), calls("work")],
          ],
        },
        lead: { tools: [simpleTool("work", () => void worked++)] },
        during: ({ handle, at }) => at(1000, () => assert.equal(handle.cancel(path, { mode: "wrap-up" }), true)),
      });
      const isWhole = path === undefined;
      assert.deepEqual(statuses(result), { lead: isWhole ? "cancelled" : "completed", "lead/a": "cancelled" });
      assert.deepEqual([result.text, stage.eventsOf("run-end", "lead/a")[0]?.text], ["What we have.", "My half."]);
      const last = stage.requestsOf("lead/a").at(-1);
      assert.deepEqual([last?.mayCallTools, last?.messages.at(-1)?.role], [false, "user"]);
      assert.equal(stage.requestsOf("lead").at(-1)?.mayCallTools, !isWhole);
      assert.equal(worked, 1, "what the model asks for in its last turn is not run");
    });
  }
});

suite("C9: last words", () => {
  test("C9: tools and children stop at once, at every depth, and only the run itself says what it has", async () => {
    const { work, stoppedAt, watch } = workingTool();
    const { stage, result } = await runTree({
      script: { ...NESTED, lead: [[calls("work"), ...NESTED.lead.slice(0, 1)].flat(), says("What we have.")] },
      lead: { tools: [work] },
      during(scene) {
        watch(scene);
        scene.at(2500, () => scene.handle.cancel(undefined, { mode: "last-words" }));
      },
    });
    assert.deepEqual(stoppedAt, [2500, 2500]);
    assert.deepEqual(statuses(result), {
      lead: "cancelled",
      "lead/a": "cancelled",
      "lead/a/b": "cancelled",
      "lead/a/c": "cancelled",
    });
    assert.deepEqual([result.text, result.durationMs], ["What we have.", 2500]);
    assert.equal(result.error?.message, "The run was cancelled after wrapping up");
    assert.deepEqual(
      stage.eventsOf("notice").map(({ path, reason }) => [path, reason]),
      [["lead", "wrap-up"]],
    );
    assert.equal(stage.requestsOf("lead").at(-1)?.mayCallTools, false);
  });

  test("C9: calls that the model still asks for are not made, and no person is asked about them", async () => {
    const asked: string[] = [];
    const made: string[] = [];
    const write = simpleTool("write", () => void made.push("write"), { tier: "confirm" });
    const { result } = await runTree({
      script: {
        lead: [[after(2000), calls("write"), calls("subagent", { label: "a", task_prompt: "One." })], says("Half.")],
      },
      lead: { tools: [write] },
      runtime: {
        approve: async ({ toolName }) => {
          asked.push(toolName);
          return { allow: true };
        },
      },
      during: ({ handle, at }) => at(1000, () => handle.cancel(undefined, { mode: "last-words" })),
    });
    assert.deepEqual([asked, made, statuses(result), result.text], [[], [], { lead: "cancelled" }, "Half."]);
  });

  test("C9: a tool that ignores its signal is left behind after its grace, and last words follow", async () => {
    const deaf = simpleTool("deaf", () => new Promise(() => {}));
    const { result } = await runTree({
      script: { lead: [calls("deaf"), says("Half.")] },
      lead: { tools: [deaf] },
      during: ({ handle, at }) => at(1000, () => handle.cancel(undefined, { mode: "last-words" })),
    });
    assert.deepEqual([result.status, result.text, result.durationMs], ["cancelled", "Half.", 2000]);
  });

  test("C9: an answer that is on its way may still be the whole answer", async () => {
    const { result } = await runTree({
      script: { lead: [[after(2000), says("All of it.")]] },
      during: ({ handle, at }) => at(1000, () => handle.cancel(undefined, { mode: "last-words" })),
    });
    assert.deepEqual([result.status, result.text], ["completed", "All of it."]);
  });

  for (const mode of ["last-words", "wrap-up"] as const) {
    test(`C9: a run that was told to end (${mode}) is cancelled, also when the model fails meanwhile`, async () => {
      const { result } = await runTree({
        script: {
          lead: [
            [streams("So far."), calls("look")],
            [after(2000), fails("auth")],
          ],
        },
        lead: { tools: [simpleTool("look", () => "seen")] },
        during: ({ handle, at }) => at(1000, () => handle.cancel(undefined, { mode })),
      });
      assert.deepEqual(
        [result.status, result.text, result.error?.message],
        ["cancelled", "So far.", "The run was cancelled"],
      );
    });
  }

  test("C9: a background child stops too, and a run that waits for it speaks", async () => {
    const { result } = await runTree({
      script: {
        lead: [
          calls("subagent", { label: "a", task_prompt: "One.", background: true }),
          says("I wait."),
          says("Half."),
        ],
        "lead/a": [hangs()],
      },
      during: ({ handle, at }) => at(1000, () => handle.cancel(undefined, { mode: "last-words" })),
    });
    assert.deepEqual([statuses(result), result.text], [{ lead: "cancelled", "lead/a": "cancelled" }, "Half."]);
  });
});

suite("C9: timeout", () => {
  test("C9: a timeout stops the model, the tool and everything below, not just the waiting", async () => {
    const { work, stoppedAt, watch } = workingTool();
    const { stage, result } = await runTree({
      script: {
        lead: [calls("subagent_slow", { task: "One." }), [after(5000), says("Seen.")]],
        "lead/slow": [[calls("work"), calls("subagent", { label: "below", task_prompt: "Two." })]],
        "lead/slow/below": [calls("work")],
      },
      lead: {
        delegate: false,
        subagents: [agent({ name: "slow", timeoutMs: 1500, tools: [work], delegate: true })],
      },
      during: watch,
    });
    assert.deepEqual(stoppedAt, [1500, 1500]);
    assert.deepEqual(statuses(result), { lead: "completed", "lead/slow": "timeout", "lead/slow/below": "cancelled" });
    assert.equal(stage.eventsOf("run-end", "lead/slow")[0]?.durationMs, 1500);
    assert.match(readBy(stage, "subagent_slow")[0] ?? "", /^Subagent timed out after 1500 ms/);
  });

  test("C9: a tool or a model that ignores its signal is left behind", async () => {
    const deaf = simpleTool("deaf", () => new Promise(() => {}));
    const { result } = await runTree({
      script: {
        lead: [calls("subagent_slow", { task: "One." }), says("Seen.")],
        "lead/slow": [calls("deaf")],
      },
      lead: { delegate: false, subagents: [agent({ name: "slow", timeoutMs: 1500, tools: [deaf] })] },
    });
    assert.deepEqual(statuses(result), { lead: "completed", "lead/slow": "timeout" });
    assert.equal(result.durationMs, 2500);
  });

  test("C9: a hook that never returns is left behind", async () => {
    const hooks = { beforeToolCall: () => new Promise<undefined>(() => {}) };
    const { result } = await runTree({
      script: { lead: [calls("subagent_slow", { task: "One." }), says("Seen.")], "lead/slow": [calls("work")] },
      lead: {
        delegate: false,
        subagents: [agent({ name: "slow", timeoutMs: 1500, tools: [simpleTool("work")], hooks })],
      },
    });
    assert.deepEqual(statuses(result), { lead: "completed", "lead/slow": "timeout" });
  });

  test("C9: a timeout during the summary is a timeout that keeps the answer", async () => {
    const { stage } = await runTree({
      script: {
        lead: [
          calls("subagent", { label: "a", task_prompt: "One.", summary_prompt: "Short.", timeout_ms: 1500 }),
          says("Seen."),
        ],
        "lead/a": [says("The answer."), hangs()],
      },
    });
    const [end] = stage.eventsOf("run-end", "lead/a");
    assert.deepEqual([end?.status, end?.text], ["timeout", "The answer."]);
  });

  test("C9: a call may shorten the timeout of a definition and not lengthen it", async () => {
    const { stage } = await runTree({
      script: {
        lead: [
          calls("parallel_subagent", {
            tasks: [500, 9000].map((timeout_ms) => ({
              label: "a",
              task_prompt: `For ${timeout_ms}`,
              agent: "slow",
              timeout_ms,
            })),
          }),
          says("Seen."),
        ],
        "lead/*": [hangs()],
      },
      lead: { subagents: [agent({ name: "slow", timeoutMs: 1500 })] },
    });
    assert.deepEqual(
      parallelOutput(stage).results.map(({ duration_ms, completion_status }) => [duration_ms, completion_status]),
      [
        [500, "timeout"],
        [1500, "timeout"],
      ],
    );
  });
});
