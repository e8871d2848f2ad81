/** The promises of every shared budget, as tests. Give it a way to register a test and a way to open one empty store for two processes. */

import assert from "node:assert/strict";
import type { BudgetRows, SharedBudgets } from "../../../../../src/core/shared-budget.ts";
import { openSharedBudget } from "../../../../../src/storage/store/shared-budget.ts";
import type { RegisterTest } from "../../../../../src/testing/store-contract.ts";
import { chainPromises } from "./chains.ts";
import { openingPromises } from "./opening.ts";
import { processPromises } from "./processes.ts";
import { type BudgetProcess, inFlight, settled, twoProcesses } from "./shared-budget-asks.ts";

/** Two processes on the same rows. */
export type SharedBudgetUsers = AsyncDisposable & {
  readonly one: SharedBudgets;
  readonly other: SharedBudgets;
  /** Makes the first look dead to the second: gone for certain, or not heard of for a minute. It is on a machine of its own. */
  readonly takeForDead: (how: "gone" | "late") => Promise<void>;
};

export type CheckShared = (name: string, run: (users: SharedBudgetUsers) => Promise<void>) => unknown;

/** The owner of the first process: this machine cannot see whether it runs. */
export const ELSEWHERE = "elsewhere boot 1 1 x";

export function sharing(rows: BudgetRows): SharedBudgets {
  return { sharedBudget: (name, limits, options) => openSharedBudget(rows, name, limits, options) };
}

/** Registers one test per promise. Each opens a store of its own, which must be empty. */
export function sharedBudgetContract(test: RegisterTest, open: () => Promise<SharedBudgetUsers>): void {
  const check: CheckShared = (name, run) =>
    test(`a shared budget: ${name}`, async () => {
      await using users = await open();
      await run(users);
    });

  openingPromises(check);
  chainPromises(check);
  processPromises(check);

  check("what one process holds, another cannot have", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(inFlight(700));
    assert.deepEqual(await there.left(), { tokens: 300 });
    await there.refused(inFlight(301));
    await here.step([settled(700, 450)]);
    assert.deepEqual(await there.left(), { tokens: 550 });
    assert.deepEqual(await there.spent(), { tokens: 450, costUsd: 0, executions: 0 });
    await there.granted(inFlight(550));
    await there.refused(inFlight(1));
  });

  check("all units are taken together or none", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000, costUsd: 1, executions: 2 });
    const all = (money: number) => [
      inFlight(600),
      { unit: "nanoUsd", inFlight: money } as const,
      { unit: "executions", spent: 1 } as const,
    ];
    await here.refused(...all(1e9 + 1));
    assert.deepEqual(await there.left(), { tokens: 1000, costUsd: 1, executions: 2 });
    await here.granted(...all(1e9));
    assert.deepEqual(await there.left(), { tokens: 400, costUsd: 0, executions: 1 });
  });

  check("a step gives back before it asks", async (users) => {
    const { here } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(inFlight(1000));
    const { isGranted } = await here.step([settled(1000, 100)], [inFlight(900)]);
    assert.equal(isGranted, true);
    assert.deepEqual(await here.left(), { tokens: 0 });
  });

  check("what is given back counts also when what is asked for is not granted", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(inFlight(700));
    const { isTaken, isGranted } = await here.step([settled(700, 100)], [inFlight(901)]);
    assert.deepEqual([isTaken, isGranted, await there.left()], [true, false, { tokens: 900 }]);
  });

  check("last words are kept, and their call is paid from them, also when nothing else is left", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted({ inFlight: 200, kept: 300 });
    await there.granted(inFlight(500));
    await there.refused(inFlight(1));
    await here.granted({ inFlight: 300, kept: -300 });
    assert.deepEqual(await there.left(), { tokens: 0 });
    const { kept } = (await there.row()) ?? {};
    assert.equal(kept, 0);
  });

  check("more than was reserved counts in full, and is never hidden", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(inFlight(700));
    await here.step([settled(700, 1500), { unit: "nanoUsd", spent: 7 }]);
    assert.deepEqual(await there.left(), { tokens: 0 });
    assert.deepEqual(await there.spent(), { tokens: 1500, costUsd: 7e-9, executions: 0 });
    await there.refused(inFlight(1));
  });

  check("no process can give back more than it holds, whatever its figures are", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(inFlight(400));
    await there.step([{ inFlight: -400, kept: -50, spent: -9 }]);
    assert.deepEqual(await here.left(), { tokens: 600 });
    await there.step([{ inFlight: -0.5, kept: Number.NEGATIVE_INFINITY }]);
    assert.deepEqual(await here.left(), { tokens: 600 });
    // What is no number may be anything: nothing more is spent.
    await there.step([{ spent: Number.NaN }]);
    assert.deepEqual(await here.left(), { tokens: 0 });
    assert.equal((await here.spent()).tokens, Number.MAX_SAFE_INTEGER);
    await there.refused({ inFlight: Number.NaN });
    await here.refused(inFlight(1));
  });

  check("where nothing is limited everything is counted", async (users) => {
    const { here } = await twoProcesses(users, { executions: 5 });
    await here.granted(inFlight(10_000_000));
    await here.step([settled(10_000_000, 500), { unit: "nanoUsd", spent: 3 }]);
    assert.deepEqual(await here.left(), { executions: 5 });
    assert.deepEqual(await here.spent(), { tokens: 500, costUsd: 3e-9, executions: 0 });
  });

  check("a child that starts spends an execution, which comes back only if it never started", async (users) => {
    const { here, there } = await twoProcesses(users, { executions: 3 });
    await here.granted({ unit: "executions", spent: 2 });
    await there.refused({ unit: "executions", spent: 2 });
    await there.granted({ unit: "executions", spent: 1 });
    await here.refused({ unit: "executions", spent: 1 });
    await there.step([{ unit: "executions", spent: -1 }]);
    await here.granted({ unit: "executions", spent: 1 });
    assert.deepEqual(await there.left(), { executions: 0 });
  });

  check("limits that are replaced hold from the next step on", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(inFlight(700));
    await there.refused(inFlight(900));
    await users.one.sharedBudget("team", { tokens: 2000 }, { existing: "replace" });
    await there.granted(inFlight(900));
    await users.one.sharedBudget("team", { tokens: 500 }, { existing: "replace" });
    await here.refused(inFlight(1));
    await here.step([settled(700, 100)]);
    await there.step([settled(900, 350)]);
    await here.refused(inFlight(51));
    await here.granted(inFlight(50));
  });

  check("two who race for room for few spend it to the end and not beyond", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    let spent = 0;
    const race = async (process: BudgetProcess) => {
      while (await process.ask(inFlight(30))) {
        spent += 25;
        await process.step([settled(30, 25)]);
      }
    };
    await Promise.all([race(here), race(there)]);
    assert.deepEqual([(await here.spent()).tokens, await here.left()], [spent, { tokens: 1000 - spent }]);
    assert.ok(spent > 1000 - 2 * 30 && spent <= 1000, String(spent));
  });
}
