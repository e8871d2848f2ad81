/** A tree whose budget and shares are rows of a store: drawn on by several processes, and continued by another. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Budget, Ledger } from "../../../../src/core/limits.ts";
import type { ChainLink } from "../../../../src/core/shared-budget.ts";
import { openLedger } from "../../../../src/runtime/budget/ledger.ts";
import { Slots } from "../../../../src/runtime/budget/run-slots.ts";
import { chainOf, type SharedChain } from "../../../../src/runtime/budget/shared-budget-client.ts";
import type { BudgetBook } from "../../../../src/storage/store/budget-book.ts";
import { MemoryBudgets } from "../../../../src/storage/store/memory-budgets.ts";
import { openSharedBudget } from "../../../../src/storage/store/shared-budget.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { ask, child, keep, later, moment, NEVER, now, spent } from "./shared-trees.ts";

const clock = new VirtualClock(0);

/** A ledger of this process on the tree TREE. */
function open(rows: BudgetBook, budget: Budget, shared?: SharedChain): Ledger {
  return openLedger(budget, { slots: new Slots(100, "queue"), shared, stored: { rows, id: "TREE", clock } });
}

/** The ledger of a placed child: on the chain that its parent's journal says, as JSON. */
function openOn(rows: BudgetBook, chain: readonly ChainLink[]): Ledger {
  return open(rows, {}, chainOf(rows, JSON.parse(JSON.stringify(chain)), clock));
}

function figures(rows: BudgetBook, name: string): [spent: number, inFlight: number, kept: number] {
  const row = rows.look(name).find(({ unit }) => unit === "tokens");
  return [row?.spent ?? Number.NaN, row?.inFlight ?? Number.NaN, row?.kept ?? Number.NaN];
}

const below = (path: string) => ({ path, above: undefined });

suite("a stored ledger", () => {
  test("a stored ledger has a row for the tree and one for each share, within a shared budget", async () => {
    const rows = new MemoryBudgets().rowsFor("one");
    await openSharedBudget(rows, "team", { tokens: 10_000 });
    const root = open(rows, { tokens: 1000, executions: 5 }, chainOf(rows, [{ name: "team" }], clock));
    const share = root.openAs("children", {}).open({ tokens: 400 }, below("lead/a"));
    assert.deepEqual(share.chain(), [
      { name: "team" },
      { name: "TREE", limits: { tokens: 1000, costUsd: undefined, executions: 5 } },
      { name: "TREE/lead/a", limits: { tokens: 400, costUsd: undefined, executions: undefined } },
    ]);
    const call = now(share.enter("lead/a").reserve(ask(100, 10, 5000), NEVER));
    assert.equal(call.outputCap, 300);
    for (const name of ["team", "TREE", "TREE/lead/a"]) assert.deepEqual(figures(rows, name), [0, 400, 0]);
    assert.deepEqual([root.left().tokens, share.left().tokens], [600, 0]);
    call.settle(spent(150));
    for (const name of ["team", "TREE", "TREE/lead/a"]) assert.deepEqual(figures(rows, name), [150, 0, 0]);
    assert.throws(() => root.open({ tokens: 851 }, below("lead/b")), /Token limit exceeded/);
    assert.equal(root.open({}, below("lead/c")), root);
  });

  test("a stored ledger keeps its rules within the process: order, last words, refusal of the last", async () => {
    const rows = new MemoryBudgets().rowsFor("one");
    const root = open(rows, { tokens: 1000 });
    const [one, two] = [root.enter("one"), root.enter("two")];
    for (const run of [one, two]) {
      now(run.reserve(ask(10, 300), NEVER)).settle(spent(10), keep(300));
      run.takeStep();
    }
    assert.deepEqual(figures(rows, "TREE"), [20, 0, 600]);
    const first = later(() => one.reserve(ask(400, 100), NEVER));
    await moment();
    assert.equal(first.state, "open");
    await assert.rejects(
      later(() => two.reserve(ask(400, 100), NEVER)),
      /Token limit exceeded: 1120\/1000/,
    );
    now(two.reserve(ask(100, 50, 100, { closing: 50 }), NEVER)).settle(spent(150));
    two[Symbol.dispose]();
    using _served = await first;
  });

  test("a stored ledger in another process draws on the same rows, and opens shares of its own below", async () => {
    const budgets = new MemoryBudgets();
    const [rows, elsewhere] = [budgets.rowsFor("one"), budgets.rowsFor("other")];
    const root = open(rows, { tokens: 1000 });
    const share = root.open({ tokens: 600, executions: 1 }, below("lead/a"));
    const placed = openOn(elsewhere, share.chain());
    assert.deepEqual(
      placed.chain().map(({ name }) => name),
      ["TREE", "TREE/lead/a"],
    );
    const grandchild = placed.openAs("children", {}).open({ tokens: 200 }, below("lead/a/b"));
    using call = now(grandchild.enter("lead/a/b").reserve(ask(100, 10, 5000), NEVER));
    assert.equal(call.outputCap, 100);
    for (const name of ["TREE", "TREE/lead/a", "TREE/lead/a/b"]) assert.deepEqual(figures(rows, name), [0, 200, 0]);
    const own = root.enter("lead");
    const waiting = later(() => own.reserve(ask(700, 200), NEVER));
    await moment();
    assert.equal(waiting.state, "open");
    call.settle(spent(100));
    assert.equal((await waiting).outputCap, 200);
    placed.startExecution();
    assert.throws(() => placed.startExecution(), /Execution limit reached: 1\/1/);
    assert.deepEqual(
      placed.limits().map(({ of, unit, spent: gone }) => [of, unit, gone]),
      [
        ["tree", "tokens", 100],
        ["lead/a", "tokens", 100],
        ["lead/a", "executions", 1],
      ],
    );
  });

  test("a stored ledger that is opened again after a crash counts nothing twice, also in another process", async () => {
    const budgets = new MemoryBudgets();
    const dead = new Set<string>();
    const rowsFor = (owner: string) =>
      budgets.rowsFor(
        owner,
        (each) => (dead.has(each) ? "gone" : "alive"),
        () => 0,
      );
    const root = open(rowsFor("one"), { tokens: 1000, executions: 3 });
    root.startExecution();
    const run = root.enter("lead");
    now(run.reserve(ask(100, 50), NEVER)).settle(spent(120), keep(30));
    now(run.reserve(ask(200, 50), NEVER));
    dead.add("one");
    const rows = rowsFor("two");
    const again = open(rows, { tokens: 1500, executions: 3 });
    // From the journal: what was settled, the call that was not heard of, and the child that had started.
    again.charge(spent(120));
    again.charge(spent(250));
    again.countExecution();
    assert.deepEqual(again.left(), { tokens: 1130, executions: 2 });
    using _call = now(again.enter("lead").reserve(ask(100, 100), NEVER));
    // The call of the dead is found as soon as one is short, or looks.
    assert.deepEqual(figures(rows, "TREE"), [370, 200, 0]);
    again.charge(spent(0));
    await again.startExecution();
    assert.deepEqual(
      [again.left(), rows.look("TREE").map(({ limit }) => limit)],
      [{ tokens: 930, executions: 1 }, [1500, undefined, 3]],
    );
  });

  test("a stored ledger that is opened again in the same process has its new limits, and counts nothing twice", () => {
    const rows = new MemoryBudgets().rowsFor("one");
    const root = open(rows, { tokens: 1000 });
    now(root.enter("lead").reserve(ask(100, 500), NEVER)).settle(spent(600));
    const again = open(rows, { tokens: 1500 });
    again.charge(spent(600));
    assert.deepEqual(again.left(), { tokens: 900 });
    const share = again.open({ tokens: 900 }, below("lead/a"));
    using _call = now(share.enter("lead/a").reserve(ask(100, 800), NEVER));
    assert.deepEqual([figures(rows, "TREE"), again.left()], [[600, 900, 0], { tokens: 0 }]);
  });

  test("a stored ledger of a tree that had no rows before begins with what the tree had spent", () => {
    const rows = new MemoryBudgets().rowsFor("one");
    const root = open(rows, { tokens: 1000, executions: 3 });
    root.charge(spent(700));
    root.countExecution();
    assert.throws(() => root.enter("lead").reserve(ask(200, 101), NEVER), /Token limit exceeded: 1001\/1000/);
    using _call = now(root.enter("lead").reserve(ask(200, 100), NEVER));
    assert.deepEqual([figures(rows, "TREE"), root.left()], [[700, 300, 0], { tokens: 0, executions: 2 }]);
    root.charge(spent(50));
    assert.deepEqual(figures(rows, "TREE"), [700, 300, 0]);
  });

  test("a stored ledger with a thousand shares steps on the rows of its callers alone", async () => {
    const rows = new MemoryBudgets().rowsFor("one");
    const root = open(rows, { tokens: 1_000_000 });
    const shares = Array.from({ length: 1_000 }, (_, index) => root.open({ tokens: 500 }, below(`lead/a#${index}`)));
    const calls = shares.map((share, index) => now(share.enter(`lead/a#${index}`).reserve(ask(100, 100), NEVER)));
    assert.deepEqual(figures(rows, "TREE"), [0, 200_000, 0]);
    for (const call of calls) call.settle(spent(150));
    assert.deepEqual(figures(rows, "TREE"), [150_000, 0, 0]);
    assert.deepEqual(figures(rows, "TREE/lead/a#999"), [150, 0, 0]);
  });

  test("a stored ledger is in the store of the shared budget that it draws on", async () => {
    const [rows, other] = [new MemoryBudgets().rowsFor("one"), new MemoryBudgets().rowsFor("one")];
    await openSharedBudget(other, "team", { tokens: 5 });
    assert.throws(
      () => open(rows, { tokens: 5 }, chainOf(other, [{ name: "team" }], clock)),
      /must be in the store of the tree/,
    );
  });

  test("a stored ledger without limits has no rows, and asks none", () => {
    const rows = new MemoryBudgets().rowsFor("one");
    const root = open(rows, {});
    const call = now(root.enter("lead").reserve(ask(100, 100), NEVER));
    call.settle(spent(150));
    assert.equal(root.startExecution(), undefined);
    assert.deepEqual([root.chain(), root.isMetered, rows.look("TREE"), root.flushed()], [[], false, [], undefined]);
    assert.ok(!(root.start(child(1, 1)) instanceof Promise));
  });
});
