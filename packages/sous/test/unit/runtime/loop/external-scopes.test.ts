/** A conversation with an external agent: what was lent for one step of it is taken back at the end of that step. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { BudgetExceeded } from "../../../../src/core/errors.ts";
import type { ExternalAgent, ExternalHost } from "../../../../src/core/external-agent.ts";
import type { Lease } from "../../../../src/core/limits.ts";
import { Cancelled } from "../../../../src/core/scope.ts";
import { tool } from "../../../../src/core/tool.ts";
import { RunHost } from "../../../../src/runtime/loop/external-host.ts";
import { runExternal } from "../../../../src/runtime/loop/run-external.ts";
import { countedLease, type LoneRun, loneRun } from "../../../support/runtime/lone-run.ts";
import { ticks } from "../events/journal-fixtures.ts";

/** Works through one conversation: each prompt does the next of these. `signals` gets that of its opening and those of its prompts. */
function converse(
  { run }: LoneRun,
  prompts: readonly ((host: ExternalHost) => void)[],
  signals: AbortSignal[] = [],
  close = async () => {},
): ReturnType<typeof runExternal> {
  const rest = [...prompts];
  const agent: ExternalAgent = {
    serverName: "toy",
    maxCostUsd: undefined,
    timeoutMs: undefined,
    async open({ signal }, host) {
      signals.push(signal);
      return {
        id: "s1",
        async prompt(_text, signal) {
          signals.push(signal);
          (rest.shift() ?? assert.fail("one prompt too many"))(host);
          host.onText("Fixed.");
          return { stop: "done", usage: undefined, costUsd: undefined };
        },
        close,
      };
    },
  };
  return runExternal(run, { agent, share: undefined, sessionId: undefined, earlier: undefined, onSession: () => {} });
}

test("a stop during a prompt is not heard by the start of the session and by earlier prompts, which are over", async () => {
  const lone = loneRun();
  const signals: AbortSignal[] = [];
  const { run } = lone;
  const prompts = [() => run.receive({ kind: "steer", text: "And the tests?" }), () => run.stopWork()];
  await assert.rejects(converse(lone, prompts, signals), Cancelled);
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [false, false, true],
  );
});

test("a run is over when its session is closed, or does not close for a quarter of a minute", async () => {
  for (const isLate of [false, true]) {
    const lone = loneRun();
    const closed = Promise.withResolvers<void>();
    let isOver = false;
    const ending = converse(lone, [() => {}], [], () => closed.promise).then(({ status }) => {
      isOver = true;
      return status;
    });
    for (let turn = 0; turn < 50 && lone.clock.liveTimers === 0; turn++) await nextTurn();
    await nextTurn();
    assert.equal(isOver, false);
    if (isLate) lone.clock.fireNext(() => 0);
    else closed.resolve();
    assert.equal(await ending, "completed");
    assert.deepEqual([lone.clock.monotonic(), lone.clock.liveTimers], [isLate ? 15_000 : 0, 0]);
  }
});

test("after its last prompt a run hears of messages as it did before", async () => {
  const lone = loneRun();
  const before = () => {};
  lone.run.onIncoming = before;
  const ending = await converse(lone, [
    () => assert.notEqual(lone.run.onIncoming, before, "a prompt listens for the wish to wrap up"),
  ]);
  assert.deepEqual([ending.status, lone.run.onIncoming], ["completed", before]);
});

test("a bill that cannot be covered and is known only after the answer sets no timer", async () => {
  const late = Promise.withResolvers<Lease>();
  const leases = [countedLease().lease, late.promise];
  const lone = loneRun({ holding: { reserve: () => leases.shift() ?? assert.fail("a third reservation") } });
  const ending = await converse(lone, [(host) => host.onUsage({ tokens: 1_000_000, costUsd: undefined })]);
  late.reject(new BudgetExceeded("tokens", 1_000_000, 5_000));
  await ticks();
  assert.deepEqual([ending.status, lone.clock.liveTimers], ["completed", 0]);
});

test("a tool that an external agent has called cannot show progress after its call", async () => {
  const shown: unknown[] = [];
  let late: (text: string) => void = () => {};
  const slow = tool({
    name: "slow",
    description: "Is slow.",
    inputSchema: { type: "object" },
    execute(_input, { progress }) {
      late = progress;
      progress("half");
      return "done";
    },
  });
  const schema = { parse: (value: unknown) => ({ ok: true, value }) };
  const byName = new Map([["slow", { tool: slow, schema }]]);
  const { run, clock } = loneRun({
    tree: { isWatched: true, show: (_run, piece) => void shown.push("text" in piece ? piece.text : piece) },
    profile: { tools: { byName, isDeepest: false }, rights: { use: new Set(["slow"]) } } as object,
  });
  const host = new RunHost(run, { onUsage: () => {}, onTooMuch: () => {} });
  const { output } = await host.callTool({ callId: "1", toolName: "slow", input: {} });
  late("held back");
  clock.fireNext(() => 0);
  late("too late");
  assert.deepEqual([output, shown], ["done", ["half"]]);
});
