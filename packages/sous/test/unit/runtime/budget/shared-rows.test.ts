/** The row of a process in the books of a shared budget: it is there while a tree needs it, and no run waits for one that is over. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { StoreError } from "../../../../src/core/errors.ts";
import type { OpenedBudget, SharedBudgetPort } from "../../../../src/core/shared-budget.ts";
import { budgetFile } from "../../../support/storage/store/budget-file.ts";
import {
  ask,
  child,
  later,
  moment,
  NEVER,
  now,
  openProcesses,
  SharedProcess,
  spent,
  timePasses,
} from "./shared-trees.ts";

suite("the row of a process", () => {
  test("the row of a process is gone when its trees have ended, however often the budget is opened, and what was spent stays", async () => {
    await using place = budgetFile();
    const store = await place.open();
    await store.sharedBudget("team", { tokens: 10_000, executions: 100 });
    const { clock } = await openProcesses({ tokens: 1 });
    for (let opened = 1; opened <= 3; opened++) {
      const process = new SharedProcess(await store.sharedBudget("team"), clock);
      for (const _ of [1, 2]) {
        const tree = process.tree();
        const run = tree.enter("lead");
        await tree.startExecution();
        now(run.reserve(ask(100, 50), NEVER)).settle(spent(120));
        assert.equal(place.rows(), 1);
        run[Symbol.dispose]();
        assert.equal(tree.flushed(), undefined);
        assert.equal(place.rows(), 0);
      }
      const { tokens, executions } = await process.shared.spent();
      assert.deepEqual([tokens, executions], [opened * 240, opened * 2]);
    }
    assert.equal(clock.liveTimers, 0);
  });

  test("the row of a process stays until the end of a tree whose children may yet give back an execution", async () => {
    const { here } = await openProcesses({ tokens: 1000, executions: 5 });
    // A root that only holds others together draws on nothing itself.
    const tree = here.tree();
    tree.startExecution();
    const { first, holding } = now(tree.start(child(100, 50)));
    first?.settle(spent(120));
    holding[Symbol.dispose]();
    tree.startExecution();
    here.run()[Symbol.dispose]();
    tree.undoExecution();
    assert.equal(tree.flushed(), undefined);
    assert.equal((await here.shared.spent()).executions, 1);
  });

  test("the row of a process counts once when it is unknown whether it was taken out, and another tree begins", async () => {
    const { here, clock } = await openProcesses({ tokens: 1000 });
    const faults = { left: 0 };
    const process = new SharedProcess(withLostLeaves(here.shared, faults), clock);
    const first = process.tree();
    const run = first.enter("lead");
    now(run.reserve(ask(100, 50), NEVER)).settle(spent(120));
    faults.left = 5;
    run[Symbol.dispose]();
    await timePasses(
      clock,
      later(() => first.flushed()),
    );
    assert.equal(faults.left, 0);
    const second = process.run();
    const call = await timePasses(
      clock,
      later(() => second.reserve(ask(100, 50), NEVER)),
    );
    call.settle(spent(120));
    second[Symbol.dispose]();
    assert.deepEqual([(await here.shared.spent()).tokens, clock.liveTimers], [240, 0]);
  });

  test("the row of a process is put right when the store is back, also after the last run has ended: others may wait for it", async () => {
    const { here, clock, another } = await openProcesses({ tokens: 1000 });
    const there = await another();
    const tree = here.tree();
    const run = tree.enter("lead");
    const call = now(run.reserve(ask(600, 100), NEVER));
    const rival = there.run();
    const waiting = later(() => rival.reserve(ask(600, 100), NEVER));
    await moment();
    assert.equal(waiting.state, "open");
    here.behaviour.failing = Number.POSITIVE_INFINITY;
    call.settle(spent(120));
    run[Symbol.dispose]();
    await timePasses(
      clock,
      later(() => tree.flushed()),
    );
    here.behaviour.failing = 0;
    (await timePasses(clock, waiting)).settle(spent(1));
    rival[Symbol.dispose]();
    assert.deepEqual([await here.shared.left(), clock.liveTimers], [{ tokens: 879 }, 0]);
  });
});

/** The row is taken out, and the answer gets lost. */
function withLostLeaves(real: OpenedBudget, faults: { left: number }): OpenedBudget {
  const books: SharedBudgetPort = {
    step: (step) => real.books.step(step),
    leave() {
      void real.books.leave();
      if (faults.left === 0) return;
      faults.left -= 1;
      throw new StoreError("the answer was lost");
    },
    listen: (onNews) => real.books.listen(onNews),
  };
  return { ...real, books };
}
