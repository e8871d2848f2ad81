/** The promises of every store about processes: steps that are repeated or come late, processes that die, or come back. */

import assert from "node:assert/strict";
import type { CheckShared } from "./contract.ts";
import { inFlight, settled, twoProcesses } from "./shared-budget-asks.ts";

/** Part of `sharedBudgetContract`. */
export function processPromises(check: CheckShared): void {
  check("a step that is repeated counts once, and is answered as it was", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000, executions: 5 });
    const asks = [{ inFlight: 300, kept: 50 }, { unit: "executions", spent: 2 } as const];
    for (let sent = 0; sent < 3; sent++) {
      const { isTaken, isGranted } = await here.send([{ spent: 100 }], asks);
      assert.deepEqual([isTaken, isGranted], [true, true]);
    }
    assert.deepEqual(await there.left(), { tokens: 550, executions: 3 });
    here.number += 1;
    for (const expected of [false, false]) assert.equal((await here.send([], [inFlight(551)])).isGranted, expected);
    await there.step([{ unit: "executions", spent: 1 }]);
    assert.deepEqual(await there.spent(), { tokens: 100, costUsd: 0, executions: 3 });
  });

  check("a step that arrives after a later one changes nothing", async (users) => {
    const { here } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(inFlight(300));
    await here.step([settled(300, 100)]);
    await here.send([], [inFlight(300)], { number: 1 });
    await here.send([settled(300, 100)], [], { number: 2 });
    assert.deepEqual(await here.left(), { tokens: 900 });
  });

  check("a process that is gone: what its calls held counts as spent, what it kept is free", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000, executions: 5 });
    await here.granted({ inFlight: 300, kept: 500 }, { unit: "executions", spent: 1 });
    await there.refused(inFlight(700));
    await users.takeForDead("gone");
    const { isGranted, rows } = await there.step([], [inFlight(700)]);
    // The step that finds it has the rows as they are afterwards.
    const [tokens] = rows.filter(({ unit }) => unit === "tokens");
    assert.deepEqual([isGranted, tokens?.spent, tokens?.inFlight, tokens?.kept], [false, 300, 0, 0]);
    await there.granted(inFlight(700));
    assert.deepEqual(await there.spent(), { tokens: 300, costUsd: 0, executions: 1 });
  });

  check("a process that waits finds the dead without an ask", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(inFlight(300));
    await users.takeForDead("late");
    const { rows } = await there.step([], [], { waits: ["team"] });
    assert.equal(rows.find(({ unit }) => unit === "tokens")?.inFlight, 0);
  });

  check(
    "a process that is late is told when it comes back: its calls are in flight again, its reserves are gone",
    async (users) => {
      const { here, there } = await twoProcesses(users, { tokens: 1000 });
      await here.granted({ inFlight: 300, kept: 500 });
      await users.takeForDead("late");
      assert.deepEqual([await there.left(), (await there.spent()).tokens], [{ tokens: 700 }, 300]);
      // It is taken for dead once, however often others look.
      await there.left();
      const told = await here.step([settled(300, 50)], [{ inFlight: 100, kept: -500 }]);
      assert.deepEqual([told.isTaken, told.lapses], [false, 1]);
      assert.equal((await there.spent()).tokens, 300);
      await here.step([settled(300, 50)], [inFlight(100)]);
      assert.deepEqual([await there.left(), (await there.spent()).tokens], [{ tokens: 850 }, 50]);
    },
  );

  check("a process that comes back late cannot spend the reserves it had", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted({ inFlight: 0, kept: 500 });
    await users.takeForDead("late");
    await there.refused(inFlight(1001));
    await there.granted(inFlight(900));
    for (const _ of [1, 2]) await here.send([], [{ inFlight: 101, kept: -500 }]);
    here.lapses = 1;
    await here.refused({ inFlight: 101, kept: -500 });
    assert.deepEqual(await there.left(), { tokens: 100 });
  });

  check("a process that is told again because the answer was lost is told the same", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(inFlight(300));
    await users.takeForDead("late");
    await there.left();
    for (const _ of [1, 2]) assert.deepEqual([(await here.send()).isTaken, (await here.send()).lapses], [false, 1]);
    await here.step();
    assert.equal((await here.step()).isTaken, true);
    assert.deepEqual([(await there.spent()).tokens, (await there.row())?.inFlight], [0, 300]);
  });

  check("a process that comes back after it was gone for good corrects nothing it no longer holds", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted({ inFlight: 300, kept: 100 });
    await users.takeForDead("gone");
    assert.deepEqual(await there.left(), { tokens: 700 });
    const told = await here.step([{ inFlight: -300, kept: -100, spent: 50 }]);
    assert.deepEqual([told.isTaken, told.lapses], [false, 1]);
    await here.step([{ inFlight: -300, kept: -100, spent: 50 }]);
    const { spent, inFlight: held, kept } = (await there.row()) ?? {};
    assert.deepEqual([spent, held, kept], [350, 0, 0]);
  });

  check("who waits hears of what another gives back, where the store can tell", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    const { promise, resolve } = Promise.withResolvers<void>();
    let isAwaited = false;
    using listening = there.rows.listen?.(() => {
      if (isAwaited) resolve();
    });
    if (listening === undefined) return;
    await here.granted(inFlight(800));
    await there.refused(inFlight(500));
    isAwaited = true;
    await here.step([settled(800, 100)]);
    await promise;
    await there.granted(inFlight(500));
  });
}
