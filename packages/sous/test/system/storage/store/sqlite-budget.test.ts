/** Shared budgets in SQLite: the contract of every shared budget, processes that die or wake up late, and files that fail. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { suite, test } from "node:test";
import { StoreError, UserError } from "../../../../src/core/errors.ts";
import { newOwner } from "../../../../src/storage/store/owner.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { budgetFile } from "../../../support/storage/store/budget-file.ts";
import { OLDER_BOOKS, OLDER_SQLITE_BUDGETS } from "../../../support/storage/store/older-budgets.ts";
import { ELSEWHERE, sharedBudgetContract, sharing } from "../../../support/storage/store/shared-budget/contract.ts";
import { deletesBudgetsOfTrees } from "../../../support/storage/store/shared-budget/deleted-trees.ts";
import { opened } from "../../../support/storage/store/shared-budget/opened.ts";
import { BudgetProcess, inFlight, settled } from "../../../support/storage/store/shared-budget/shared-budget-asks.ts";
import { SQLITE_WITHOUT_PLACING } from "../../../support/storage/store/without-placing.ts";
import { budgetWorker } from "./shared-budget-worker.ts";

sharedBudgetContract(test, async () => {
  const place = budgetFile();
  const dead = new Set<string>();
  const clock = new VirtualClock(1_000_000);
  const isGone = (owner: string) => dead.has(owner);
  return {
    one: sharing(await place.rows(ELSEWHERE, clock)),
    other: sharing(await place.rows("elsewhere boot 2 1 x", clock, isGone)),
    async takeForDead(how) {
      if (how === "gone") dead.add(ELSEWHERE);
      else clock.jump(60_000);
    },
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
    await here.refused(inFlight(600));
    child.kill("SIGKILL");
    await once(child, "exit");
    await here.refused(inFlight(600));
    await here.granted(inFlight(600));
    assert.deepEqual(await here.spent(), { tokens: 300, costUsd: 0, executions: 1 });
    assert.deepEqual([await here.left(), place.processes()], [{ tokens: 100, executions: 2 }, [1, 1]]);
  });

  test("a process that cannot be seen running becomes the past when it does not come back in a week", async () => {
    await using place = budgetFile();
    const { here, there, clock } = await place.twoProcesses(1000, ELSEWHERE);
    await here.granted(inFlight(600));
    clock.jump(6 * 86_400_000);
    assert.equal((await there.spent()).tokens, 600);
    assert.deepEqual(place.processes(), [1, 1]);
    clock.jump(2 * 86_400_000);
    assert.equal((await there.spent()).tokens, 600);
    assert.deepEqual(place.processes(), [0, 0]);
  });

  test("a store that is closed leaves what its calls hold as spent, and keeps nothing", async () => {
    await using place = budgetFile();
    const { there } = await place.twoProcesses(1000);
    const store = await openSqliteStore(place.file);
    await new BudgetProcess(await store.sharedBudget("team")).granted({ inFlight: 600, kept: 50 });
    await store[Symbol.asyncDispose]();
    assert.deepEqual(place.processes(), [0, 0]);
    assert.deepEqual([await there.left(), (await there.spent()).tokens], [{ tokens: 400 }, 600]);
  });

  test("a process is dead when its number belongs to a younger one, and is found when another joins", async () => {
    await using place = budgetFile();
    const [host, boot, pid, , random] = newOwner().split(" ");
    const { here } = await place.twoProcesses(1000, [host, boot, pid, "1", random].join(" "));
    await here.granted({ inFlight: 100, kept: 400 });
    const joined = await (await place.open()).sharedBudget("team");
    assert.deepEqual(place.processes(), [0, 0]);
    assert.deepEqual([await joined.left(), (await joined.spent()).tokens], [{ tokens: 900 }, 100]);
  });

  for (const jump of [-86_400_000, 86_400_000]) {
    test(`a living process of this machine still holds what it has when a clock jumps by ${jump} ms`, async () => {
      await using place = budgetFile();
      const { here, there, clock } = await place.twoProcesses(1000);
      await here.granted(inFlight(600));
      clock.jump(jump);
      await there.refused(inFlight(500));
      assert.equal((await there.spent()).tokens, 0);
    });

    test(`a process that cannot be seen running holds no other up when a clock jumps by ${jump} ms`, async () => {
      await using place = budgetFile();
      const { here, there, clock } = await place.twoProcesses(1000, ELSEWHERE);
      await here.granted({ inFlight: 10, kept: 900 });
      clock.jump(jump);
      await there.refused(inFlight(900));
      await there.granted(inFlight(900));
    });
  }
});

suite("a shared budget in a file that fails", () => {
  test("a locked file refuses with a reason, and is used again when it is free", async () => {
    await using place = budgetFile();
    const shared = await (await place.open({ busyTimeoutMs: 0 })).sharedBudget("team", { tokens: 1000 });
    const process = new BudgetProcess(shared);
    await process.granted(inFlight(150));
    place.run("BEGIN IMMEDIATE");
    const sentence = `The shared budget "team" cannot be used: ${place.file} is locked by another program: close that program, or wait until it is done`;
    await assert.rejects(process.step([settled(150, 120)]), new StoreError(sentence));
    await assert.rejects(shared.left(), new StoreError(sentence));
    place.run("ROLLBACK");
    await process.step([settled(150, 120)]);
    assert.deepEqual([await shared.left(), (await shared.spent()).tokens], [{ tokens: 880 }, 120]);
  });

  test("a step is answered at once, without a promise", async () => {
    await using place = budgetFile();
    const { rows } = opened(await (await place.open()).sharedBudget("team", { tokens: 1000 }));
    const step = { number: 1, lapses: 0, made: [], gives: [], asks: [], names: ["team"], waits: [] };
    assert.ok(!(rows.step(step) instanceof Promise));
    assert.equal(rows.listen, undefined);
  });

  test("a step that cannot be finished leaves nothing behind", async () => {
    await using place = budgetFile();
    const { here } = await place.twoProcesses(1000);
    await here.granted(inFlight(500));
    place.run("CREATE TRIGGER no BEFORE UPDATE ON budget_owners BEGIN SELECT raise(ABORT, 'disk full'); END");
    const before = place.all("SELECT * FROM budgets");
    await assert.rejects(here.step([settled(500, 1)], [inFlight(200)]), StoreError);
    assert.deepEqual(place.all("SELECT * FROM budgets"), before);
    place.run("DROP TRIGGER no");
    await here.step([settled(500, 1)]);
    assert.deepEqual(await here.left(), { tokens: 999 });
  });

  test("nothing can be had from a damaged row, and nothing is known", async () => {
    for (const damage of [
      "cap = 'many'",
      "cap = 9223372036854775807",
      "spent = -5",
      "kept = 0.5",
      "in_flight = x'00'",
    ]) {
      await using place = budgetFile();
      const { here } = await place.twoProcesses(1000);
      await here.granted(inFlight(100));
      place.run(`UPDATE budgets SET ${damage} WHERE unit = 'tokens'`);
      await assert.rejects(here.step([], [inFlight(100)]), StoreError, damage);
      await assert.rejects(here.left(), /its row is damaged|too large/, damage);
    }
  });

  test("a budget that is gone, closed or only looked at gives nothing", async () => {
    await using place = budgetFile();
    const { here } = await place.twoProcesses(1000);
    place.run("DELETE FROM budgets");
    await here.refused(inFlight(1));
    const gone = new StoreError('The shared budget "team" cannot be used: it is no longer in the store');
    await assert.rejects(here.left(), gone);
    const readOnly = await place.open({ readOnly: true });
    await assert.rejects(readOnly.sharedBudget("team", { tokens: 1 }), UserError);
    const store = await openSqliteStore(place.file);
    const closed = new BudgetProcess(await store.sharedBudget("closed", { tokens: 1000 }));
    await store[Symbol.asyncDispose]();
    await assert.rejects(closed.step(), StoreError);
  });
});

test("the rows of a tree end with the tree, in SQLite", async () => {
  await using place = budgetFile();
  await deletesBudgetsOfTrees(await place.open());
});

suite("a database from before", () => {
  test("a database from before there were shared budgets gets them", async () => {
    await using place = budgetFile();
    await (await openSqliteStore(place.file))[Symbol.asyncDispose]();
    place.run(`${OLDER_SQLITE_BUDGETS} DROP TABLE purses`);
    place.run(SQLITE_WITHOUT_PLACING);
    place.run("ALTER TABLE runs DROP COLUMN questions; DROP TABLE tallies; PRAGMA user_version = 1");
    const store = await place.open();
    assert.deepEqual(await (await store.sharedBudget("team", { tokens: 7 })).left(), { tokens: 7 });
  });

  test("a shared budget from before has spent what its processes held, and keeps nothing for them", async () => {
    await using place = budgetFile();
    await (await openSqliteStore(place.file))[Symbol.asyncDispose]();
    place.run(`${OLDER_SQLITE_BUDGETS} ${SQLITE_WITHOUT_PLACING} PRAGMA user_version = 5`);
    place.run(`INSERT INTO purses VALUES ('team', 1000, NULL, 9, '${OLDER_BOOKS}'), ('broken', 5, 5, 5, '{')`);
    const store = await place.open();
    const team = await store.sharedBudget("team", { tokens: 1000, executions: 9 });
    assert.deepEqual(await team.left(), { tokens: 854, executions: 4 });
    assert.deepEqual(await team.spent(), { tokens: 146, costUsd: 1460e-9, executions: 5 });
    await assert.rejects(store.sharedBudget("broken"), UserError);
  });
});
