/** The promises of every store about chains of budgets: a share within its tree within a shared budget. */

import assert from "node:assert/strict";
import type { MadeBudget } from "../../../../../src/core/shared-budget.ts";
import type { CheckShared } from "./contract.ts";
import { inFlight, settled, twoProcesses } from "./shared-budget-asks.ts";

const NOTHING = { tokens: 0, nanoUsd: 0, executions: 0 };

function made(name: string, tokens: number, more: Partial<MadeBudget> = {}): MadeBudget {
  return {
    name,
    limits: { tokens, nanoUsd: undefined, executions: undefined },
    spent: NOTHING,
    replaces: false,
    ...more,
  };
}

/** Part of `sharedBudgetContract`. */
export function chainPromises(check: CheckShared): void {
  check("a share that is missing is made by the first step on it, and the others find it", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    const chain = [made("TREE", 600), made("TREE/scout", 200)];
    const asks = [inFlight(100), inFlight(100, "TREE"), inFlight(100, "TREE/scout")];
    const both = await Promise.all([here.step([], asks, { made: chain }), there.step([], asks, { made: chain })]);
    assert.deepEqual(
      both.map(({ isGranted }) => isGranted),
      [true, true],
    );
    assert.equal((await there.row("tokens", "TREE"))?.inFlight, 200);
    await there.refused(inFlight(1), inFlight(1, "TREE"), inFlight(1, "TREE/scout"));
    assert.deepEqual(await there.left(), { tokens: 800 });
  });

  check("an ask takes from every row of its chain or from none", async (users) => {
    const { here } = await twoProcesses(users, { tokens: 1000 });
    const chain = [made("TREE", 2000), made("TREE/scout", 5000)];
    await here.step([], [], { made: chain, names: ["TREE", "TREE/scout"] });
    const ask = (amount: number) => [inFlight(amount), inFlight(amount, "TREE"), inFlight(amount, "TREE/scout")];
    await here.refused(...ask(1001));
    assert.equal((await here.row("tokens", "TREE"))?.inFlight, 0);
    await here.granted(...ask(1000));
    await here.step([settled(1000, 300), settled(1000, 300, "TREE"), settled(1000, 300, "TREE/scout")]);
    for (const name of ["team", "TREE", "TREE/scout"]) {
      const { spent, inFlight: held } = (await here.row("tokens", name)) ?? {};
      assert.deepEqual([name, spent, held], [name, 300, 0]);
    }
  });

  check(
    "what a tree had spent before it had rows counts once, and limits are replaced by its own process alone",
    async (users) => {
      const { here, there } = await twoProcesses(users, { tokens: 1000 });
      const tree = made("TREE", 600, { spent: { ...NOTHING, tokens: 250 } });
      for (const process of [here, there]) await process.step([], [], { made: [tree], names: ["TREE"] });
      assert.deepEqual(
        [(await here.row("tokens", "TREE"))?.spent, (await here.row("tokens", "TREE"))?.limit],
        [250, 600],
      );
      await there.step([], [], { made: [made("TREE", 100)], names: ["TREE"] });
      assert.equal((await here.row("tokens", "TREE"))?.limit, 600);
      await here.step([], [], { made: [made("TREE", 900, { replaces: true })], names: ["TREE"] });
      assert.deepEqual(
        [(await there.row("tokens", "TREE"))?.spent, (await there.row("tokens", "TREE"))?.limit],
        [250, 900],
      );
    },
  );

  check("a name may hold what a path holds", async (users) => {
    const { here } = await twoProcesses(users, { tokens: 1000 });
    for (const name of ["TREE/a\\b#2/\ud800", "TREE/\0", `TREE/${"x".repeat(1_000)}`, "TREE/o'brien\"$1"]) {
      const { isGranted, rows } = await here.step([], [inFlight(5, name)], { made: [made(name, 10)], names: [name] });
      assert.deepEqual([isGranted, rows.map((row) => row.name)], [true, [name, name, name]]);
      await here.refused(inFlight(6, name));
    }
  });

  check(
    "a row that is not there is not reported, nothing is granted on it, and others are stepped on",
    async (users) => {
      const { here } = await twoProcesses(users, { tokens: 1000 });
      await here.granted(inFlight(500));
      const { isTaken, isGranted, rows } = await here.step(
        [settled(500, 100), settled(5, 5, "gone")],
        [inFlight(1, "gone")],
      );
      assert.deepEqual([isTaken, isGranted, new Set(rows.map(({ name }) => name))], [true, false, new Set(["team"])]);
      assert.deepEqual(await here.left(), { tokens: 900 });
    },
  );
}
