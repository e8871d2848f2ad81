/** `context.progress`: what people who watch see of a call that runs, and what it can never do to the run. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { ToolContext } from "../../../../src/core/tool.ts";
import { after, calls, says } from "../../../../src/testing/steps.ts";
import { openStage, type Stage, type StageOptions, simpleTool } from "../../../support/requirements/support.ts";

/** A run whose only call is of a tool that does this. */
function stageOf(
  execute: (context: ToolContext, stage: Stage) => unknown,
  options?: StageOptions,
): { stage: Stage; run(): Promise<unknown> } {
  const stage: Stage = openStage({ lead: [calls("work", {}), says("Done.")] }, options);
  const work = simpleTool("work", async (_, context) => execute(context, stage));
  return { stage, run: () => stage.run(stage.lead({ tools: [work] })) };
}

function pause(stage: Stage, milliseconds: number): Promise<void> {
  return new Promise((resolve) => void stage.world.clock.timer(milliseconds, resolve));
}

function textsOf(stage: Stage): string[] {
  return stage.eventsOf("tool-progress").map(({ text }) => text);
}

suite("progress of a call", () => {
  test("progress of a call is shown with the call it belongs to, and is not stored", async () => {
    const { stage, run } = stageOf(({ progress }) => progress("Compiling", 3, 10));
    await run();
    const [shown] = stage.eventsOf("tool-progress");
    const { seq, callId, toolName, text, done, total, path } = shown ?? assert.fail("nothing was shown");
    assert.deepEqual(
      { seq, callId, toolName, text, done, total, path },
      { seq: undefined, callId: "call_lead_1", toolName: "work", text: "Compiling", done: 3, total: 10, path: "lead" },
    );
    const [start] = stage.eventsOf("run-start");
    const kept = await stage.store.read(start?.runId ?? "");
    assert.ok(kept.length > 0 && kept.every(({ type }) => String(type) !== "tool-progress"));
  });

  test("progress of a call is shown between the start and the end of its call", async () => {
    const { stage, run } = stageOf(({ progress }) => progress("half"));
    await run();
    const types = stage.events.map(({ type }) => type).filter((type) => type.startsWith("tool-"));
    assert.deepEqual(types, ["tool-call-start", "tool-progress", "tool-call-end"]);
  });

  test("progress of a call is one short line without codes of terminals and without secrets", async () => {
    const secret = "s3cr3t-value-of-a-token";
    const { stage, run } = stageOf(
      async ({ progress }) => {
        progress(`\u001b[31mred\u001b[0m\nsecond\u0007  line ${secret}`);
        await pause(stage, 100);
        progress(`${"x".repeat(190)}${secret}`);
        await pause(stage, 100);
        progress("y".repeat(1_000_000));
      },
      { runtime: { host: { environment: { MY_TOKEN: secret } } } },
    );
    await run();
    const [first = "", second = "", third = ""] = textsOf(stage);
    assert.equal(first, "red second line [redacted: MY_TOKEN]");
    assert.ok(!second.includes("s3cr3t"), second);
    assert.equal(second.length, 200);
    assert.equal(third, `${"y".repeat(199)}…`);
  });

  test("progress of a call has numbers only where they are finite and not negative", async () => {
    const { stage, run } = stageOf(async ({ progress }) => {
      for (const [done, total] of [
        [Number.NaN, 5],
        [-1, Number.POSITIVE_INFINITY],
        [0, 0],
        [undefined, 7],
      ]) {
        progress("x", done, total);
        await pause(stage, 100);
      }
    });
    await run();
    assert.deepEqual(
      stage.eventsOf("tool-progress").map(({ done, total }) => [done, total]),
      [
        [undefined, 5],
        [undefined, undefined],
        [0, 0],
        [undefined, 7],
      ],
    );
  });

  test("progress of a call comes ten times a second at most, and the newest of those left out is shown when the time has passed", async () => {
    const { stage, run } = stageOf(async ({ progress }) => {
      for (let step = 0; step < 1000; step++) progress(`step ${step}`);
      await pause(stage, 1000);
    });
    await run();
    assert.deepEqual(textsOf(stage), ["step 0", "step 999"]);
    const many = stageOf(async ({ progress }) => {
      for (let step = 0; step < 100; step++) {
        progress(`step ${step}`);
        await pause(many.stage, 10);
      }
    });
    await many.run();
    const shown = textsOf(many.stage);
    assert.ok(shown.length >= 9 && shown.length <= 11, `${shown.length} in a second`);
  });

  test("progress of a call is never an error, whatever the tool passes", async () => {
    const hostile = { toString: () => assert.fail("it was looked at") };
    const { stage, run } = stageOf(async ({ progress }) => {
      const say = progress as (...said: unknown[]) => void;
      for (const said of [undefined, null, 7, hostile, Symbol("s"), [], "\ud800", ""]) {
        say(said, said, said);
        await pause(stage, 100);
      }
      return "fine";
    });
    await run();
    assert.deepEqual(
      stage.eventsOf("tool-progress").map(({ text, done, total }) => [text, done, total]),
      [
        ["", 7, 7],
        ["\ufffd", undefined, undefined],
      ],
    );
    assert.equal(stage.resultsOf("lead")[0]?.output, "fine");
  });

  test("progress of a call is not shown after the call has ended, neither said late nor held back", async () => {
    let late: ToolContext["progress"] | undefined;
    // The run lasts longer than the pause in which the second is held back.
    const stage: Stage = openStage({ lead: [calls("work", {}), [after(10_000), says("Done.")]] });
    const work = simpleTool("work", (_, { progress }) => {
      late = progress;
      progress("first");
      progress("held back");
    });
    stage.when(
      ({ type }) => type === "tool-call-end",
      () => late?.("too late"),
    );
    await stage.run(stage.lead({ tools: [work] }));
    assert.deepEqual(textsOf(stage), ["first"]);
  });

  test("progress of two calls side by side is recorded with its own call", async () => {
    const stage: Stage = openStage({ lead: [[calls("work", { n: 1 }), calls("work", { n: 2 })], says("Done.")] });
    const work = simpleTool("work", (input, { progress }) => progress(JSON.stringify(input)));
    await stage.run(stage.lead({ tools: [work] }));
    assert.deepEqual(
      stage.eventsOf("tool-progress").map(({ callId, text }) => [callId, text]),
      [
        ["call_lead_1", '{"n":1}'],
        ["call_lead_2", '{"n":2}'],
      ],
    );
  });

  test("progress of a call does not reach the model", async () => {
    const { stage, run } = stageOf(({ progress }) => progress("only for people"));
    await run();
    assert.ok(!JSON.stringify(stage.requestsOf("lead")).includes("only for people"));
  });

  test("progress of a call does nothing without a listener: its text is not even cleaned", async () => {
    const stage = openStage({ lead: [calls("work", {}), says("Done.")] });
    const timersBefore: number[] = [];
    const work = simpleTool("work", (_, { progress }) => {
      const { timer } = stage.world.clock;
      let timers = 0;
      Object.assign(stage.world.clock, {
        timer: (...given: Parameters<typeof timer>) => {
          timers += 1;
          return timer(...given);
        },
      });
      progress("nobody sees this");
      Object.assign(stage.world.clock, { timer });
      timersBefore.push(timers);
    });
    const handle = stage.runtime.run(stage.lead({ tools: [work] }), "Go.");
    await stage.world.run(() => handle.result);
    assert.deepEqual(timersBefore, [0], "the pause between two was not begun");
  });
});

test("the trace of a call is that of its run, for what it asks of other programs", async () => {
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const seen: unknown[] = [];
  const { run } = stageOf(({ trace }) => void seen.push(trace?.traceparent), {
    runtime: { host: { environment: { TRACEPARENT: `00-${traceId}-b7ad6b7169203331-01` } } },
  });
  await run();
  assert.equal(String(seen[0]).split("-")[1], traceId);
  const without: unknown[] = [];
  const other = stageOf(({ trace }) => void without.push(trace), { runtime: { host: { environment: {} } } });
  await other.run();
  assert.deepEqual(without, [undefined]);
});
