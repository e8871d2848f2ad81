/** The promises of every shared budget, as tests. Give it a way to register a test and a way to open two views of one empty store. */

import assert from "node:assert/strict";
import { NO_AMOUNT } from "../../../../../src/core/amount.ts";
import type { SharedBudgets } from "../../../../../src/core/shared-budget.ts";
import type { RegisterTest } from "../../../../../src/testing/store-contract.ts";
import { openingPromises } from "./opening.ts";
import { processPromises } from "./processes.ts";
import { BudgetProcess, call, need, tokens, twoProcesses } from "./shared-budget-asks.ts";
import { waitingPromises } from "./waiting.ts";

/** Two users of the same store: two processes, or two parts of one. */
export type SharedBudgetUsers = AsyncDisposable & {
  readonly one: SharedBudgets;
  readonly other: SharedBudgets;
  /**
   * Makes the process whose row is the first in the books of "team" look dead to `other`: gone for certain, or not heard of
   * for a minute. Unset when no process can die alone, as in memory.
   */
  readonly takeForDead?: ((how: "gone" | "late") => Promise<void>) | undefined;
};

/** Registers one test per promise. Each opens a store of its own, which must be empty. */
export function sharedBudgetContract(test: RegisterTest, open: () => Promise<SharedBudgetUsers>): void {
  const check = (name: string, run: (users: SharedBudgetUsers) => Promise<void>) =>
    test(`a shared budget: ${name}`, async () => {
      await using users = await open();
      await run(users);
    });

  openingPromises(check);
  waitingPromises(check);
  processPromises(check);

  check("what one process holds, another cannot have", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(call(need(400, 300)));
    assert.deepEqual(await there.left(), { tokens: 300 });
    await there.waiting(call(need(300, 1)));
    await here.settle(tokens(700), tokens(450));
    assert.deepEqual(await there.left(), { tokens: 550 });
    assert.deepEqual(await there.spent(), { tokens: 450, costUsd: 0, executions: 0 });
    await there.granted(call(need(300, 1)));
  });

  check("the tightest of two limits decides how much output there is", async ({ one }) => {
    const byTokens = new BudgetProcess(await one.sharedBudget("tokens", { tokens: 1000, costUsd: 1 }));
    assert.equal(await byTokens.granted(call(need(100, 10, 5000))), 900);
    const byMoney = new BudgetProcess(await one.sharedBudget("money", { tokens: 100_000, costUsd: 0.001 }));
    assert.equal(await byMoney.granted(call(priced(100, 10, 5000))), 46);
    assert.deepEqual(await byMoney.left(), { tokens: 99_854, costUsd: 0.00001 });
    assert.deepEqual((await byMoney.step([call(priced(1000, 10, 5000))])).answers, [{ kind: "never" }]);
  });

  check("of an unknown price only the tokens are enforced", async ({ one }) => {
    const process = new BudgetProcess(await one.sharedBudget("team", { tokens: 500, costUsd: 0 }));
    assert.equal(await process.granted(call(need(100, 10, 50))), 50);
    assert.deepEqual(await process.left(), { tokens: 350, costUsd: 0 });
    assert.deepEqual((await process.step([call(priced(1, 1, 1))])).answers, [{ kind: "never" }]);
  });

  check("a limit of nothing gives nothing", async ({ one }) => {
    const process = new BudgetProcess(await one.sharedBudget("none", { tokens: 0, executions: 0 }));
    const reply = await process.step([call(need(1, 1))], { starts: 1 });
    assert.deepEqual([reply.starts, reply.answers], [0, [{ kind: "never" }]]);
    assert.deepEqual(await process.left(), { tokens: 0, executions: 0 });
  });

  check("what was given back whole is whole again", async ({ one }) => {
    const process = new BudgetProcess(await one.sharedBudget("team", { tokens: 1000, costUsd: 1 }));
    await process.granted(call(need(400, 300)));
    await process.settle(tokens(700), NO_AMOUNT);
    assert.deepEqual(await process.left(), { tokens: 1000, costUsd: 1 });
    assert.deepEqual(await process.spent(), { tokens: 0, costUsd: 0, executions: 0 });
  });

  check("more than was reserved counts in full, and is never hidden", async ({ one }) => {
    const process = new BudgetProcess(await one.sharedBudget("team", { tokens: 1000 }));
    await process.granted(call(need(400, 300)));
    await process.settle(tokens(700), { tokens: 1500, nanoUsd: 7 });
    assert.deepEqual(await process.left(), { tokens: 0 });
    assert.deepEqual(await process.spent(), { tokens: 1500, costUsd: 7e-9, executions: 0 });
    assert.deepEqual((await process.step([call(need(1, 0))])).answers, [{ kind: "never" }]);
  });

  check("whatever the figures of a process are, the books stay numbers", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    const report = async (figure: number) => {
      here.share = { ...here.share, spent: tokens(figure) };
      await here.step();
      return (await there.spent()).tokens;
    };
    assert.equal(await report(-5), 0);
    assert.equal(await report(0.5), 1);
    // What is no number may be anything: nothing more is spent until it is known.
    assert.equal(await report(Number.NaN), Number.MAX_SAFE_INTEGER);
    assert.equal(await report(Number.POSITIVE_INFINITY), Number.MAX_SAFE_INTEGER);
    assert.deepEqual(await there.left(), { tokens: 0 });
    assert.equal(await report(400), 400);
    assert.deepEqual(await there.left(), { tokens: 600 });
  });

  check("where nothing is limited everything is counted", async ({ one }) => {
    const process = new BudgetProcess(await one.sharedBudget("team", { executions: 5 }));
    assert.equal(await process.granted(call(need(400, 300))), Number.POSITIVE_INFINITY);
    await process.settle(tokens(700), { tokens: 500, nanoUsd: 3 });
    assert.deepEqual(await process.left(), { executions: 5 });
    assert.deepEqual(await process.spent(), { tokens: 500, costUsd: 3e-9, executions: 0 });
  });

  check("a child that starts spends an execution, which comes back only if it never started", async (users) => {
    const { here, there } = await twoProcesses(users, { executions: 3 });
    assert.equal((await here.step([], { starts: 2 })).starts, 2);
    assert.equal((await there.step([], { starts: 2 })).starts, 1);
    assert.equal((await here.step([], { starts: 1 })).starts, 0);
    there.share = { ...there.share, executions: 0 };
    await there.step();
    assert.equal((await here.step([], { starts: 2 })).starts, 1);
    assert.deepEqual(await there.left(), { executions: 0 });
    assert.deepEqual(await there.spent(), { tokens: 0, costUsd: 0, executions: 3 });
  });

  check("limits that are replaced hold from the next step on", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(call(need(400, 300)));
    const asked = await there.waiting(call(need(900, 100)));
    await users.one.sharedBudget("team", { tokens: 2000 }, { existing: "replace" });
    await there.granted(asked);
    await users.one.sharedBudget("team", { tokens: 500 }, { existing: "replace" });
    assert.deepEqual((await here.step([call(need(400, 101))])).answers, [{ kind: "never" }]);
    await here.settle(tokens(700), tokens(450));
    assert.deepEqual((await here.step([call(need(50, 1))])).answers, [{ kind: "never" }]);
    await here.waiting(call(need(49, 1)));
  });

  check("a hundred who want it at once spend it to the end and not beyond", async ({ one, other }) => {
    const opened = await Promise.all(
      Array.from({ length: 100 }, (_, index) => (index % 2 ? one : other).sharedBudget("team", { tokens: 1000 })),
    );
    const kinds = await Promise.all(
      opened.map(async (shared) => {
        const process = new BudgetProcess(shared);
        const { answers } = await process.step([call(need(20, 10))]);
        if (answers[0]?.kind === "granted") await process.settle(tokens(30), tokens(25));
        return answers[0]?.kind;
      }),
    );
    const calls = kinds.filter((kind) => kind === "granted").length;
    assert.deepEqual(await opened[0]?.left(), { tokens: 1000 - 25 * calls });
    assert.ok(calls >= 33 && calls <= 39, `${calls} calls of 25 to 30 tokens`);
  });
}

/** At $3 and $15 for a million tokens. */
function priced(prompt: number, least: number, most: number) {
  return {
    prompt: { tokens: prompt, nanoUsd: prompt * 3_000 },
    perToken: { tokens: 1, nanoUsd: 15_000 },
    least,
    enough: most,
    most,
  };
}
