/** The promises of every store about opening a shared budget: making it, joining it, and refusing what makes no sense. */

import assert from "node:assert/strict";
import { UserError } from "../../../../../src/core/errors.ts";
import type { CheckShared } from "./contract.ts";
import { BudgetProcess, inFlight } from "./shared-budget-asks.ts";

/** Part of `sharedBudgetContract`. */
export function openingPromises(check: CheckShared): void {
  check("budgets with different names know nothing of each other", async ({ one, other }) => {
    const today = await one.sharedBudget("today", { tokens: 100 });
    const tomorrow = await other.sharedBudget("tomorrow", { tokens: 100 });
    await new BudgetProcess(today).granted(inFlight(100));
    assert.deepEqual(await tomorrow.left(), { tokens: 100 });
  });

  check("the same limits join it, other limits are refused, and replacing them says so", async ({ one, other }) => {
    const here = await one.sharedBudget("team", { tokens: 1000, costUsd: 2.5, executions: 3 });
    await new BudgetProcess(here).granted(inFlight(150));
    await other.sharedBudget("team", { tokens: 1000, costUsd: 2.5, executions: 3 }, { existing: "join" });
    const sentence =
      'The shared budget "team" has other limits (1000 tokens, $2.5, 3 executions): join it without limits, or set them for all users with { existing: "replace" }';
    await assert.rejects(async () => other.sharedBudget("team", { tokens: 1000 }), new UserError(sentence));
    await assert.rejects(async () => other.sharedBudget("team", { tokens: 1001, costUsd: 2.5, executions: 3 }));
    await other.sharedBudget("team", { tokens: 200, costUsd: Number.POSITIVE_INFINITY }, { existing: "replace" });
    assert.deepEqual(await here.left(), { tokens: 50 });
    await other.sharedBudget("team", { tokens: 100 }, { existing: "replace" });
    assert.deepEqual(await here.left(), { tokens: 0 });
  });

  check("without limits it must be there", async ({ one }) => {
    await assert.rejects(
      async () => one.sharedBudget("team"),
      new UserError('There is no shared budget "team": give its limits to make it'),
    );
  });

  check("several who make it at once make one", async ({ one, other }) => {
    const users = [one, other, one, other, one, other];
    const all = await Promise.all(users.map((user) => user.sharedBudget("team", { tokens: 600 })));
    const [here, there] = all;
    assert.ok(here !== undefined && there !== undefined);
    await Promise.all([here, there].map((shared) => new BudgetProcess(shared).granted(inFlight(300))));
    for (const shared of all) assert.deepEqual(await shared.left(), { tokens: 0 });
  });

  check("a name may hold any printable text and nothing else", async ({ one, other }) => {
    const strange = ["o'brien\"; DROP TABLE x; --", "%_\\", "団队 🧾", " ", "x".repeat(200)];
    for (const [index, name] of strange.entries()) {
      await one.sharedBudget(name, { tokens: index + 1 });
      assert.deepEqual(await (await other.sharedBudget(name)).left(), { tokens: index + 1 });
    }
    for (const name of ["", "a\0b", "a\nb", "\ud800", "x".repeat(10_000)]) {
      await assert.rejects(async () => one.sharedBudget(name, { tokens: 1 }), UserError);
    }
  });

  check("a limit is a number of 0 or more", async ({ one }) => {
    const limits: object[] = [
      { tokens: -1 },
      { tokens: Number.NaN },
      { costUsd: "5" },
      { executions: -0.5 },
      { seconds: 5 },
      { token: 5 },
      { tokens: Number.POSITIVE_INFINITY },
      {},
    ];
    for (const each of limits) await assert.rejects(async () => one.sharedBudget("team", each), UserError);
    await assert.rejects(async () => one.sharedBudget("team"), UserError);
    const most = await one.sharedBudget("team", { tokens: Number.MAX_VALUE, costUsd: 1e12 });
    assert.deepEqual(await most.left(), { tokens: Number.MAX_SAFE_INTEGER, costUsd: Number.MAX_SAFE_INTEGER / 1e9 });
  });
}
