/** What every shared budget promises, as tests. Give it a way to register a test and a way to open two views of one empty store. */

import assert from "node:assert/strict";
import { BudgetExceeded } from "../core/errors.ts";
import { NO_AMOUNT } from "../core/purse.ts";
import { NEW_PLACE, type PurseReply, type SharedBudgets } from "../core/shared-budget.ts";
import { granted, need, waiting } from "./purse-asks.ts";
import { openingPromises } from "./shared-budget-opening.ts";
import type { RegisterTest } from "./store-contract.ts";

/** Two users of the same store: two processes, or two parts of one. */
export type SharedBudgetUsers = AsyncDisposable & { readonly one: SharedBudgets; readonly other: SharedBudgets };

/** Registers one test per promise. Each opens a store of its own, which must be empty. */
export function sharedBudgetContract(test: RegisterTest, open: () => Promise<SharedBudgetUsers>): void {
  const check = (name: string, run: (users: SharedBudgetUsers) => Promise<void>) =>
    test(`a shared budget: ${name}`, async () => {
      await using users = await open();
      await run(users);
    });

  openingPromises(check);

  check("what one reserves, the other cannot", async ({ one, other }) => {
    const here = await one.sharedBudget("team", { tokens: 1000 });
    const there = await other.sharedBudget("team", { tokens: 1000 });
    const held = await granted(here, { need: need(400, 300) });
    assert.deepEqual(await there.left(), { tokens: 300 });
    assert.deepEqual(
      await there.purse.reserve({ kind: "call", need: need(300, 1) }),
      refusal(new BudgetExceeded("tokens", 1001, 1000)),
    );
    await here.purse.settle(held.leaseId, { tokens: 450, nanoUsd: 0 });
    assert.deepEqual(await there.left(), { tokens: 550 });
    assert.deepEqual(await there.spent(), { tokens: 450, costUsd: 0, executions: 0 });
  });

  check("gives as much output as is left between the two bounds, in tokens and in money", async ({ one }) => {
    const byTokens = await one.sharedBudget("tokens", { tokens: 1000 });
    assert.equal((await granted(byTokens, { need: need(100, 10, 5000) })).output, 900);
    const byMoney = await one.sharedBudget("money", { costUsd: 0.001 });
    const priced = {
      ...need(100, 10, 5000),
      prompt: { tokens: 100, nanoUsd: 300_000 },
      perToken: { tokens: 1, nanoUsd: 15_000 },
    };
    assert.equal((await granted(byMoney, { need: priced })).output, 46);
    assert.deepEqual(await byMoney.left(), { costUsd: 0.00001 });
    assert.deepEqual(
      await byMoney.purse.reserve({ kind: "call", need: priced }),
      refusal(new BudgetExceeded("costUsd", 0.00144, 0.001)),
    );
  });

  check("of an unknown price only the tokens are enforced", async ({ one }) => {
    const shared = await one.sharedBudget("team", { tokens: 500, costUsd: 0 });
    assert.equal((await granted(shared, { need: need(100, 10, 50) })).output, 50);
    assert.deepEqual(await shared.left(), { tokens: 350, costUsd: 0 });
  });

  check("a limit of nothing gives nothing", async ({ one }) => {
    const shared = await one.sharedBudget("none", { tokens: 0, executions: 0 });
    assert.deepEqual(
      await shared.purse.reserve({ kind: "call", need: need(1, 1), place: NEW_PLACE }),
      refusal(new BudgetExceeded("tokens", 2, 0)),
    );
    assert.deepEqual(await shared.purse.startExecution(), new BudgetExceeded("executions", 0, 0));
    assert.deepEqual(await shared.left(), { tokens: 0, executions: 0 });
  });

  check("what was given back whole is whole again", async ({ one }) => {
    const shared = await one.sharedBudget("team", { tokens: 1000, costUsd: 1 });
    const held = await granted(shared, { need: need(400, 300) });
    await shared.purse.settle(held.leaseId, NO_AMOUNT);
    assert.deepEqual(await shared.left(), { tokens: 1000, costUsd: 1 });
    assert.deepEqual(await shared.spent(), { tokens: 0, costUsd: 0, executions: 0 });
  });

  check("more than was reserved counts in full, and is never hidden", async ({ one }) => {
    const shared = await one.sharedBudget("team", { tokens: 1000 });
    const held = await granted(shared, { need: need(400, 300) });
    await shared.purse.settle(held.leaseId, { tokens: 1500, nanoUsd: 7 });
    assert.deepEqual(await shared.left(), { tokens: 0 });
    assert.deepEqual(await shared.spent(), { tokens: 1500, costUsd: 7e-9, executions: 0 });
  });

  check("a reservation is settled once, whoever tries again", async ({ one, other }) => {
    const here = await one.sharedBudget("team", { tokens: 1000 });
    const there = await other.sharedBudget("team");
    const held = await granted(here, { need: need(400, 300) });
    await Promise.all([
      here.purse.settle(held.leaseId, { tokens: 500, nanoUsd: 0 }),
      there.purse.settle(held.leaseId, { tokens: 500, nanoUsd: 0 }),
    ]);
    await here.purse.settle(held.leaseId, { tokens: 500, nanoUsd: 0 });
    await here.purse.settle("no such lease", { tokens: 500, nanoUsd: 0 });
    assert.deepEqual(await here.left(), { tokens: 500 });
    assert.deepEqual(await there.spent(), { tokens: 500, costUsd: 0, executions: 0 });
  });

  check("what a provider reports may be anything, and the books stay numbers", async ({ one }) => {
    const shared = await one.sharedBudget("team", { tokens: 1000 });
    const settle = async (tokens: number) =>
      shared.purse.settle((await granted(shared, { need: need(50, 50) })).leaseId, { tokens, nanoUsd: 0 });
    await settle(-5);
    await settle(0.5);
    await settle(Number.NaN);
    assert.deepEqual(await shared.spent(), { tokens: 101, costUsd: 0, executions: 0 });
    await settle(Number.POSITIVE_INFINITY);
    assert.deepEqual(await shared.left(), { tokens: 0 });
    assert.deepEqual((await shared.spent()).tokens, Number.MAX_SAFE_INTEGER);
  });

  check("a call waits while others in flight could release enough, and no longer", async ({ one, other }) => {
    const here = await one.sharedBudget("team", { tokens: 1000 });
    const there = await other.sharedBudget("team");
    const held = await granted(here, { need: need(400, 300) });
    const place = await waiting(there, { need: need(400, 100) });
    assert.equal(await waiting(there, { need: need(400, 100), place }), place);
    await here.purse.settle(held.leaseId, { tokens: 500, nanoUsd: 0 });
    const served = await granted(there, { need: need(400, 100), place });
    assert.deepEqual(
      await here.purse.reserve({ kind: "call", need: need(400, 101), place: NEW_PLACE }),
      refusal(new BudgetExceeded("tokens", 1501, 1000)),
    );
    await there.purse.settle(served.leaseId, { tokens: 1, nanoUsd: 0 });
    assert.deepEqual(await here.left(), { tokens: 499 });
  });

  check("first come, first served: what the first waits for is not given to the next", async ({ one, other }) => {
    const here = await one.sharedBudget("team", { tokens: 1000 });
    const there = await other.sharedBudget("team");
    const held = await granted(here, { need: need(400, 400) });
    const large = await waiting(here, { need: need(500, 100) });
    const small = await waiting(there, { need: need(10, 10) });
    await here.purse.settle(held.leaseId, { tokens: 390, nanoUsd: 0 });
    assert.equal(await waiting(there, { need: need(10, 10), place: small }), small);
    await granted(here, { need: need(500, 100), place: large });
    assert.equal(await waiting(there, { need: need(10, 10), place: small }), small);
  });

  check("what is left beyond what those who came earlier wait for, the next may have", async ({ one, other }) => {
    const here = await one.sharedBudget("team", { tokens: 1000 });
    const there = await other.sharedBudget("team");
    const held = await granted(here, { need: need(400, 400) });
    const large = await waiting(here, { need: need(500, 100) });
    await waiting(here, { need: need(100, 50) });
    const small = await waiting(there, { need: need(10, 10, 500) });
    await here.purse.settle(held.leaseId, NO_AMOUNT);
    const served = await granted(there, { need: need(10, 10, 500), place: small });
    assert.equal(served.output, 240);
    await granted(here, { need: need(500, 100), place: large });
  });

  check("who leaves the line holds nobody up", async ({ one, other }) => {
    const here = await one.sharedBudget("team", { tokens: 1000 });
    const there = await other.sharedBudget("team");
    await granted(here, { need: need(400, 400) });
    const large = await waiting(here, { need: need(500, 100) });
    const small = await waiting(there, { need: need(10, 10) });
    await here.purse.leaveLine(large);
    await here.purse.leaveLine("no such place");
    await granted(there, { need: need(10, 10), place: small });
  });

  check("who can never be served is refused at once, even behind others", async ({ one }) => {
    const shared = await one.sharedBudget("team", { tokens: 1000 });
    await granted(shared, { need: need(400, 400) });
    await waiting(shared, { need: need(400, 100) });
    assert.deepEqual(
      await shared.purse.reserve({ kind: "call", need: need(1000, 1), place: NEW_PLACE }),
      refusal(new BudgetExceeded("tokens", 1801, 1000)),
    );
  });

  check("what is kept for last words is not waited for, and needs no place in the line", async ({ one }) => {
    const shared = await one.sharedBudget("team", { tokens: 1000 });
    const kept = await granted(shared, { kind: "last-words", need: need(600, 100) });
    assert.deepEqual(
      await shared.purse.reserve({ kind: "call", need: need(300, 1), place: NEW_PLACE }),
      refusal(new BudgetExceeded("tokens", 1001, 1000)),
    );
    await granted(shared, { need: need(100, 100) });
    await waiting(shared, { need: need(200, 50) });
    const spoken = await granted(shared, { need: need(600, 10, 150), instead: kept.leaseId });
    assert.equal(spoken.output, 150);
    assert.deepEqual(await shared.left(), { tokens: 50 });
  });

  check("one reservation takes the place of another in one step, or leaves it as it was", async ({ one }) => {
    const shared = await one.sharedBudget("team", { tokens: 1000 });
    const first = await granted(shared, { need: need(700, 100) });
    const second = await granted(shared, { kind: "last-words", need: need(900, 50), instead: first.leaseId });
    assert.deepEqual(await shared.left(), { tokens: 50 });
    assert.deepEqual(
      await shared.purse.reserve({ kind: "last-words", need: need(1000, 1), instead: second.leaseId }),
      refusal(new BudgetExceeded("tokens", 1001, 1000)),
    );
    assert.deepEqual(await shared.left(), { tokens: 50 });
    await shared.purse.settle(first.leaseId, { tokens: 800, nanoUsd: 0 });
    assert.deepEqual(await shared.left(), { tokens: 50 });
    await shared.purse.settle(second.leaseId, NO_AMOUNT);
    assert.deepEqual(await shared.left(), { tokens: 1000 });
  });

  check("an execution is spent when a child starts, and comes back only if it never did", async ({ one, other }) => {
    const here = await one.sharedBudget("team", { executions: 2 });
    const there = await other.sharedBudget("team");
    assert.equal(await here.purse.startExecution(), undefined);
    assert.equal(await there.purse.startExecution(), undefined);
    assert.deepEqual(await here.purse.startExecution(), new BudgetExceeded("executions", 2, 2));
    await there.purse.undoExecution();
    assert.equal(await here.purse.startExecution(), undefined);
    assert.deepEqual(await there.left(), { executions: 0 });
    assert.deepEqual(await there.spent(), { tokens: 0, costUsd: 0, executions: 2 });
  });

  check("where nothing is limited everything is counted", async ({ one }) => {
    const shared = await one.sharedBudget("team", { executions: 5 });
    const held = await granted(shared, { need: need(400, 300) });
    assert.equal(held.output, Number.POSITIVE_INFINITY);
    await shared.purse.settle(held.leaseId, { tokens: 500, nanoUsd: 3 });
    assert.deepEqual(await shared.left(), { executions: 5 });
    assert.deepEqual(await shared.spent(), { tokens: 500, costUsd: 3e-9, executions: 0 });
  });

  check("a hundred who want it at once spend it to the end and not beyond", async ({ one, other }) => {
    const here = await one.sharedBudget("team", { tokens: 1000 });
    const there = await other.sharedBudget("team");
    const replies = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const { purse } = index % 2 === 0 ? here : there;
        const reply = await purse.reserve({ kind: "call", need: need(20, 10) });
        if (reply.kind === "granted") await purse.settle(reply.leaseId, { tokens: 25, nanoUsd: 0 });
        return reply.kind;
      }),
    );
    const calls = replies.filter((kind) => kind === "granted").length;
    assert.deepEqual(await here.left(), { tokens: 1000 - 25 * calls });
    assert.ok(calls >= 33 && calls <= 39, `${calls} calls of 25 to 30 tokens`);
  });
}

function refusal(error: BudgetExceeded): PurseReply {
  return { kind: "refused", error };
}
