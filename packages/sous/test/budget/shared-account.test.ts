/** H1 over a shared budget: an account that draws on a ledger and on a purse at once, in one process and on stores that fail. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { openLedger } from "../../src/budget/ledger.ts";
import { drawOn } from "../../src/budget/shared-account.ts";
import { BudgetExceeded, StoreError } from "../../src/core/errors.ts";
import type { Account, Budget, CallNeed, Lease, WrapUpLease } from "../../src/core/limits.ts";
import { Scope } from "../../src/core/scope.ts";
import type { PursePort, SharedBudget, SharedLimits } from "../../src/core/shared-budget.ts";
import { openMemoryStore } from "../../src/store/memory.ts";
import { granted, need as purseNeed } from "../../src/testing/purse-asks.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const NEVER = new Scope();

suite("an account that draws on a shared budget", () => {
  test("takes from its own ledger and from the purse, as much output as both can give", async () => {
    const { shared, tree } = await open({ tokens: 1000 }, { tokens: 600 });
    using call = now(tree.reserve(need(100, 10, 5000), NEVER));
    assert.equal(call.outputCap, 500);
    assert.deepEqual([tree.left(), await shared.left()], [{ tokens: 0 }, { tokens: 400 }]);
    const { shared: small, tree: rich } = await open({ tokens: 300 }, { tokens: 600 });
    using cut = now(rich.reserve(need(100, 10, 5000), NEVER));
    assert.equal(cut.outputCap, 200);
    assert.deepEqual(await small.left(), { tokens: 0 });
  });

  test("takes from both or from none", async () => {
    const { shared, tree } = await open({ tokens: 1000 }, { tokens: 600 });
    assert.throws(() => tree.reserve(need(700, 10), NEVER), new BudgetExceeded("tokens", 710, 600));
    const { shared: small, tree: rich } = await open({ tokens: 300 }, { tokens: 600 });
    assert.throws(() => rich.reserve(need(400, 10), NEVER), new BudgetExceeded("tokens", 410, 300));
    assert.deepEqual(
      [tree.left(), await shared.left(), rich.left(), await small.left()],
      [{ tokens: 600 }, { tokens: 1000 }, { tokens: 600 }, { tokens: 300 }],
    );
  });

  test("settles and gives back in both", async () => {
    const { shared, tree } = await open({ tokens: 1000, costUsd: 1 }, { tokens: 600 });
    const call = now(tree.reserve({ ...need(100, 10, 200), price: { input: 1, output: 10 } }, NEVER));
    assert.deepEqual(await shared.left(), { tokens: 700, costUsd: 0.9979 });
    call.settle({ tokens: 150, costUsd: 0.0005 });
    call.settle({ tokens: 150, costUsd: 0.0005 });
    call[Symbol.dispose]();
    assert.deepEqual([tree.left(), await shared.left()], [{ tokens: 450 }, { tokens: 850, costUsd: 0.9995 }]);
    now(tree.reserve(need(100, 10), NEVER))[Symbol.dispose]();
    assert.deepEqual([tree.left(), await shared.left()], [{ tokens: 450 }, { tokens: 850, costUsd: 0.9995 }]);
  });

  test("two trees in one purse wait for each other, first come first served", async () => {
    const { tree, another } = await open({ tokens: 1000 }, {});
    const other = another({});
    const first = now(tree.reserve(need(500, 100), NEVER));
    const order: string[] = [];
    const serve = (name: string) => (lease: Lease) => {
      order.push(name);
      lease[Symbol.dispose]();
    };
    const large = later(other.reserve(need(700, 100), NEVER)).then(serve("large"));
    const small = later(tree.reserve(need(10, 10), NEVER)).then(serve("small"));
    first.settle({ tokens: 100, costUsd: null });
    await Promise.all([large, small]);
    assert.deepEqual(order, ["large", "small"]);
  });

  test("a call that waits is refused as soon as nothing in flight could release enough", async () => {
    const { shared, tree, another } = await open({ tokens: 1000 }, {});
    const call = now(tree.reserve(need(500, 100), NEVER));
    const waiting = later(another({}).reserve(need(450, 100), NEVER));
    call.settle({ tokens: 500, costUsd: null });
    await assert.rejects(waiting, new BudgetExceeded("tokens", 1050, 1000));
    assert.deepEqual(await shared.left(), { tokens: 500 });
  });

  test("a call that is stopped while it waits holds nobody up and keeps nothing", async () => {
    const { shared, tree, another, clock } = await open({ tokens: 1000 }, { tokens: 900 });
    const call = now(another({}).reserve(need(500, 100), NEVER));
    const scope = new Scope();
    const stopped = later(tree.reserve(need(700, 100), scope));
    const waiting = later(tree.reserve(need(50, 50), NEVER));
    scope.abort(new Error("stopped"));
    await assert.rejects(stopped, new Error("stopped"));
    using _served = await waiting;
    call[Symbol.dispose]();
    assert.deepEqual([tree.left(), await shared.left(), clock.liveTimers], [{ tokens: 800 }, { tokens: 900 }, 0]);
    assert.throws(() => tree.reserve(need(1, 1), scope), new Error("stopped"));
  });

  test("what another process gives back is found by asking again, less and less often", async () => {
    const { shared, tree, clock } = await open({ tokens: 1000 }, {});
    // As another process would: without a word to this one.
    const elsewhere = await granted(shared, { need: purseNeed(600, 100) });
    const waiting = later(tree.reserve(need(600, 100), NEVER));
    const pauses: number[] = [];
    for (let tries = 0; tries < 8; tries++) {
      const before = clock.monotonic();
      await moment();
      assert.ok(clock.fireNext(() => 0));
      pauses.push(clock.monotonic() - before);
    }
    assert.deepEqual(pauses, [5, 10, 20, 40, 80, 100, 100, 100]);
    await shared.purse.settle(elsewhere.leaseId, { tokens: 1, nanoUsd: 0 });
    await moment();
    clock.fireNext(() => 0);
    (await waiting)[Symbol.dispose]();
    assert.deepEqual([await shared.left(), clock.liveTimers], [{ tokens: 999 }, 0]);
  });

  test("last words are kept in the purse too: nobody else can spend them", async () => {
    const { shared, tree, another } = await open({ tokens: 1000 }, {});
    const other = another({});
    const reserve = now(tree.reserveWrapUp(need(300, 50, 100)));
    assert.deepEqual(await shared.left(), { tokens: 650 });
    assert.throws(() => other.reserve(need(700, 1), NEVER), new BudgetExceeded("tokens", 1051, 1000));
    using _other = now(other.reserve(need(500, 100), NEVER));
    assert.equal(reserve.resize(need(400, 50)), false);
    assert.equal(reserve.resize(need(350, 50)), true);
    assert.deepEqual(await shared.left(), { tokens: 0 });
    const last = now(reserve.take(need(350, 10, 100)));
    assert.equal(last?.outputCap, 50);
    last?.settle({ tokens: 380, costUsd: null });
    reserve[Symbol.dispose]();
    assert.deepEqual(await shared.left(), { tokens: 20 });
  });

  test("last words that the purse cannot give leave the ledger as it was", async () => {
    const { shared, tree, another } = await open({ tokens: 1000 }, { tokens: 1000 });
    using _other = now(another({}).reserve(need(500, 100), NEVER));
    assert.throws(() => tree.reserveWrapUp(need(400, 50)), new BudgetExceeded("tokens", 1050, 1000));
    assert.deepEqual(tree.left(), { tokens: 1000 });
    using reserve = now(tree.reserveWrapUp(need(100, 50)));
    assert.equal(reserve.resize(need(600, 50)), false);
    assert.deepEqual([tree.left(), await shared.left()], [{ tokens: 850 }, { tokens: 250 }]);
    assert.equal(now(reserve.take(need(600, 50))), undefined);
    reserve[Symbol.dispose]();
    assert.deepEqual([tree.left(), await shared.left()], [{ tokens: 1000 }, { tokens: 400 }]);
  });

  test("a reserve can take the place of a call's lease, in both", async () => {
    const { shared, tree } = await open({ tokens: 500 }, { tokens: 500 });
    const call = now(tree.reserve(need(400, 50), NEVER));
    const reserve = now(tree.reserveWrapUp(need(400, 50), call));
    call[Symbol.dispose]();
    assert.deepEqual([tree.left(), await shared.left()], [{ tokens: 50 }, { tokens: 50 }]);
    reserve[Symbol.dispose]();
    const again = now(tree.reserve(need(400, 50), NEVER));
    assert.throws(() => tree.reserveWrapUp(need(490, 50), again), new BudgetExceeded("tokens", 540, 500));
    assert.deepEqual([tree.left(), await shared.left()], [{ tokens: 500 }, { tokens: 500 }]);
  });

  test("executions are counted in both, and come back to both", async () => {
    const { shared, tree, another } = await open({ executions: 3 }, { executions: 2 });
    const child = tree.open({ executions: 1 });
    child.startExecution();
    assert.throws(() => child.startExecution(), new BudgetExceeded("executions", 1, 1));
    assert.deepEqual(await shared.left(), { executions: 2 });
    another({}).startExecution();
    another({}).startExecution();
    assert.throws(() => tree.startExecution(), new BudgetExceeded("executions", 3, 3));
    assert.deepEqual(tree.left(), { executions: 1 });
    child.undoExecution();
    assert.deepEqual([tree.left(), await shared.left()], [{ executions: 2 }, { executions: 1 }]);
  });

  test("what a tree had spent before a restart counts for itself alone: the purse knows of it", async () => {
    const { shared, tree } = await open({ tokens: 1000, executions: 3 }, { tokens: 600, executions: 2 });
    tree.charge({ tokens: 100, costUsd: null });
    tree.countExecution();
    assert.deepEqual(tree.left(), { tokens: 500, executions: 1 });
    assert.deepEqual(await shared.left(), { tokens: 1000, executions: 3 });
  });

  test("a purse that limits no calls does not cut their output", async () => {
    const { shared, tree } = await open({ executions: 3 }, {});
    const call = now(tree.reserve(need(100, 10, 5000), NEVER));
    assert.equal(call.outputCap, Number.POSITIVE_INFINITY);
    call.settle({ tokens: 9000, costUsd: 0.5 });
    assert.deepEqual(await shared.spent(), { tokens: 9000, costUsd: 0.5, executions: 0 });
  });
});

suite("a shared budget in a store that fails", () => {
  test("is asked again for a moment, and then nothing may be spent", async () => {
    const { tree, clock, faults } = await openFaulty({ tokens: 1000 }, { tokens: 600, executions: 1 });
    faults.remaining = 2;
    using _call = await timePasses(clock, later(tree.reserve(need(100, 50), NEVER)));
    faults.remaining = Number.POSITIVE_INFINITY;
    for (const attempt of [
      () => tree.reserve(need(100, 50), NEVER),
      () => tree.reserveWrapUp(need(100, 50)),
      () => tree.startExecution(),
    ]) {
      await assert.rejects(timePasses(clock, later<unknown>(attempt())), new StoreError("the disk is gone"));
    }
    assert.deepEqual(tree.left(), { tokens: 450, executions: 1 });
  });

  test("learns what was spent as soon as it can be reached again, and is waited for at the end", async () => {
    const { shared, tree, clock, faults } = await openFaulty({ tokens: 1000 }, {});
    const one = now(tree.reserve(need(100, 50), NEVER));
    const two = now(tree.reserve(need(100, 50), NEVER));
    const three = now(tree.reserve(need(100, 50), NEVER));
    faults.remaining = Number.POSITIVE_INFINITY;
    one.settle({ tokens: 120, costUsd: null });
    two[Symbol.dispose]();
    await timePasses(clock, later(tree.flushed()));
    assert.deepEqual(await shared.left(), { tokens: 550 });
    faults.remaining = 0;
    using _next = now(tree.reserve(need(100, 50), NEVER));
    assert.deepEqual([tree.flushed(), await shared.left()], [undefined, { tokens: 580 }]);
    faults.remaining = Number.POSITIVE_INFINITY;
    three.settle({ tokens: 150, costUsd: null });
    await timePasses(clock, later(tree.flushed()));
    faults.remaining = 1;
    await timePasses(clock, later(tree.flushed()));
    assert.deepEqual([tree.flushed(), await shared.spent()], [undefined, { tokens: 270, costUsd: 0, executions: 0 }]);
  });

  test("a store that answers later keeps the same promises", async () => {
    const { shared, tree, another } = await openFaulty({ tokens: 1000, executions: 2 }, { executions: 2 }, "slow");
    const other = another({});
    await tree.startExecution();
    await other.startExecution();
    await assert.rejects(later(tree.startExecution()), new BudgetExceeded("executions", 2, 2));
    assert.deepEqual(tree.left(), { executions: 1 });
    const reserve = await tree.reserveWrapUp(need(100, 50));
    const call = await tree.reserve(need(500, 100), NEVER);
    assert.equal(await reserve.resize(need(400, 50)), false);
    const scope = new Scope();
    const stopped = later(other.reserve(need(100, 1), scope));
    const waiting = [1, 2, 3].map(() => later(other.reserve(need(200, 10), NEVER)));
    scope.abort(new Error("stopped"));
    await assert.rejects(stopped, new Error("stopped"));
    call.settle({ tokens: 300, costUsd: null });
    for (const each of waiting) (await each).settle({ tokens: 60, costUsd: null });
    const last = await reserve.take(need(200, 50, 100));
    last?.settle({ tokens: 210, costUsd: null });
    tree.undoExecution();
    await tree.flushed();
    assert.deepEqual(await shared.left(), { tokens: 310, executions: 1 });
    assert.equal(tree.flushed(), undefined);
  });
});

type Trees = {
  shared: SharedBudget;
  clock: VirtualClock;
  tree: Account;
  /** A further tree on the same purse. */
  another(own: Budget): Account;
};

async function open(limits: SharedLimits, own: Budget): Promise<Trees> {
  const shared = await openMemoryStore().sharedBudget("team", limits);
  return treesOn(shared, own);
}

function treesOn(shared: SharedBudget, own: Budget): Trees {
  const clock = new VirtualClock(0);
  const another = (budget: Budget) => drawOn(shared, openLedger(budget), clock);
  return { shared, clock, tree: another(own), another };
}

/** `remaining` calls fail; a slow purse answers with promises. */
async function openFaulty(limits: SharedLimits, own: Budget, speed: "fast" | "slow" = "fast") {
  const real = await openMemoryStore().sharedBudget("team", limits);
  const faults = { remaining: 0 };
  const through = <T>(step: () => T): T => {
    if (faults.remaining > 0) {
      faults.remaining -= 1;
      throw new StoreError("the disk is gone");
    }
    return speed === "fast" ? step() : (new Promise((resolve) => setImmediate(() => resolve(step()))) as T);
  };
  const purse: PursePort = {
    reserve: (ask) => through(() => real.purse.reserve(ask)),
    settle: (leaseId, spent) => through(() => real.purse.settle(leaseId, spent)),
    startExecution: () => through(() => real.purse.startExecution()),
    undoExecution: () => through(() => real.purse.undoExecution()),
    leaveLine: (place) => through(() => real.purse.leaveLine(place)),
  };
  return { ...treesOn({ ...real, purse }, own), faults };
}

/** A prompt of so many tokens, an answer of at least `least`; without a price. */
function need(promptTokens: number, minOutput: number, outputCap = minOutput): CallNeed {
  return { promptTokens, minOutput, outputCap, price: undefined };
}

/** What was given at once. */
function now<T extends Lease | WrapUpLease | undefined>(given: T | Promise<T>): T {
  assert.ok(!(given instanceof Promise), "it had to wait");
  return given;
}

async function later<T>(given: T | Promise<T>): Promise<T> {
  return given;
}

/** Fires timers until the work is done. */
async function timePasses<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let isDone = false;
  const watched = work.finally(() => (isDone = true));
  watched.catch(() => {});
  while (!isDone) {
    await moment();
    clock.fireNext(() => 0);
  }
  return watched;
}

function moment(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
