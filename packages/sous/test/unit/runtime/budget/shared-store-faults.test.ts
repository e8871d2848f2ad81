/** A shared budget whose store is slow, fails or loses answers: no step is lost, nothing is overspent, nothing runs in circles. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { StoreError } from "../../../../src/core/errors.ts";
import type { Holding, Lease } from "../../../../src/core/limits.ts";
import { Scope } from "../../../../src/core/scope.ts";
import { openSharedBudget } from "../../../../src/storage/store/shared-budget.ts";
import {
  ask,
  child,
  keep,
  later,
  moment,
  NEVER,
  now,
  openProcesses,
  SharedProcess,
  spent,
  timePasses,
} from "./shared-trees.ts";

const GONE = new StoreError("the disk is gone");

suite("a shared budget in a store that fails", () => {
  test("a shared budget in a store that fails is asked again for a moment, and then nothing may be spent", async () => {
    const { here, clock } = await openProcesses({ tokens: 1000, executions: 5 });
    const tree = here.tree({ tokens: 600, executions: 1 });
    const run = tree.enter("lead");
    here.behaviour.failing = 2;
    using _call = await timePasses(
      clock,
      later(() => run.reserve(ask(100, 50), NEVER)),
    );
    here.behaviour.failing = Number.POSITIVE_INFINITY;
    const other = tree.enter("other");
    for (const attempt of [
      () => other.reserve(ask(100, 50), NEVER),
      () => tree.start(child(100, 50)),
      () => tree.startExecution(),
    ]) {
      await assert.rejects(timePasses(clock, later<unknown>(attempt)), GONE);
    }
    assert.deepEqual(tree.left(), { tokens: 450, executions: 1 });
    // Each of the three, and what they left behind: a few steps of five attempts, not one after another for ever.
    assert.ok(here.steps < 60, String(here.steps));
  });

  test("a shared budget in a store that fails learns what was spent as soon as it can be reached again, and is waited for at the end", async () => {
    const { here, clock } = await openProcesses({ tokens: 1000 });
    const tree = here.tree();
    const [one, two] = [tree.enter("one"), tree.enter("two")];
    const calls = [one, two].map((run) => now(run.reserve(ask(100, 50), NEVER)));
    here.behaviour.failing = Number.POSITIVE_INFINITY;
    calls[0]?.settle(spent(120));
    calls[1]?.[Symbol.dispose]();
    await timePasses(
      clock,
      later(() => tree.flushed()),
    );
    assert.deepEqual(await here.shared.left(), { tokens: 700 });
    here.behaviour.failing = 0;
    assert.deepEqual([tree.flushed(), await here.shared.left()], [undefined, { tokens: 880 }]);
  });

  test("a shared budget in a store that fails is put right by the next heartbeat while runs are live", async () => {
    const { here, clock } = await openProcesses({ tokens: 1000 });
    const run = here.run();
    const call = now(run.reserve(ask(100, 50), NEVER));
    here.behaviour.failing = Number.POSITIVE_INFINITY;
    call.settle(spent(120));
    const { steps } = here;
    await until(clock, 60_000);
    assert.ok(here.steps - steps <= 7 * 5, `${here.steps - steps} steps in a minute`);
    here.behaviour.failing = 0;
    await until(clock, 75_000);
    assert.deepEqual(await here.shared.left(), { tokens: 880 });
    run[Symbol.dispose]();
    assert.equal(clock.liveTimers, 0);
  });

  test("an answer that gets lost is asked for again, and counts once", async () => {
    const { here, clock } = await openProcesses({ tokens: 1000, executions: 5 });
    const tree = here.tree();
    const run = tree.enter("lead");
    here.behaviour.losing = 2;
    await timePasses(
      clock,
      later(() => tree.startExecution()),
    );
    here.behaviour.losing = 2;
    const call = await timePasses(
      clock,
      later(() => run.reserve(ask(100, 50, 50, { lastWords: 200 }), NEVER)),
    );
    assert.deepEqual(await here.shared.left(), { tokens: 650, executions: 4 });
    here.behaviour.losing = 1;
    call.settle(spent(140));
    await timePasses(
      clock,
      later(() => tree.flushed()),
    );
    assert.deepEqual(await here.shared.left(), { tokens: 660, executions: 4 });
  });
});

suite("a shared budget in a store that is slow", () => {
  for (const delayMs of [0, 50]) {
    test(`a shared budget in a store that is slow keeps the same promises (${delayMs} ms)`, async () => {
      const { here, clock } = await openProcesses({ tokens: 1000, executions: 2 });
      here.behaviour.delayMs = delayMs;
      const pass = <T>(work: () => T | Promise<T>) => timePasses(clock, later(work));
      const tree = here.tree({ executions: 2 });
      const other = here.tree();
      await pass(() => tree.startExecution());
      await pass(() => other.startExecution());
      await assert.rejects(
        pass(() => tree.startExecution()),
        /Execution limit reached: 2\/2/,
      );
      assert.deepEqual(tree.left(), { executions: 1 });
      const [lead, rival] = [tree.enter("lead"), other.enter("rival")];
      const call = await pass(() => lead.reserve(ask(500, 100, 100, { lastWords: 200 }), NEVER));
      const scope = new Scope();
      const stopped = later(() => rival.reserve(ask(300, 1), scope));
      await moment();
      scope.abort(new Error("stopped"));
      await assert.rejects(stopped, new Error("stopped"));
      const waiting = later(() => rival.reserve(ask(300, 10), NEVER));
      call.settle(spent(300));
      (await timePasses(clock, waiting)).settle(spent(60));
      const last = await pass(() => lead.reserve(ask(200, 50, 100, { closing: 50 }), NEVER));
      last.settle(spent(210));
      tree.undoExecution();
      for (const run of [lead, rival]) run[Symbol.dispose]();
      await pass(() => tree.flushed());
      assert.deepEqual(await here.shared.left(), { tokens: 430, executions: 1 });
      assert.deepEqual([tree.flushed(), clock.liveTimers], [undefined, 0]);
    });
  }

  test("a grant to a call that was stopped meanwhile goes back", async () => {
    const { here, clock } = await openProcesses({ tokens: 1000 });
    here.behaviour.delayMs = 50;
    const tree = here.tree();
    const lead = tree.enter("lead");
    const scope = new Scope();
    const stopped = later(() => lead.reserve(ask(500, 100), scope));
    await moment();
    scope.abort(new Error("stopped"));
    await assert.rejects(stopped, new Error("stopped"));
    await timePasses(
      clock,
      later(() => tree.flushed()),
    );
    assert.deepEqual(await here.shared.left(), { tokens: 1000 });
    lead[Symbol.dispose]();
    await timePasses(
      clock,
      later(() => tree.flushed()),
    );
    assert.equal(clock.liveTimers, 0);
  });

  test("many calls share a step: 200 calls take far fewer steps than calls, and none is lost", async () => {
    const { here, clock } = await openProcesses({ tokens: 1_000_000 });
    here.behaviour.delayMs = 50;
    const tree = here.tree();
    const runs = Array.from({ length: 50 }, (_, index) => tree.enter(`lead/${index}`));
    await timePasses(clock, Promise.all(runs.map((run) => callTimes(run, 4, clock))));
    for (const run of runs) run[Symbol.dispose]();
    await timePasses(
      clock,
      later(() => tree.flushed()),
    );
    assert.equal((await here.shared.spent()).tokens, 200 * 120);
    assert.ok(here.steps <= 40, `${here.steps} steps`);
    assert.equal(clock.liveTimers, 0);
  });

  test("the end of a tree waits for its own figures, not until another tree has nothing to say", async () => {
    const { here, clock } = await openProcesses({ tokens: 1_000_000 });
    here.behaviour.delayMs = 50;
    const busy = here.run();
    const isOver = { yet: false };
    const working = (async () => {
      while (!isOver.yet) (await busy.reserve(ask(100, 50), NEVER)).settle(spent(120));
    })();
    const tree = here.tree();
    const run = tree.enter("lead");
    (
      await timePasses(
        clock,
        later(() => run.reserve(ask(100, 50), NEVER)),
      )
    ).settle(spent(120));
    run[Symbol.dispose]();
    const startedAt = clock.monotonic();
    await timePasses(
      clock,
      later(() => tree.flushed()),
    );
    assert.ok(clock.monotonic() - startedAt <= 100, String(clock.monotonic() - startedAt));
    isOver.yet = true;
    await timePasses(clock, working);
  });
});

suite("a process that comes back after it was taken for dead", () => {
  test("a process that comes back after it was taken for dead has lost its reserves, asks again for what it needs now, and overspends nothing", async () => {
    const { budgets, clock, here: witness } = await openProcesses({ tokens: 1000 });
    const isDead = { now: false };
    const rows = budgets.rowsFor("late", undefined, clock.now);
    const judge = budgets.rowsFor("judge", (owner) => (owner === "late" && isDead.now ? "late" : "alive"), clock.now);
    const process = new SharedProcess(await openSharedBudget(rows, "team"), clock);
    const tree = process.tree({ tokens: 900 });
    const [lead, other] = [tree.enter("lead"), tree.enter("other")];
    for (const run of [lead, other]) now(run.reserve(ask(10, 250), NEVER)).settle(spent(10), keep(250));
    const open = now(other.reserve(ask(10, 10), NEVER));
    assert.deepEqual([tree.left(), await witness.shared.left()], [{ tokens: 360 }, { tokens: 460 }]);
    isDead.now = true;
    judge.look("team");
    isDead.now = false;
    assert.deepEqual([await witness.shared.left(), (await witness.shared.spent()).tokens], [{ tokens: 960 }, 40]);
    const call = now(lead.reserve(ask(300, 50, 50, { lastWords: 260 }), NEVER));
    // All that is kept now is what the call asked for; the call in flight is in flight again, and counts once.
    assert.deepEqual(
      [tree.left(), await witness.shared.left()],
      [{ tokens: 900 - 20 - 20 - 350 - 260 }, { tokens: 1000 - 20 - 20 - 350 - 260 }],
    );
    call.settle(spent(320));
    open.settle(spent(15));
    for (const run of [lead, other]) run[Symbol.dispose]();
    assert.deepEqual([await witness.shared.left(), clock.liveTimers], [{ tokens: 645 }, 0]);
  });
});

suite("limits that are replaced meanwhile", () => {
  test("limits that are replaced serve those who wait when they are raised, and refuse them when they are lowered", async () => {
    const { here, clock } = await openProcesses({ tokens: 1000 });
    const replace = (limit: number) => openSharedBudget(here.rows, "team", { tokens: limit }, { existing: "replace" });
    const [one, two] = [here.run(), here.run()];
    const call = now(one.reserve(ask(700, 100), NEVER));
    const waiting = later(() => two.reserve(ask(700, 100), NEVER));
    await moment();
    assert.equal(waiting.state, "open");
    await replace(2000);
    (await waiting).settle(spent(800));
    const next = later(() => two.reserve(ask(700, 100), NEVER));
    await moment();
    assert.equal(next.state, "open");
    await replace(1500);
    await assert.rejects(next, /Token limit exceeded: 2400\/1500/);
    call.settle(spent(800));
    for (const run of [one, two]) run[Symbol.dispose]();
    assert.deepEqual([await here.shared.left(), clock.liveTimers], [{ tokens: 0 }, 0]);
  });
});

test("a process that waits for an hour takes a step each second where others tell, and leaves no timer behind", async () => {
  const { here, clock, another } = await openProcesses({ tokens: 1000 });
  const there = await another();
  const [holder, run] = [there.run(), here.run()];
  const call: Lease = now(holder.reserve(ask(600, 100), NEVER));
  const waiting = later(() => run.reserve(ask(600, 100), NEVER));
  await moment();
  const before = [here.steps, there.steps] as const;
  await until(clock, 3_600_000);
  assert.deepEqual([here.steps - before[0], there.steps - before[1]], [3_600, 360]);
  call.settle(spent(1));
  (await waiting).settle(spent(1));
  for (const each of [holder, run]) each[Symbol.dispose]();
  assert.equal(clock.liveTimers, 0);
});

async function callTimes(run: Holding, times: number, clock: SharedProcess["clock"]): Promise<void> {
  for (let call = 0; call < times; call++) {
    using lease = await run.reserve(ask(100, 50), NEVER);
    await new Promise<void>((resolve) => void clock.ownTimer(200, resolve));
    lease.settle(spent(120));
  }
}

/** Fires all timers up to this moment. */
async function until(clock: SharedProcess["clock"], time: number): Promise<void> {
  let isOver = false;
  clock.ownTimer(time - clock.monotonic(), () => (isOver = true));
  while (!isOver) {
    clock.fireNext((count) => count - 1);
    await moment();
  }
}
