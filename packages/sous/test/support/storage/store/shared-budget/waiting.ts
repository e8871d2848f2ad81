/** The promises of every shared budget about waiting: who is served first, who gets less, and who has to refuse. */

import assert from "node:assert/strict";
import { NO_AMOUNT } from "../../../../../src/core/amount.ts";
import type { SharedBudgetAsk } from "../../../../../src/core/shared-budget-books.ts";
import type { SharedBudgetUsers } from "./contract.ts";
import { BudgetProcess, call, need, tokens, twoProcesses } from "./shared-budget-asks.ts";

/** Part of `sharedBudgetContract`. */
export function waitingPromises(
  check: (name: string, run: (users: SharedBudgetUsers) => Promise<void>) => unknown,
): void {
  check("a call gets its full output or waits, while another is in flight anywhere", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    assert.equal(await here.granted(call(need(100, 10, 500))), 500);
    const asked = await there.waiting(call(need(100, 10, 500)));
    await there.waiting(asked);
    await here.settle(tokens(600), tokens(300));
    assert.equal(await there.granted(asked), 500);
  });

  check("a call that would go with less gets that while another is in flight", async ({ one }) => {
    const process = new BudgetProcess(await one.sharedBudget("team", { tokens: 1000 }));
    await process.granted(call(need(100, 100)));
    assert.equal(await process.granted(call({ ...need(100, 10, 5000), enough: 700 })), 700);
    await process.waiting(call({ ...need(0, 0, 5000), enough: 1 }));
  });

  check("for a call that would go with less, only that is set aside", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await there.granted(call(need(900, 0)));
    await here.waiting(call({ ...need(0, 0, 5000), enough: 300 }, { since: 1 }));
    await there.settle(tokens(900), tokens(400));
    await there.waiting(call(need(301, 0), { since: 2 }));
    await there.granted(call(need(300, 0), { since: 2 }));
  });

  check("with nothing in flight the first gets what there is, and never less than the least", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(call(need(400, 100)));
    await here.settle(tokens(500), tokens(500));
    const asked = await there.waiting(call(need(100, 10, 5000)), { mayLower: false });
    assert.equal(await there.granted(asked), 400);
    await there.settle(tokens(500), tokens(400));
    here.share = { ...here.share, kept: tokens(50) };
    assert.equal(await here.granted(call(need(40, 10, 5000))), 10);
    await here.settle(tokens(50), tokens(20));
    await here.waiting(call(need(20, 11, 5000)));
  });

  check("only the first of all gets less than it asks for", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    here.share = { ...here.share, spent: tokens(500) };
    const first = await here.waiting(call(need(100, 10, 5000), { since: 1 }), { mayLower: false });
    const second = await there.waiting(call(need(100, 10, 5000), { since: 2 }));
    const third = call(need(10, 1, 5000), { since: 3 });
    const { answers } = await here.step([first, third], { mayLower: false });
    assert.deepEqual(answers, [{ kind: "wait" }, { kind: "wait" }]);
    const served = await here.step([first, third]);
    assert.deepEqual(served.answers, [{ kind: "granted", output: 400 }, { kind: "wait" }]);
    await there.waiting(second);
  });

  check("no process overtakes an earlier one that is short", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    here.share = { ...here.share, kept: tokens(100) };
    await here.granted(call(need(400, 400)));
    const large = await here.waiting(call(need(500, 10), { since: 1 }));
    const small = await there.waiting(call(need(10, 10), { since: 2 }));
    await here.settle(tokens(800), tokens(400), [large], { mayLower: false });
    assert.deepEqual(await there.left(), { tokens: 500 });
    await there.waiting(small);
    await here.step();
    await there.granted(small);
  });

  check("one that came first and has not asked again finds what it waited for", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(call(need(800, 0)));
    const large = await there.waiting(call(need(600, 0), { since: 1 }));
    await here.settle(tokens(800), tokens(300));
    await here.waiting(call(need(101, 0), { since: 2 }));
    await here.granted(call(need(100, 0), { since: 2 }));
    await there.granted(large);
  });

  check("no tree overtakes an earlier one of the same process that is short", async ({ one }) => {
    const process = new BudgetProcess(await one.sharedBudget("team", { tokens: 1000 }));
    await process.granted(call(need(400, 400)));
    const { answers } = await process.step([call(need(500, 100)), call(need(10, 10))]);
    assert.deepEqual(answers, [{ kind: "wait" }, { kind: "wait" }]);
    assert.deepEqual((await process.step([call(need(10, 10)), call(need(500, 100))])).answers, [
      { kind: "granted", output: 10 },
      { kind: "wait" },
    ]);
  });

  check("one that came later does not overtake because an earlier one of its process waits", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(call(need(800, 0)));
    const first = await here.waiting(call(need(300, 0), { since: 1 }));
    const second = await there.waiting(call(need(600, 0), { since: 2 }));
    const third = call(need(200, 0), { since: 3 });
    const { answers } = await here.settle(tokens(800), NO_AMOUNT, [first, third]);
    assert.deepEqual(answers, [{ kind: "granted", output: 0 }, { kind: "wait" }]);
    await there.granted(second);
  });

  check("a process keeps the position of its earliest, also when an older run of it asks", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(call(need(800, 0)));
    const early = await here.waiting(call(need(300, 0), { since: 1 }));
    const second = await there.waiting(call(need(600, 0), { since: 2 }));
    const older = call(need(400, 0), { since: 3 });
    const { answers } = await here.settle(tokens(800), NO_AMOUNT, [older, early]);
    assert.deepEqual(answers, [
      { kind: "granted", output: 0 },
      { kind: "granted", output: 0 },
    ]);
    await there.waiting(second);
  });

  check("one that waits for money holds up none that only needs tokens", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000, costUsd: 1 });
    const costly = (prompt: number, nanoUsd: number) => ({ ...need(0, 0), prompt: { tokens: prompt, nanoUsd } });
    await here.granted(call(costly(100, 600_000_000)));
    const asked = await here.waiting(call(costly(600, 600_000_000), { since: 1 }));
    await there.granted(call(need(500, 0), { since: 2 }));
    await there.waiting(call(costly(1, 1), { since: 2 }));
    // Now it is short of tokens as well.
    await there.waiting(call(need(1, 0), { since: 2 }));
    await there.settle(tokens(500), tokens(1));
    await here.settle({ tokens: 100, nanoUsd: 600_000_000 }, NO_AMOUNT, [asked]);
    assert.deepEqual(await there.left(), { tokens: 399, costUsd: 0.4 });
  });

  check("one that is short of money holds others up on tokens as soon as it is short of those too", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000, costUsd: 1 });
    here.share = { ...here.share, kept: { tokens: 0, nanoUsd: 900_000_000 } };
    const costly = { ...need(600, 0), prompt: { tokens: 600, nanoUsd: 200_000_000 } };
    await here.waiting(call(costly, { since: 1 }), { mayLower: false });
    const { answers } = await there.step([300, 300, 100].map((prompt) => call(need(prompt, 0), { since: 2 })));
    assert.deepEqual(
      answers.map(({ kind }) => kind),
      ["granted", "granted", "wait"],
    );
  });

  check("one behind another that is short of something else is not lowered", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000, costUsd: 1 });
    here.share = { ...here.share, kept: { tokens: 0, nanoUsd: 900_000_000 } };
    const costly = { ...need(600, 0), prompt: { tokens: 600, nanoUsd: 200_000_000 } };
    const { answers } = await here.step([call(costly), call(need(10, 10, 5000))]);
    assert.deepEqual(answers, [{ kind: "wait" }, { kind: "wait" }]);
    await there.waiting(call(need(10, 10, 5000)));
    await here.step();
    assert.equal(await there.granted(call(need(10, 10, 5000))), 990);
  });

  check("one that no longer waits holds up no other", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(call(need(400, 400)));
    await here.waiting(call(need(500, 100), { since: 1 }));
    const small = await there.waiting(call(need(10, 10), { since: 2 }));
    await here.step();
    await there.granted(small);
  });

  check("never is said at once, and only when even everything that can come back is too little", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    here.share = { ...here.share, spent: tokens(200), kept: tokens(300) };
    await here.granted(call(need(400, 100)));
    const answer = async (prompt: number, least: number, above: number) =>
      (await there.step([call(need(prompt, least, 5000), { above: tokens(above) })])).answers[0]?.kind;
    assert.equal(await answer(700, 100, 0), "wait");
    assert.equal(await answer(700, 101, 0), "never");
    assert.equal(await answer(700, 100, 1), "never");
    assert.equal(await answer(600, 100, 100), "wait");
    const behind = await there.step([call(need(700, 100)), call(need(800, 1))]);
    assert.deepEqual(behind.answers, [{ kind: "wait" }, { kind: "never" }]);
  });

  check("never on one limit is not hidden by waiting for another", async ({ one }) => {
    const process = new BudgetProcess(await one.sharedBudget("team", { tokens: 1000, costUsd: 1 }));
    await process.granted(call(need(900, 0)));
    const costly = { ...need(0, 0), prompt: { tokens: 500, nanoUsd: 2e9 } };
    assert.deepEqual((await process.step([call(costly)])).answers, [{ kind: "never" }]);
  });

  check("the process that came last must refuse, and only when nothing moves anywhere", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    here.share = { ...here.share, spent: tokens(500), kept: tokens(400) };
    const first = call(need(300, 100), { since: 1 });
    const second = call(need(300, 100), { since: 2 });
    const mustRefuse = async (process: BudgetProcess, ask: SharedBudgetAsk, moves: boolean) =>
      (await process.step([ask], { moves })).mustRefuse;
    assert.equal(await mustRefuse(here, first, true), false);
    assert.equal(await mustRefuse(there, second, false), false);
    assert.equal(await mustRefuse(here, first, false), false);
    assert.equal(await mustRefuse(there, second, true), false);
    assert.equal(await mustRefuse(there, second, false), true);
    assert.equal(await mustRefuse(here, first, false), false);
    await there.step([], { moves: false });
    assert.equal(await mustRefuse(here, first, false), true);
  });

  check("none is refused while the first can be served, also when it has not asked again yet", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    const other = new BudgetProcess(await users.one.sharedBudget("team"));
    await other.granted(call(need(800, 0)));
    await here.waiting(call(need(300, 100, 400), { since: 1 }), { moves: false });
    const last = await there.waiting(call(need(300, 100, 400), { since: 2 }), { moves: false });
    const mustRefuse = async () => (await there.step([last], { moves: false })).mustRefuse;
    // All that the first asks for, then less, and then too little.
    await other.settle(tokens(800), tokens(100), [], { moves: false });
    assert.equal(await mustRefuse(), false);
    await other.settle(tokens(0), tokens(500), [], { moves: false });
    assert.equal(await mustRefuse(), false);
    other.share = { ...other.share, kept: tokens(1) };
    await other.step([], { moves: false });
    assert.equal(await mustRefuse(), true);
  });

  check("a call in flight elsewhere moves, whatever its process says", async (users) => {
    const { here, there } = await twoProcesses(users, { tokens: 1000 });
    await here.granted(call(need(800, 0)), { moves: false });
    await here.step([], { moves: false });
    const asked = call(need(300, 0));
    assert.equal((await there.step([asked], { moves: false })).mustRefuse, false);
    await here.settle(tokens(800), tokens(600), [], { moves: false });
    here.share = { ...here.share, kept: tokens(300) };
    await here.step([], { moves: false });
    assert.equal((await there.step([asked], { moves: false })).mustRefuse, true);
  });

  check("a reserve grows with the call, and both are had or neither", async ({ one }) => {
    const process = new BudgetProcess(await one.sharedBudget("team", { tokens: 1000 }));
    await process.granted(call(need(100, 100), { grow: tokens(300) }));
    assert.deepEqual(await process.left(), { tokens: 500 });
    await process.waiting(call(need(100, 100), { grow: tokens(301) }));
    assert.deepEqual(await process.left(), { tokens: 500 });
    await process.settle(tokens(200), tokens(150));
    assert.deepEqual(await process.left(), { tokens: 550 });
    assert.deepEqual((await process.spent()).tokens, 150);
  });

  check(
    "the last call of a run is paid from its reserve, in one step, also when nothing else is left",
    async (users) => {
      const { here, there } = await twoProcesses(users, { tokens: 1000 });
      await here.granted(call(need(100, 100), { grow: tokens(300) }));
      await there.granted(call(need(400, 100)));
      await there.waiting(call(need(1, 0)), { moves: true });
      await there.step();
      await here.granted(call(need(200, 100), { instead: tokens(300) }));
      assert.deepEqual(here.share.kept, NO_AMOUNT);
      assert.deepEqual(await there.left(), { tokens: 0 });
    },
  );
}
