/** The promises of every shared budget about processes: steps that are repeated, processes that leave, die, or come back. */

import assert from "node:assert/strict";
import { NO_AMOUNT } from "../../../../../src/core/amount.ts";
import type { SharedBudgetUsers } from "./contract.ts";
import { call, need, tokens, twoProcesses } from "./shared-budget-asks.ts";

/** Part of `sharedBudgetContract`. */
export function processPromises(
  check: (name: string, run: (users: SharedBudgetUsers) => Promise<void>) => unknown,
): void {
  check("a step that is repeated counts once", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000, executions: 5 });
    here.share = { ...here.share, spent: tokens(100) };
    const asks = [call(need(200, 100), { grow: tokens(50) })];
    const first = await here.send(asks, { starts: 2 });
    const second = await here.send(asks, { starts: 2 });
    assert.deepEqual({ ...second, since: 0 }, { ...first, since: 0 });
    assert.deepEqual(await there.left(), { tokens: 550, executions: 3 });
    await here.step(asks, { starts: 2 });
    assert.deepEqual(await there.left(), { tokens: 550, executions: 3 });
    assert.deepEqual(await there.spent(), { tokens: 100, costUsd: 0, executions: 2 });
  });

  check("a process that leaves keeps nothing, and what its calls still hold counts as spent", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000, executions: 5 });
    await here.step([], { starts: 2 });
    await here.granted(call(need(200, 100), { grow: tokens(50) }));
    await here.settle(tokens(300), tokens(250));
    await here.granted(call(need(100, 100)));
    await there.waiting(call(need(501, 0)));
    await here.leave();
    await here.leave();
    assert.deepEqual(await there.spent(), { tokens: 450, costUsd: 0, executions: 2 });
    assert.deepEqual(await there.left(), { tokens: 550, executions: 3 });
    await there.granted(call(need(501, 0)));
  });

  check("a process that leaves while it waits holds up no other", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await there.granted(call(need(400, 0)));
    await here.waiting(call(need(700, 0), { since: 1 }));
    const asked = await there.waiting(call(need(100, 0), { since: 2 }));
    await here.leave();
    await there.granted(asked);
  });

  check("a process that is gone: what its calls held counts as spent, what it kept is free", async (users) => {
    if (users.takeForDead === undefined) return;
    const { here, there } = await twoProcesses(users, { tokens: 1000, executions: 5 });
    await here.step([], { starts: 1 });
    await here.granted(call(need(200, 100), { grow: tokens(500) }));
    const asked = await there.waiting(call(need(700, 0)));
    await users.takeForDead("gone");
    await there.granted(asked);
    assert.deepEqual(await there.spent(), { tokens: 300, costUsd: 0, executions: 1 });
    assert.deepEqual(await there.left(), { tokens: 0, executions: 4 });
  });

  check("a process that is late is told when it comes back, and the books are put right", async (users) => {
    if (users.takeForDead === undefined) return;
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(call(need(200, 100), { grow: tokens(500) }));
    await users.takeForDead("late");
    assert.deepEqual(await there.left(), { tokens: 700 });
    assert.deepEqual((await there.spent()).tokens, 300);
    await there.granted(call(need(600, 0)));
    here.share = { ...here.share, inFlight: NO_AMOUNT, spent: tokens(50) };
    const asks = [
      call(need(20, 0), { grow: tokens(30) }),
      call(need(20, 0), { grow: tokens(30), instead: tokens(500) }),
    ];
    const { wasLapsed, answers } = await here.step(asks);
    assert.deepEqual([wasLapsed, answers.map(({ kind }) => kind)], [true, ["granted", "granted"]]);
    assert.deepEqual(here.share.kept, tokens(60));
    assert.deepEqual(await there.left(), { tokens: 250 });
    assert.deepEqual((await there.spent()).tokens, 50);
    assert.equal((await here.step()).wasLapsed, false);
    assert.deepEqual(await there.left(), { tokens: 250 });
  });

  check("a process that comes back late cannot spend the reserves it had", async (users) => {
    if (users.takeForDead === undefined) return;
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(call(need(0, 0), { grow: tokens(500) }));
    await users.takeForDead("late");
    await there.granted(call(need(900, 0)));
    const closing = call(need(101, 0), { instead: tokens(500) });
    assert.deepEqual((await here.step([closing])).answers, [{ kind: "wait" }]);
    assert.deepEqual(await there.left(), { tokens: 100 });
  });

  check("a process that comes back late is told again when the answer got lost", async (users) => {
    if (users.takeForDead === undefined) return;
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(call(need(0, 0), { grow: tokens(500) }));
    await users.takeForDead("late");
    await there.granted(call(need(900, 0)));
    assert.equal((await here.send()).wasLapsed, true);
    assert.equal((await here.step()).wasLapsed, true);
    assert.equal((await here.step()).wasLapsed, false);
    assert.deepEqual(await there.left(), { tokens: 100 });
  });

  for (const how of ["gone", "late"] as const)
    check(`a process that is ${how} neither moves, nor waits, nor has anything in flight`, async (users) => {
      if (users.takeForDead === undefined) return;
      const { here, there } = await twoProcesses(users, { tokens: 1000 });
      await here.granted(call(need(600, 0)));
      await here.waiting(call(need(900, 0), { since: 1 }));
      const asked = await there.waiting(call(need(200, 100, 5000), { since: 2 }));
      await users.takeForDead(how);
      assert.equal(await there.granted(asked), 200);
      await there.settle(tokens(400), tokens(100));
      there.share = { ...there.share, kept: tokens(200) };
      assert.equal((await there.step([call(need(200, 0))], { moves: false })).mustRefuse, true);
    });

  check("a child that may not start because of a dead process still may not", async (users) => {
    if (users.takeForDead === undefined) return;
    const { here, there } = await twoProcesses(users, { executions: 2 });
    assert.equal((await here.step([], { starts: 2 })).starts, 2);
    await users.takeForDead("gone");
    assert.equal((await there.step([], { starts: 1 })).starts, 0);
  });

  check("who waits hears of what another gives back, where the store can tell", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    const { promise, resolve } = Promise.withResolvers<void>();
    let isAwaited = false;
    using listening = there.listen(() => {
      if (isAwaited) resolve();
    });
    if (listening === undefined) return;
    await here.granted(call(need(800, 0)));
    const asked = await there.waiting(call(need(500, 0)));
    isAwaited = true;
    await here.settle(tokens(800), tokens(100));
    await promise;
    await there.granted(asked);
  });
}
