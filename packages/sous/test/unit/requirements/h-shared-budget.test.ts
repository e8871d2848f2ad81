/** H1 across trees and processes: what all of them may spend together, whoever of them asks. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { StoreError, UserError } from "../../../src/core/errors.ts";
import type { BudgetRows, OpenedBudget, SharedBudget } from "../../../src/core/shared-budget.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { after, calls, hangs, says, uses } from "../../../src/testing/steps.ts";
import { readBy, runTree, statuses } from "../../support/requirements/run-tree.ts";
import { openStage } from "../../support/requirements/support.ts";
import { opened } from "../../support/storage/store/shared-budget/opened.ts";

const USED = uses({ input: 300, output: 100 });

suite("H1: a shared budget", () => {
  test("H1: a shared budget is what several trees may spend together, one after another and at once", async () => {
    const store = openMemoryStore();
    const team = await store.sharedBudget("team", { tokens: 20_000 });
    const stage = openStage({ lead: [[after(100), USED, says("Done.")]] }, { runtime: { store } });
    const lead = stage.lead({ maxOutputTokens: 8_000, delegate: false });
    const first = await stage.run(lead, "One.", { budget: { from: team } });
    assert.deepEqual([first.status, await team.spent()], ["completed", { tokens: 400, costUsd: 0, executions: 0 }]);
    const both = [
      stage.start(lead, "Two.", { budget: { from: team } }),
      stage.start(lead, "Three.", { budget: { from: team } }),
    ];
    const results = await stage.world.run(() => Promise.all(both));
    assert.deepEqual(
      results.map(({ status }) => status),
      ["completed", "completed"],
    );
    assert.deepEqual(await team.left(), { tokens: 20_000 - 1200 });
  });

  test("H1: a shared budget holds besides the budget of the tree, and the tighter of the two ends it", async () => {
    const store = openMemoryStore();
    const team = await store.sharedBudget("team", { tokens: 3_000 });
    const ended = async (tokens: number, promptTokens: number) => {
      const { result, stage } = await runTree({
        script: {
          lead: [[uses({ input: promptTokens, output: 100 }), calls("look", {})], says("Last words.")],
        },
        lead: { delegate: false, tools: [], subagents: [] },
        runtime: { store },
        run: { budget: { tokens, from: team } },
      });
      return [result.status, result.error?.message, stage.eventsOf("budget-warning").length];
    };
    const [status, message, warnings] = await ended(1_500, 1_000);
    assert.deepEqual([status, warnings], ["budget_exceeded", 1]);
    assert.match(String(message), /^Token limit exceeded: \d+\/1500 \(spent /);
    const left = (await team.left()).tokens ?? 0;
    assert.ok(left > 0 && left < 2_000, String(left));
    const [next, reason] = await ended(100_000, 1_000);
    assert.equal(next, "budget_exceeded");
    assert.match(String(reason), /^Token limit exceeded: \d+\/3000 \(spent /);
  });

  test("H1: a shared budget that is spent refuses a root at its first question, as an ending like any other", async () => {
    const store = openMemoryStore();
    const team = await store.sharedBudget("team", { tokens: 10 });
    const { result, stage } = await runTree({
      script: { lead: [says("Never said.")] },
      runtime: { store },
      run: { budget: { from: team } },
    });
    assert.equal(result.status, "budget_exceeded");
    assert.match(result.error?.message ?? "", /^Token limit exceeded: \d+\/10 \(spent /);
    assert.deepEqual([stage.model.requests.length, await team.left()], [0, { tokens: 10 }]);
  });

  test("H1: a tree waits for another that holds what it needs, and continues when it is released", async () => {
    const store = openMemoryStore();
    const team = await store.sharedBudget("team", { tokens: 5_500 });
    const stage = openStage(
      { slow: [[after(60_000), USED, says("Slow.")]], quick: [[USED, says("Quick.")]] },
      { runtime: { store } },
    );
    const options = { budget: { from: team } };
    const slow = stage.start(stage.lead({ name: "slow", delegate: false }), "Take long.", options);
    const quick = stage.start(
      stage.lead({ name: "quick", delegate: false, maxOutputTokens: 4_000 }),
      "Be quick.",
      options,
    );
    const [one, other] = await stage.world.run(() => Promise.all([slow, quick]));
    assert.deepEqual([one.status, other.status], ["completed", "completed"]);
    assert.ok(other.durationMs >= 60_000, String(other.durationMs));
    assert.deepEqual([await team.left(), stage.world.clock.liveTimers], [{ tokens: 5_500 - 800 }, 0]);
  });

  test("H1: a tree that is stopped while it waits leaves the line", async () => {
    const store = openMemoryStore();
    const team = await store.sharedBudget("team", { tokens: 5_500 });
    const stage = openStage({ slow: [[after(60_000), USED, says("Slow.")]], quick: [] }, { runtime: { store } });
    const options = { budget: { from: team } };
    const slow = stage.start(stage.lead({ name: "slow", delegate: false }), "Take long.", options);
    const lead = stage.lead({ name: "quick", delegate: false, maxOutputTokens: 4_000 });
    const quick = stage.start(lead, "Be quick.", options);
    stage.world.clock.ownTimer(1_000, () => void quick.cancel());
    const [, other] = await stage.world.run(() => Promise.all([slow, quick]));
    assert.deepEqual([other.status, other.durationMs], ["cancelled", 1_000]);
    assert.deepEqual([await team.left(), stage.world.clock.liveTimers], [{ tokens: 5_100 }, 0]);
  });

  test("H1: executions are counted over all trees, and one that never started comes back", async () => {
    const store = openMemoryStore();
    const team = await store.sharedBudget("team", { executions: 2 });
    const child = (label: string) => calls("subagent", { label, task_prompt: `Do ${label}.` });
    const trial = await runTree({
      script: {
        lead: [[child("a"), child("b")], child("c"), child("d"), says("Seen.")],
        "lead/a": [[after(2_000), says("Done.")]],
        "lead/c": [says("Done.")],
      },
      runtime: { store, limits: { maxConcurrent: 1 } },
      run: { budget: { from: team } },
      during: ({ handle, at }) => at(1_000, () => handle.cancel("lead/b")),
    });
    assert.deepEqual(Object.keys(statuses(trial.result)), ["lead", "lead/a", "lead/c"]);
    assert.equal(readBy(trial.stage, "subagent")[3], "Execution limit reached: 2/2");
    const next = await runTree({
      script: { lead: [child("e"), says("Seen.")] },
      runtime: { store },
      run: { budget: { from: team } },
    });
    assert.deepEqual(readBy(next.stage, "subagent"), ["Execution limit reached: 2/2"]);
    assert.deepEqual(await team.left(), { executions: 0 });
  });

  test("H1: a child's last words are kept for it, whatever other trees take", async () => {
    const store = openMemoryStore();
    const team = await store.sharedBudget("team", { tokens: 12_000 });
    const { stage, result } = await runTree({
      script: {
        lead: [calls("subagent", { label: "a", task_prompt: "Do a." }), says("Seen.")],
        "lead/a": [calls("look", {}), says("What I have so far.")],
      },
      lead: { tools: [] },
      runtime: { store },
      run: { budget: { from: team } },
      during: ({ stage }) =>
        stage.when(
          ({ type, path }) => type === "tool-call-start" && path === "lead/a",
          () => leaveNothing(opened(team).rows),
        ),
    });
    assert.deepEqual(statuses(result), { lead: "budget_exceeded", "lead/a": "budget_exceeded" });
    assert.match(readBy(stage, "subagent")[0] ?? "", /What I have so far\./);
  });

  test("H1: a fan-out from code draws on it too", async () => {
    const store = openMemoryStore();
    const team = await store.sharedBudget("team", { tokens: 100_000, executions: 2 });
    const model = scriptedModel({ "fan-out/*": [[USED, says("Done.")]] });
    const runtime = createRuntime({ store });
    const results = await runtime.fanOut(agent({ name: "scout", model }), ["a", "b", "c"], { budget: { from: team } });
    assert.deepEqual(
      results.map(({ status, error }) => [status, error?.message]),
      [
        ["completed", undefined],
        ["completed", undefined],
        ["budget_exceeded", "Execution limit reached: 2/2"],
      ],
    );
    assert.deepEqual(await team.spent(), { tokens: 800, costUsd: 0, executions: 2 });
  });

  for (const onExhausted of ["wrap-up", "stop"] as const) {
    test(`H1: two fan-outs of two processes complete everything that can be paid, in turn (${onExhausted})`, async () => {
      const store = openMemoryStore();
      // Enough for all: 40 calls of 400 tokens, one full reservation, and what is kept for last words of those at work.
      const limit = 40 * 400 + 6_000 + 10 * 2_000;
      const stage = openStage({ "fan-out/*": [[after(500), USED, says("Done.")]] }, { runtime: { store } });
      const scout = stage.lead({ name: "scout", delegate: false });
      const inputs = Array.from({ length: 20 }, (_, index) => `Look at ${index}.`);
      await store.sharedBudget("team", { tokens: limit });
      const ended = await stage.world.run(() =>
        Promise.all(
          [1, 2].map(async () => {
            const from = await store.sharedBudget("team");
            return stage.runtime.fanOut(scout, inputs, { budget: { from }, onExhausted });
          }),
        ),
      );
      assert.deepEqual(new Set(ended.flat().map(({ status }) => status)), new Set(["completed"]));
      const team = await store.sharedBudget("team");
      assert.deepEqual([await team.left(), stage.world.clock.liveTimers], [{ tokens: limit - 16_000 }, 0]);
    });
  }

  test("H1: money is shared like tokens", async () => {
    const store = openMemoryStore();
    const team = await store.sharedBudget("team", { costUsd: 0.05 });
    const { result } = await runTree({
      script: { lead: [[USED, says("Done.")]] },
      model: { price: { input: 1, output: 10 } },
      runtime: { store },
      run: { budget: { from: team } },
    });
    assert.equal(result.costUsd, 0.0013);
    assert.deepEqual(await team.left(), { costUsd: 0.0487 });
  });
});

suite("a shared budget that cannot be reached", () => {
  for (const requireStore of [false, true]) {
    test(`a shared budget that cannot be reached spends nothing, and the run says why (requireStore ${requireStore})`, async () => {
      const store = openMemoryStore();
      const team = unreachable(await store.sharedBudget("team", { tokens: 100_000 }));
      const { result, stage } = await runTree({
        script: { lead: [says("Never said.")] },
        runtime: { store, requireStore },
        run: { budget: { from: team } },
      });
      assert.deepEqual([result.status, result.error], ["failed", { type: "store", message: "the disk is gone" }]);
      assert.equal(stage.model.requests.length, 0);
    });
  }

  test("a shared budget that fails in the middle of a tree ends it with what it has said", async () => {
    const store = openMemoryStore();
    const real = await store.sharedBudget("team", { tokens: 100_000 });
    const faults = { isGone: false };
    const { result, stage } = await runTree({
      script: { lead: [[says("I look."), calls("look", {})], says("Never said.")] },
      lead: { delegate: false },
      runtime: { store },
      run: { budget: { from: unreachable(real, faults) } },
      during: ({ stage }) =>
        stage.when(
          ({ type }) => type === "tool-call-end",
          () => (faults.isGone = true),
        ),
    });
    assert.deepEqual([result.status, result.error?.type, result.text], ["failed", "store", "I look."]);
    assert.equal(stage.model.requests.length, 1);
  });

  test("a shared budget that fails before a child is paid for ends its parent too, which waits for no unregistered child", async () => {
    const store = openMemoryStore();
    const real = await store.sharedBudget("team", { executions: 5 });
    const faults = { isGone: false };
    const script = { lead: [calls("subagent", { label: "x", task_prompt: "Look." }), says("Never said.")] };
    const stage = openStage(script, { runtime: { store } });
    const handle = stage.start(stage.lead(), "Go.", { budget: { from: unreachable(real, faults) } });
    stage.when(
      ({ type }) => type === "message-end",
      () => (faults.isGone = true),
    );
    await assert.rejects(
      stage.world.run(() => handle),
      { name: "RunError", message: /the disk is gone/ },
    );
    assert.deepEqual([stage.model.requests.length, stage.world.clock.liveTimers], [1, 0]);
  });
});

suite("H1: the record of a shared budget", () => {
  test("H1: the name of a shared budget is kept in plain JSON, and a tree that drew on one continues only with one", async () => {
    const store = openMemoryStore();
    const team = await store.sharedBudget("team", { tokens: 100_000 });
    const stage = openStage({ lead: [[says("Half."), hangs()]] }, { runtime: { store } });
    const lead = stage.lead({ delegate: false });
    const handle = stage.start(lead, "Go.", { budget: { tokens: 50_000, from: team } });
    stage.world.clock.ownTimer(10, () => void handle.cancel());
    const { runId } = await stage.end(handle);
    const [start] = stage.eventsOf("run-start");
    assert.deepEqual(start?.budget, { tokens: 50_000 });
    assert.equal(start?.terms?.sharedBudget, "team");
    assert.deepEqual(JSON.parse(JSON.stringify(start)).terms.sharedBudget, "team");
    const again = createRuntime({ store, host: stage.world.host });
    const forgotten = new UserError(
      `Run ${runId} drew on the shared budget "team": open it with sharedBudget() of its store and pass it as sharedBudget, to fork() as budget.from`,
    );
    await assert.rejects(Promise.resolve(again.resume(runId, { agent: lead })), forgotten);
    await assert.rejects(Promise.resolve(again.fork(runId, { agent: lead })), forgotten);
    const before = await team.spent();
    const model = scriptedModel({ lead: [[USED, says("The rest.")]] }, { clock: stage.world.clock });
    const resumed = again.resume(runId, { agent: lead.with({ model }), sharedBudget: team });
    const result = await stage.world.run(() => Promise.resolve(resumed));
    assert.equal(result.status, "completed");
    // What had been spent before was counted then.
    assert.equal((await team.spent()).tokens, (before.tokens ?? 0) + 400);
  });

  test("H1: a shared budget can be given only to run(), and only one that was opened", async () => {
    const store = openMemoryStore();
    const promised = store.sharedBudget("team", { tokens: 1 });
    const model = scriptedModel({});
    const lead = agent({ name: "lead", model });
    const given = { budget: { from: promised as never } };
    assert.throws(
      () => createRuntime({ store }).run(lead, "Go.", given),
      new UserError(
        "budget.from must be a shared budget: await what sharedBudget() of a store returns; found a promise, which must be awaited first",
      ),
    );
    const team = await promised;
    assert.throws(
      () => agent({ name: "lead", model, budget: { from: team } as object }),
      new UserError("agent lead: a shared budget is given to run(), not to a definition"),
    );
  });
});

/** Lowers the limit to what is spent and held, as if others had spent the rest. */
function leaveNothing(rows: BudgetRows): void {
  const found = rows.look("team");
  assert.ok(!(found instanceof Promise));
  const { spent = 0, inFlight = 0, kept = 0 } = found.find(({ unit }) => unit === "tokens") ?? {};
  const limits = { tokens: spent + inFlight + kept, nanoUsd: undefined, executions: undefined };
  void rows.make({ name: "team", limits, spent: { tokens: 0, nanoUsd: 0, executions: 0 }, replaces: true });
}

/** The same budget behind a store that has failed for good. */
function unreachable(shared: SharedBudget, faults = { isGone: true }): OpenedBudget {
  const real = opened(shared);
  const rows: BudgetRows = {
    step(step) {
      if (faults.isGone) throw new StoreError("the disk is gone");
      return real.rows.step(step);
    },
    look: (name) => real.rows.look(name),
    make: (budget) => real.rows.make(budget),
    listen: real.rows.listen,
  };
  return { ...real, rows };
}

test("H1: a shared budget cannot be called as a run is, whose budgets are deleted with it", async () => {
  const store = openMemoryStore();
  for (const name of ["01KDVDNA00V5MCTPSSC9DF0SXC", "01KDVDNA00V5MCTPSSC9DF0SXC/lead"])
    await assert.rejects(store.sharedBudget(name, { tokens: 10 }), {
      name: "UserError",
      message: `A shared budget cannot be called as a run is: ${JSON.stringify(name)} begins with the id of one`,
    });
});
