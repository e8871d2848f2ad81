/** Shared budgets in SQLite: the contract of every shared budget, processes that die or wake up late, and files that fail. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { suite, test } from "node:test";
import { StoreError, UserError } from "../../../../src/core/errors.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { budgetFile } from "../../../support/storage/store/budget-file.ts";
import { sharedBudgetContract } from "../../../support/storage/store/shared-budget/contract.ts";
import { opened } from "../../../support/storage/store/shared-budget/opened.ts";
import { BudgetProcess, call, need, tokens } from "../../../support/storage/store/shared-budget/shared-budget-asks.ts";
import { SQLITE_WITHOUT_PLACING } from "../../../support/storage/store/without-placing.ts";
import { asDead, asElsewhere } from "./shared-budget-books.ts";
import { budgetWorker } from "./shared-budget-worker.ts";

sharedBudgetContract(test, async () => {
  const place = budgetFile();
  const [one, other] = [await place.open(), await place.open()];
  return {
    one,
    other,
    takeForDead: async (how) => place.changeBooks((books) => asDead(books, how)),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
});

suite("a shared budget in SQLite, when a process dies", () => {
  test("the possible cost of a call of a killed process is spent, and what it kept is free", async () => {
    await using place = budgetFile();
    const limits = { tokens: 1000, executions: 3 };
    const here = new BudgetProcess(await (await place.open()).sharedBudget("team", limits));
    const parameters = ["--conditions=sous-source", budgetWorker, "sqlite", place.file];
    const child = spawn(process.execPath, parameters, { stdio: ["pipe", "pipe", "inherit"] });
    await once(child.stdout, "data");
    assert.deepEqual(await here.left(), { tokens: 200, executions: 2 });
    const asked = await here.waiting(call(need(600, 0)));
    child.kill("SIGKILL");
    await once(child, "exit");
    await here.granted(asked);
    assert.deepEqual(await here.spent(), { tokens: 300, costUsd: 0, executions: 1 });
    assert.deepEqual(await here.left(), { tokens: 100, executions: 2 });
  });

  test("the row of a process that dies is taken out of the books", async () => {
    await using place = budgetFile();
    const { here, there } = await place.twoProcesses(1000);
    await here.granted(call(need(400, 100), { grow: tokens(200) }));
    const asked = await there.waiting(call(need(400, 100)));
    place.changeBooks((books) => asDead(books, "gone"));
    await there.granted(asked);
    assert.equal(place.rows(), 1);
    assert.deepEqual([await there.left(), (await there.spent()).tokens], [{ tokens: 0 }, 500]);
  });

  test("a process on another machine counts as dead when it was not heard of for half a minute", async () => {
    await using place = budgetFile();
    const { here, there, clock } = await place.twoProcesses(1000);
    await here.granted(call(need(500, 100)));
    place.changeBooks(asElsewhere);
    const asked = await there.waiting(call(need(400, 100)));
    clock.jump(25_000);
    await there.waiting(asked);
    assert.equal((await there.spent()).tokens, 0);
    clock.jump(10_000);
    assert.deepEqual((await there.step([asked])).answers, [{ kind: "never" }]);
    assert.deepEqual([await there.left(), (await there.spent()).tokens], [{ tokens: 400 }, 600]);
    await here.settle(tokens(600), tokens(50));
    assert.deepEqual([await there.left(), (await there.spent()).tokens], [{ tokens: 950 }, 50]);
  });

  test("a process on another machine becomes the past when it does not come back in a week", async () => {
    await using place = budgetFile();
    const { here, there, clock } = await place.twoProcesses(1000);
    await here.granted(call(need(500, 100)));
    place.changeBooks(asElsewhere);
    clock.jump(6 * 86_400_000);
    assert.equal((await there.spent()).tokens, 600);
    assert.equal(place.rows(), 1);
    clock.jump(2 * 86_400_000);
    assert.equal((await there.spent()).tokens, 600);
    assert.equal(place.rows(), 0);
  });

  test("a store that is closed leaves what its calls hold as spent, and keeps nothing", async () => {
    await using place = budgetFile();
    const { there } = await place.twoProcesses(1000);
    const store = await openSqliteStore(place.file);
    await new BudgetProcess(await store.sharedBudget("team")).granted(call(need(500, 100), { grow: tokens(50) }));
    await store[Symbol.asyncDispose]();
    assert.equal(place.rows(), 0);
    assert.deepEqual([await there.left(), (await there.spent()).tokens], [{ tokens: 400 }, 600]);
  });

  test("rows of dead processes are taken out when another joins", async () => {
    await using place = budgetFile();
    const { here } = await place.twoProcesses(1000);
    await here.settle(tokens(0), tokens(100));
    place.changeBooks((books) => asDead(books, "gone"));
    await (await place.open()).sharedBudget("team");
    assert.equal(place.rows(), 0);
    assert.equal((await here.spent()).tokens, 100);
  });

  test("a living process is heard of with every step, and has no timer for that", async () => {
    await using place = budgetFile();
    const clock = new VirtualClock(0);
    const process = new BudgetProcess(await (await place.open({ clock })).sharedBudget("team", { tokens: 1000 }));
    const seenAt = () => place.all("SELECT json_extract(books, '$.members[0].seenAt') AS at FROM purses");
    await process.granted(call(need(500, 100)));
    assert.deepEqual(seenAt(), [{ at: 0 }]);
    clock.jump(10_000);
    await process.step();
    assert.deepEqual(seenAt(), [{ at: 10_000 }]);
    assert.equal(clock.liveTimers, 0);
  });
});

suite("a shared budget in SQLite, when a clock jumps", () => {
  for (const jump of [-86_400_000, 86_400_000]) {
    test(`a living process still holds what it has when a clock jumps by ${jump} ms`, async () => {
      await using place = budgetFile();
      const { here, there, clock } = await place.twoProcesses(1000);
      await here.granted(call(need(500, 100)));
      clock.jump(jump);
      await there.waiting(call(need(400, 100)));
      assert.equal((await there.spent()).tokens, 0);
    });

    test(`a process that cannot be seen running holds no other up when a clock jumps by ${jump} ms`, async () => {
      await using place = budgetFile();
      const { here, there, clock } = await place.twoProcesses(1000);
      await here.granted(call(need(500, 100)));
      await here.waiting(call(need(900, 0), { since: 1 }));
      const asked = await there.waiting(call(need(10, 10), { since: 2 }));
      place.changeBooks(asElsewhere);
      clock.jump(jump);
      await there.granted(asked);
    });
  }
});

suite("a shared budget in a file that fails", () => {
  test("a locked file refuses with a reason, and is used again when it is free", async () => {
    await using place = budgetFile();
    const shared = await (await place.open({ busyTimeoutMs: 0 })).sharedBudget("team", { tokens: 1000 });
    const process = new BudgetProcess(shared);
    await process.granted(call(need(100, 50)));
    place.run("BEGIN IMMEDIATE");
    const sentence = `The shared budget "team" cannot be used: ${place.file} is locked by another program: close that program, or wait until it is done`;
    await assert.rejects(process.step(), new StoreError(sentence));
    await assert.rejects(process.settle(tokens(150), tokens(120)), new StoreError(sentence));
    await assert.rejects(shared.left(), new StoreError(sentence));
    place.run("ROLLBACK");
    await process.step();
    assert.deepEqual([await shared.left(), (await shared.spent()).tokens], [{ tokens: 880 }, 120]);
  });

  test("a step is answered at once, without a promise", async () => {
    await using place = budgetFile();
    const shared = opened(await (await place.open()).sharedBudget("team", { tokens: 1000 }));
    const { share } = new BudgetProcess(shared);
    const reply = shared.books.step({ share, asks: [], starts: 0, moves: true, mayLower: true, lapses: 0 });
    assert.ok(!(reply instanceof Promise));
    assert.equal(shared.books.leave(), undefined);
    assert.equal(
      shared.books.listen(() => undefined),
      undefined,
    );
  });

  test("a step that cannot be finished leaves nothing behind", async () => {
    await using place = budgetFile();
    const { here } = await place.twoProcesses(1000);
    await here.granted(call(need(400, 100)));
    place.run("CREATE TRIGGER no BEFORE UPDATE ON purses BEGIN SELECT raise(ABORT, 'disk full'); END");
    const before = place.all("SELECT * FROM purses");
    await assert.rejects(here.step([call(need(100, 100))], { starts: 1 }), StoreError);
    await assert.rejects(here.settle(tokens(500), tokens(1)), StoreError);
    await assert.rejects(here.leave(), StoreError);
    assert.deepEqual(place.all("SELECT * FROM purses"), before);
    place.run("DROP TRIGGER no");
    await here.step();
    assert.deepEqual(await here.left(), { tokens: 999 });
  });

  test("a file that is gone, closed or only looked at gives nothing", async () => {
    await using place = budgetFile();
    const { here } = await place.twoProcesses(1000);
    place.run("DELETE FROM purses");
    await assert.rejects(
      here.step(),
      new StoreError('The shared budget "team" cannot be used: it is no longer in the store'),
    );
    await here.leave();
    const readOnly = await place.open({ readOnly: true });
    await assert.rejects(readOnly.sharedBudget("team", { tokens: 1 }), UserError);
    const store = await openSqliteStore(place.file);
    const closed = new BudgetProcess(await store.sharedBudget("closed", { tokens: 1000 }));
    await store[Symbol.asyncDispose]();
    await assert.rejects(closed.step(), StoreError);
  });

  test("a database from before there were shared budgets gets them", async () => {
    await using place = budgetFile();
    await (await openSqliteStore(place.file))[Symbol.asyncDispose]();
    place.run(
      `${SQLITE_WITHOUT_PLACING} ALTER TABLE runs DROP COLUMN questions; DROP TABLE tallies; DROP TABLE purses; PRAGMA user_version = 1`,
    );
    const store = await place.open();
    assert.deepEqual(await (await store.sharedBudget("team", { tokens: 7 })).left(), { tokens: 7 });
  });
});
