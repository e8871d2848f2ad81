/** I3: the first failure stops the others, at that moment. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { after, calls, fails, hangs, says } from "../../../src/testing/steps.ts";
import {
  inParallel,
  inShort,
  parallelOutput,
  readBy,
  recordingTool,
  runTree,
  statuses,
  untilStopped,
} from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

suite("I3: fail_fast", () => {
  test("I3: fail_fast stops the others when the first fails, waits for them, and starts no more", async () => {
    const stopped: string[] = [];
    const work = simpleTool("work", (input, context) => untilStopped(() => stopped.push(context.path))(input, context));
    const { stage, result } = await runTree({
      script: {
        lead: [
          inParallel(
            [{ label: "talks" }, { label: "works" }, { label: "fails" }, { label: "queued" }, { label: "later" }],
            {
              max_concurrent: 4,
              fail_fast: true,
            },
          ),
          says("Seen."),
        ],
        "lead/talks": [[says("Half."), hangs()]],
        "lead/works": [calls("work")],
        "lead/fails": [[after(1000), fails("invalid_request", { message: "no" })]],
      },
      lead: { tools: [work] },
      runtime: { limits: { maxConcurrent: 3 } },
    });
    const output = parallelOutput(stage);
    assert.deepEqual(inShort(output), [
      ["talks", false, "cancelled"],
      ["works", false, "cancelled"],
      ["fails", false, "failed"],
      ["queued", false, "cancelled"],
      ["later", false, "cancelled"],
    ]);
    assert.deepEqual(
      output.results.map(({ error, output: text }) => [error, text]),
      [
        ["Subagent cancelled (talks)", "Half."],
        ["Subagent cancelled (works)", ""],
        ["Subagent failed: no", ""],
        ["Subagent cancelled before it started", ""],
        ["Not started: another task failed", ""],
      ],
    );
    assert.deepEqual([output.successful, output.failed, output.total_duration_ms], [0, 5, 1000]);
    assert.deepEqual(stopped, ["lead/works"]);
    assert.deepEqual(Object.keys(statuses(result)), ["lead", "lead/talks", "lead/works", "lead/fails"]);
  });

  test("I3: fail_fast waits until the others have stopped, also when one takes its time", async () => {
    const ended: string[] = [];
    const { stage } = await runTree({
      script: {
        lead: [inParallel([{ label: "deaf" }, { label: "fails" }], { fail_fast: true }), says("Seen.")],
        "lead/deaf": [calls("deaf")],
        "lead/fails": [[after(1000), fails("invalid_request")]],
      },
      lead: { tools: [simpleTool("deaf", () => new Promise(() => {}))] },
      run: {
        onEvent: (event) =>
          void (event.type === "run-end" || event.type === "tool-call-end"
            ? ended.push(`${event.type} ${event.path}`)
            : 0),
      },
    });
    // A tool that ignores its signal is left behind after a second, and the fan-out ends only then.
    assert.equal(parallelOutput(stage).total_duration_ms, 2000);
    assert.deepEqual(ended, [
      "run-end lead/fails",
      "tool-call-end lead/deaf",
      "run-end lead/deaf",
      "tool-call-end lead",
      "run-end lead",
    ]);
  });

  test("I3: fail_fast stops a nested fan-out of a sibling too", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [inParallel([{ label: "nest" }, { label: "fails" }], { fail_fast: true }), says("Seen.")],
        "lead/nest": [inParallel([{ label: "x" }, { label: "y" }, { label: "z" }], { max_concurrent: 2 })],
        "lead/nest/*": [hangs()],
        "lead/fails": [[after(1000), fails("invalid_request")]],
      },
    });
    assert.deepEqual(statuses(result), {
      lead: "completed",
      "lead/nest": "cancelled",
      "lead/fails": "failed",
      "lead/nest/x": "cancelled",
      "lead/nest/y": "cancelled",
    });
    const nested = parallelOutput(stage, "lead/nest");
    assert.deepEqual(inShort(nested), [
      ["x", false, "cancelled"],
      ["y", false, "cancelled"],
      ["z", false, "cancelled"],
    ]);
    assert.deepEqual([nested.successful, nested.failed], [0, 3]);
    assert.equal(parallelOutput(stage).total_duration_ms, 1000);
  });

  test("B6, I3: running out of turns or lacking approval does not trigger fail_fast", async () => {
    const { stage } = await runTree({
      script: {
        lead: [
          inParallel([{ label: "turns", max_turns: 1 }, { label: "consent" }, { label: "slow" }], { fail_fast: true }),
          says("Seen."),
        ],
        "lead/turns": [[says("Half."), calls("look")]],
        "lead/consent": [calls("write"), says("Wrote it.")],
        "lead/slow": [[after(1000), says("Done.")]],
      },
      lead: { tools: [simpleTool("look"), recordingTool("write", { tier: "confirm" })] },
      runtime: { limits: { summary: "never" } },
    });
    assert.deepEqual(inShort(parallelOutput(stage)), [
      ["turns", true, "incomplete"],
      ["consent", true, "incomplete"],
      ["slow", true, "complete"],
    ]);
  });

  test("I3: the others continue without fail_fast", async () => {
    const { stage } = await runTree({
      script: {
        lead: [inParallel([{ label: "slow" }, { label: "fails" }]), says("Seen.")],
        "lead/slow": [[after(1000), says("Done.")]],
        "lead/fails": [fails("invalid_request")],
      },
    });
    assert.deepEqual(inShort(parallelOutput(stage)), [
      ["slow", true, "complete"],
      ["fails", false, "failed"],
    ]);
  });

  test("I3: every task is in the results as cancelled when the parent is cancelled", async () => {
    const { stage } = await runTree({
      script: {
        lead: [inParallel([{ label: "a" }, { label: "b" }, { label: "c" }, { label: "d" }], { max_concurrent: 2 })],
        "lead/*": [hangs()],
      },
      lead: { subagents: [agent({ name: "scout" })] },
      during: ({ handle, at }) => at(1000, () => handle.cancel()),
    });
    const output = parallelOutput(stage);
    assert.deepEqual(
      inShort(output),
      ["a", "b", "c", "d"].map((label) => [label, false, "cancelled"]),
    );
    assert.deepEqual([output.successful, output.failed], [0, 4]);
    assert.equal(readBy(stage, "parallel_subagent").length, 1);
  });
});
