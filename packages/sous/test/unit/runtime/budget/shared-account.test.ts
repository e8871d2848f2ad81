/** A tree whose runs draw on a shared budget as well as on limits of their own. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { BudgetExceeded } from "../../../../src/core/errors.ts";
import type { Holding, Lease } from "../../../../src/core/limits.ts";
import { Scope } from "../../../../src/core/scope.ts";
import { ask, child, keep, later, moment, NEVER, now, openProcesses, spent } from "./shared-trees.ts";

suite("a tree that draws on a shared budget", () => {
  test("a tree that draws on a shared budget takes from its own limit and from the rows, as much output as both can give", async () => {
    const { here } = await openProcesses({ tokens: 1000 });
    const tree = here.tree({ tokens: 600 });
    using call = now(tree.enter("lead").reserve(ask(100, 10, 5000), NEVER));
    assert.equal(call.outputCap, 500);
    assert.deepEqual([tree.left(), await here.shared.left()], [{ tokens: 0 }, { tokens: 400 }]);
    const { here: poor } = await openProcesses({ tokens: 300 });
    using cut = now(poor.run({ tokens: 600 }).reserve(ask(100, 10, 5000), NEVER));
    assert.equal(cut.outputCap, 200);
    assert.deepEqual(await poor.shared.left(), { tokens: 0 });
  });

  test("a tree that draws on a shared budget takes from both or from none", async () => {
    const { here } = await openProcesses({ tokens: 1000 });
    const tree = here.tree({ tokens: 600 });
    assert.throws(() => tree.enter("lead").reserve(ask(700, 10), NEVER), exceeds("710/600"));
    const { here: poor } = await openProcesses({ tokens: 300 });
    const rich = poor.tree({ tokens: 600 });
    assert.throws(() => rich.enter("lead").reserve(ask(400, 10), NEVER), exceeds("410/300"));
    assert.deepEqual(
      [tree.left(), await here.shared.left(), rich.left(), await poor.shared.left()],
      [{ tokens: 600 }, { tokens: 1000 }, { tokens: 600 }, { tokens: 300 }],
    );
  });

  test("a tree that draws on a shared budget settles and gives back in its own limit and in the rows", async () => {
    const { here } = await openProcesses({ tokens: 1000, costUsd: 1 });
    const tree = here.tree({ tokens: 600 });
    const run = tree.enter("lead");
    const call = now(run.reserve(ask(100, 10, 200, { price: { input: 1, output: 10 } }), NEVER));
    assert.deepEqual(await here.shared.left(), { tokens: 700, costUsd: 0.9979 });
    call.settle({ tokens: 150, costUsd: 0.0005 });
    call.settle({ tokens: 150, costUsd: 0.0005 });
    call[Symbol.dispose]();
    assert.deepEqual([tree.left(), await here.shared.left()], [{ tokens: 450 }, { tokens: 850, costUsd: 0.9995 }]);
    now(run.reserve(ask(100, 10), NEVER))[Symbol.dispose]();
    assert.deepEqual([tree.left(), await here.shared.left()], [{ tokens: 450 }, { tokens: 850, costUsd: 0.9995 }]);
  });

  test("a shared budget that limits no calls does not cut their output, and counts them", async () => {
    const { here } = await openProcesses({ executions: 3 });
    const call = now(here.run().reserve(ask(100, 10, 5000), NEVER));
    assert.equal(call.outputCap, Number.POSITIVE_INFINITY);
    call.settle({ tokens: 9000, costUsd: 0.5 });
    assert.deepEqual(await here.shared.spent(), { tokens: 9000, costUsd: 0.5, executions: 0 });
  });

  test("executions are counted in both, and come back to both", async () => {
    const { here } = await openProcesses({ executions: 3 });
    const tree = here.tree({ executions: 2 });
    const below = tree.open({ executions: 1 }, { path: "lead/child", above: undefined });
    below.startExecution();
    assert.throws(() => below.startExecution(), new BudgetExceeded("executions", 1, 1));
    assert.deepEqual(await here.shared.left(), { executions: 2 });
    here.tree().startExecution();
    here.tree().startExecution();
    assert.throws(() => tree.startExecution(), new BudgetExceeded("executions", 3, 3));
    assert.deepEqual(tree.left(), { executions: 1 });
    below.undoExecution();
    assert.deepEqual([tree.left(), await here.shared.left()], [{ executions: 2 }, { executions: 1 }]);
  });

  test("tokens that a tree had spent before a restart count for the tree alone: the rows know of them", async () => {
    const { here } = await openProcesses({ tokens: 1000, executions: 3 });
    const tree = here.tree({ tokens: 600, executions: 2 });
    tree.charge(spent(100));
    tree.countExecution();
    assert.deepEqual(tree.left(), { tokens: 500, executions: 1 });
    assert.deepEqual(await here.shared.left(), { tokens: 1000, executions: 3 });
  });

  test("every tree that draws on a shared budget is told once that most of it is spent, also one that starts later", async () => {
    const { here } = await openProcesses({ tokens: 1000 });
    const [one, two] = [here.run(), here.run()];
    now(one.reserve(ask(700, 100), NEVER)).settle(spent(800));
    now(two.reserve(ask(10, 10), NEVER)).settle(spent(20));
    assert.deepEqual(
      here.warnings.map(({ of, limit }) => [of, limit]),
      Array(2).fill(["shared budget team", 1000]),
    );
    now(here.run().reserve(ask(10, 10), NEVER)).settle(spent(20));
    assert.equal(here.warnings.length, 3);
  });
});

suite("waiting for a shared budget", () => {
  test("trees of one process wait for each other, in the order of their starts", async () => {
    const { here } = await openProcesses({ tokens: 1000 });
    const [one, two, three] = [here.run(), here.run(), here.run()];
    const first = now(one.reserve(ask(500, 100), NEVER));
    const order: string[] = [];
    const serve = (name: string) => (lease: Lease) => {
      order.push(name);
      lease[Symbol.dispose]();
    };
    const small = later(() => three.reserve(ask(10, 10), NEVER)).then(serve("small"));
    const large = later(() => two.reserve(ask(700, 100), NEVER)).then(serve("large"));
    await moment();
    // What the youngest run asks for was granted before the older one came; from then on no run overtakes it.
    const late = later(() => three.reserve(ask(10, 10), NEVER)).then(serve("late"));
    first.settle(spent(100));
    await Promise.all([large, small, late]);
    assert.deepEqual(order, ["small", "large", "late"]);
  });

  test("a call that waits is refused as soon as it could never be paid", async () => {
    const { here } = await openProcesses({ tokens: 1000 });
    const call = now(here.run().reserve(ask(500, 100), NEVER));
    const waiting = later(() => here.run().reserve(ask(450, 100), NEVER));
    await moment();
    assert.equal(waiting.state, "open");
    call.settle(spent(500));
    await assert.rejects(waiting, exceeds("1050/1000"));
    assert.deepEqual(await here.shared.left(), { tokens: 500 });
  });

  test("a call that waits or is stopped holds up no run of another process, and keeps nothing", async () => {
    const { here, clock, another } = await openProcesses({ tokens: 1000 });
    const there = await another();
    const [other, run] = [here.run(), here.run({ tokens: 900 })];
    const call = now(other.reserve(ask(500, 100), NEVER));
    const scope = new Scope();
    const stopped = later(() => run.reserve(ask(700, 100), scope));
    await moment();
    const rival = there.run();
    const small = now(rival.reserve(ask(50, 50), NEVER));
    assert.equal(stopped.state, "open");
    scope.abort(new Error("stopped"));
    await assert.rejects(stopped, new Error("stopped"));
    call[Symbol.dispose]();
    assert.deepEqual(await here.shared.left(), { tokens: 900 });
    assert.throws(() => run.reserve(ask(1, 1), scope), new Error("stopped"));
    small[Symbol.dispose]();
    for (const each of [other, run, rival]) each[Symbol.dispose]();
    assert.equal(clock.liveTimers, 0);
  });

  test("budget that another process gives back is found by asking again, less and less often, where there are no notifications", async () => {
    const { here, clock, another } = await openProcesses({ tokens: 1000 });
    const there = await another();
    here.behaviour.tells = false;
    const elsewhere = now(there.run().reserve(ask(600, 100), NEVER));
    const waiting = later(() => here.run().reserve(ask(600, 100), NEVER));
    const pauses: number[] = [];
    while (pauses.length < 8) {
      const before = clock.monotonic();
      const { steps } = here;
      await moment();
      assert.ok(clock.fireNext(() => 0));
      if (here.steps > steps) pauses.push(clock.monotonic() - before);
    }
    assert.deepEqual(pauses, [5, 10, 20, 40, 80, 100, 100, 100]);
    elsewhere.settle(spent(1));
    assert.equal(waiting.state, "open");
    clock.fireNext(() => 0);
    (await waiting)[Symbol.dispose]();
    assert.deepEqual(await here.shared.left(), { tokens: 999 });
  });

  test("a run that waits for a shared budget is served without time passing where others tell, and asks once a second", async () => {
    const { here, clock, another } = await openProcesses({ tokens: 1000 });
    const there = await another();
    const elsewhere = now(there.run().reserve(ask(600, 100), NEVER));
    const waiting = later(() => here.run().reserve(ask(600, 100), NEVER));
    await moment();
    const { steps } = here;
    while (clock.monotonic() < 5_000) clock.fireNext(() => 0);
    assert.equal(here.steps - steps, 5);
    elsewhere.settle(spent(1));
    await moment();
    assert.equal(waiting.state, "given");
    assert.equal(clock.monotonic(), 5_000);
  });

  test("a run that settled last asks first; when it does something else, the first in line gets what there is", async () => {
    const { here, clock } = await openProcesses({ tokens: 1000 });
    const [one, two] = [here.run(), here.run()];
    const call = now(one.reserve(ask(500, 100), NEVER));
    const waiting = later(() => two.reserve(ask(100, 50, 900), NEVER));
    await moment();
    call.settle(spent(600));
    await moment();
    assert.equal(waiting.state, "open");
    using _tool = one.runCall();
    assert.equal((await waiting).outputCap, 300);
    assert.equal(clock.monotonic(), 0);
  });

  test("a child starts when its slot and its first call can be had, and asks for no more than there are slots", async () => {
    const { here, another } = await openProcesses({ tokens: 1000 });
    const there = await another();
    const tree = here.tree({}, 1);
    const children = [1, 2, 3].map((index) => later(() => tree.start(child(100, 100, { path: `lead/${index}` }))));
    // Two more children that wait for a place hold nothing.
    assert.deepEqual(await there.shared.left(), { tokens: 800 });
    for (const each of children) {
      const { first, slot, holding } = await each;
      assert.deepEqual(await there.shared.left(), { tokens: 800 });
      first?.[Symbol.dispose]();
      holding[Symbol.dispose]();
      slot[Symbol.dispose]();
    }
    assert.deepEqual(await there.shared.left(), { tokens: 1000 });
  });
});

suite("who is refused when nothing moves", () => {
  test("a child that waits to start is refused before a live run, and the first in order is served then", async () => {
    const { here } = await openProcesses({ tokens: 1000 });
    const tree = here.tree();
    const lead = tree.enter("lead");
    keepFor(lead, 300);
    const second = here.run();
    keepFor(second, 300);
    const waitsToStart = later(() => tree.start(child(300, 150, { above: lead })));
    await moment();
    assert.equal(waitsToStart.state, "open");
    using _wait = lead.wait();
    await moment();
    assert.equal(waitsToStart.state, "open");
    // Now the second run asks for more than is free, too: nothing moves.
    const asked = later(() => second.reserve(ask(400, 50), NEVER));
    await assert.rejects(waitsToStart, exceeds("1070/1000"));
    await assert.rejects(asked, /^BudgetExceeded: Token limit exceeded/);
  });

  test("a run waits while another process has a call in flight, and takes less than all when there is none", async () => {
    const { here, another } = await openProcesses({ tokens: 1000 });
    const there = await another();
    const call = now(there.run().reserve(ask(400, 100), NEVER));
    const waiting = later(() => here.run().reserve(ask(100, 50, 900), NEVER));
    await moment();
    assert.equal(waiting.state, "open");
    call.settle(spent(450), keep(40));
    assert.equal((await waiting).outputCap, 1000 - 450 - 40 - 100);
  });

  test("a run that what another process keeps is too much for is refused at once: it wraps up, and none waits for ever", async () => {
    const { here, another } = await openProcesses({ tokens: 1000 });
    const there = await another();
    const [one, two] = [here.run(), there.run()];
    keepFor(one, 300);
    keepFor(two, 300);
    await assert.rejects(
      later(() => one.reserve(ask(400, 100), NEVER)),
      exceeds("1120/1000"),
    );
    now(one.reserve(ask(100, 50, 100, { closing: 50 }), NEVER)).settle(spent(150));
    one[Symbol.dispose]();
    // What it kept and did not need is free again.
    using _served = now(two.reserve(ask(400, 100), NEVER));
  });
});

suite("last words on a shared budget", () => {
  test("last words on a shared budget are reserved in the rows too: no other run can spend them", async () => {
    const { here, another } = await openProcesses({ tokens: 1000 });
    const there = await another();
    const run = here.run();
    keepFor(run, 350);
    assert.deepEqual(await here.shared.left(), { tokens: 640 });
    const other = there.run();
    using _other = now(other.reserve(ask(500, 100), NEVER));
    const last = now(run.reserve(ask(300, 10, 100, { closing: 10 }), NEVER));
    assert.equal(last.outputCap, 50 + 40);
    last.settle(spent(330));
    run[Symbol.dispose]();
    assert.deepEqual(await here.shared.left(), { tokens: 60 });
  });

  test("last words on a shared budget grow together with a call, or neither does", async () => {
    const { here } = await openProcesses({ tokens: 1000 });
    const tree = here.tree({ tokens: 1000 });
    const run = tree.enter("lead");
    const call = now(run.reserve(ask(300, 100, 100, { lastWords: 200 }), NEVER));
    assert.deepEqual([tree.left(), await here.shared.left()], [{ tokens: 400 }, { tokens: 400 }]);
    call.settle(spent(350), keep(250));
    assert.deepEqual([tree.left(), await here.shared.left()], [{ tokens: 400 }, { tokens: 400 }]);
    assert.throws(() => run.reserve(ask(300, 100, 100, { lastWords: 251 }), NEVER), exceeds("1001/1000"));
    run[Symbol.dispose]();
    assert.deepEqual([tree.left(), await here.shared.left()], [{ tokens: 650 }, { tokens: 650 }]);
  });
});

/** The run has answered once, for 10 tokens, and keeps this much from then on. */
function keepFor(run: Holding, amount: number): void {
  now(run.reserve(ask(10, amount), NEVER)).settle(spent(10), keep(amount));
  run.takeStep();
}

function exceeds(figures: string): RegExp {
  return new RegExp(`^BudgetExceeded: Token limit exceeded: ${figures} \\(`);
}
