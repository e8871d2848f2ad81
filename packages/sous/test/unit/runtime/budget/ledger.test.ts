/** The ledger: reservations, money, shares and executions. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { BudgetExceeded, UserError } from "../../../../src/core/errors.ts";
import type { LimitState } from "../../../../src/core/limits.ts";
import type { Price } from "../../../../src/core/usage.ts";
import { openLedger } from "../../../../src/runtime/budget/ledger.ts";
import { Slots } from "../../../../src/runtime/budget/run-slots.ts";
import { begin, exceeds, lend, need, open, queue, spend, tokens } from "../../../support/runtime/budget/ledger-runs.ts";

const PRICE: Price = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 };

suite("an account", () => {
  test("an account without limits lends one shared lease at once and counts nothing", () => {
    const account = open({ durationMs: 60_000, executions: 3 });
    const run = account.enter("run");
    const lease = lend(run, need(1_000_000));
    assert.equal(account.isMetered, false);
    assert.equal(lend(run, need(1)), lease);
    assert.equal(lease.outputCap, Number.POSITIVE_INFINITY);
    lease.settle({ tokens: 5, costUsd: 5 }, tokens(100));
    account.charge({ tokens: 1, costUsd: 1 });
    run.takeStep();
    run.runCall()[Symbol.dispose]();
    run.wait()[Symbol.dispose]();
    run[Symbol.dispose]();
    assert.deepEqual(account.left(), { executions: 3 });
    assert.deepEqual(account.holdings(), []);
  });

  test("H1: a call reserves its prompt and output cap, and gives the rest back when settled", () => {
    const account = open({ tokens: 10_000 });
    const lease = lend(account.enter("run"), need(1_000, { outputCap: 4_096 }));
    assert.equal(lease.outputCap, 4_096);
    assert.deepEqual(account.left(), { tokens: 4_904 });
    spend(lease, 1_200);
    assert.deepEqual(account.left(), { tokens: 8_800 });
  });

  test("an account in which nothing is in flight lowers the output cap to what is left, down to the least and exactly at the limit", () => {
    const call = need(1_000, { outputCap: 4_096, minOutput: 512 });
    const account = open({ tokens: 2_000 });
    assert.equal(lend(account.enter("run"), call).outputCap, 1_000);
    assert.deepEqual(account.left(), { tokens: 0 });
    assert.equal(lend(open({ tokens: 1_512 }).enter("run"), call).outputCap, 512);
    assert.throws(() => lend(open({ tokens: 1_511 }).enter("run"), call), exceeds("1512/1511"));
  });

  test("an account does not ask for more than the cap when the cap is below the least", () => {
    const call = need(1_000, { outputCap: 100, minOutput: 512 });
    assert.equal(lend(open({ tokens: 1_100 }).enter("run"), call).outputCap, 100);
  });

  test("an account counts what a call took beyond its reservation in full", () => {
    const account = open({ tokens: 1_000 });
    const run = account.enter("run");
    spend(lend(run, need(100, { outputCap: 100 })), 1_400);
    assert.deepEqual(account.left(), { tokens: 0 });
    assert.throws(() => lend(run, need(10, { outputCap: 5, minOutput: 5 })), exceeds("1415/1000"));
  });

  test("an account settles a lease once, and disposing it unsettled gives everything back", () => {
    const account = open({ tokens: 1_000 });
    const run = account.enter("run");
    const settled = lend(run, need(100, { outputCap: 200 }));
    spend(settled, 50);
    spend(settled, 900);
    settled[Symbol.dispose]();
    assert.deepEqual(account.left(), { tokens: 950 });
    const dropped = lend(run, need(100, { outputCap: 200 }));
    dropped[Symbol.dispose]();
    spend(dropped, 900);
    assert.deepEqual(account.left(), { tokens: 950 });
  });

  test("an account counts a usage that is not a number as all that was reserved", () => {
    const account = open({ tokens: 1_000 });
    spend(lend(account.enter("run"), need(100, { outputCap: 200 })), Number.NaN);
    assert.deepEqual(account.left(), { tokens: 700 });
  });

  test("an account counts what was spent without a reservation", () => {
    const account = open({ tokens: 1_000, costUsd: 1 });
    account.charge({ tokens: 400, costUsd: 0.25 });
    assert.deepEqual(account.left(), { tokens: 600, costUsd: 0.75 });
  });

  test("an account refuses a budget that is not a number from 0 up", () => {
    assert.throws(() => open({ tokens: -1 }), new UserError("budget.tokens must be 0 or more; found -1"));
    assert.throws(() => open({ costUsd: Number.NaN }), new UserError("budget.costUsd must be 0 or more; found NaN"));
    assert.equal(open({ tokens: Number.POSITIVE_INFINITY }).isMetered, false);
    assert.throws(() => lend(open({ tokens: 0 }).enter("run"), need(1)), exceeds("101/0"));
  });

  test("an account tells every limit from the top down with what is spent and reserved, and who holds what", () => {
    const root = open({ tokens: 10_000, executions: 5 });
    const lead = root.open({ tokens: 5_000, costUsd: 1 }, { path: "lead", above: undefined });
    const run = lead.enter("lead");
    spend(lend(run, need(1_000, { price: PRICE })), 1_200, tokens(500));
    using _ = lend(run, need(1_000, { price: PRICE }));
    lead.startExecution();
    lead.useExecution();
    const expected: LimitState[] = [
      { of: "tree", unit: "tokens", limit: 10_000, spent: 1_200, reserved: 2_500 },
      { of: "lead", unit: "tokens", limit: 5_000, spent: 1_200, reserved: 2_500 },
      { of: "lead", unit: "costUsd", limit: 1, spent: 0, reserved: 0.01875 },
      { of: "tree", unit: "executions", limit: 5, spent: 1, reserved: 0 },
    ];
    assert.deepEqual(lead.limits(), expected);
    const [inCall, kept] = [
      { tokens: 2_000, costUsd: 0.01875 },
      { tokens: 500, costUsd: 0 },
    ];
    assert.deepEqual(root.holdings(), [{ path: "lead", inCall, kept, waitsFor: undefined }]);
  });

  test("an account tells once for each limit that most of it is spent, with the run that came near it", () => {
    const told: unknown[] = [];
    const onNear = ({ of, unit }: LimitState, path: string | undefined) => told.push([of, unit, path]);
    const account = openLedger({ tokens: 1_000 }, { slots: new Slots(1, "queue"), onNear });
    const run = account.enter("run");
    spend(lend(run, need(100)), 799);
    assert.deepEqual(told, []);
    spend(lend(run, need(10)), 1);
    spend(lend(run, need(10)), 1);
    assert.deepEqual(told, [["tree", "tokens", "run"]]);
  });
});

suite("money", () => {
  test("money is reserved at the dearest tariff a prompt may meet, and the output is what it pays for", () => {
    const account = open({ costUsd: 0.01 });
    // 1,000 tokens at $3.75 and 416 at $15 per million are 0.00999.
    assert.equal(lend(account.enter("run"), need(1_000, { outputCap: 4_096, price: PRICE })).outputCap, 416);
    assert.deepEqual(account.left(), { costUsd: 0.00001 });
  });

  test("money adds up exactly, whatever the fractions", () => {
    const account = open({ costUsd: 0.3 });
    const run = account.enter("run");
    for (let call = 0; call < 3; call++) {
      lend(run, need(10, { price: { input: 0.07, output: 0.57 } })).settle({ tokens: 20, costUsd: 0.1 });
    }
    assert.deepEqual(account.left(), { costUsd: 0 });
  });

  test("money is not overcharged by the noise of fractions exactly at the limit", () => {
    // 0.07 × 1,000 is 70.00000000000001 in binary.
    const account = open({ costUsd: 0.007 });
    const call = need(100_000, { outputCap: 0, price: { input: 0.07, output: 1 } });
    assert.equal(lend(account.enter("run"), call).outputCap, 0);
    assert.deepEqual(account.left(), { costUsd: 0 });
  });

  test("a limit of money is not enforced for an unknown price, one of tokens is", () => {
    const account = open({ costUsd: 0.001, tokens: 5_000 });
    const run = account.enter("run");
    spend(lend(run, need(1_000, { outputCap: 500 })), 1_500);
    assert.deepEqual(account.left(), { costUsd: 0.001, tokens: 3_500 });
    account.charge({ tokens: 0, costUsd: 0.1 });
    assert.equal(lend(run, need(1_000, { outputCap: 500 })).outputCap, 500);
    assert.throws(() => lend(account.enter("other"), need(10_000)), exceeds("13100/5000"));
  });

  test("a limit of money refuses by its own sentence, with what is spent, reserved and asked", () => {
    const account = open({ costUsd: 0.5 });
    account.charge({ tokens: 0, costUsd: 0.4999 });
    assert.throws(
      () => lend(account.enter("run"), need(1_000, { price: PRICE })),
      new BudgetExceeded("costUsd", 0.50515, 0.5, { spent: 0.4999, reserved: 0, asked: 0.00525, isStart: false }),
    );
  });
});

suite("a child's account", () => {
  const child = { path: "child", above: undefined };

  test("H1: a child takes from every account above it, or from none", () => {
    const root = open({ tokens: 10_000 });
    const lead = root.open({ tokens: 5_000 }, child);
    const scout = lead.open({ costUsd: 1 }, child);
    const run = scout.enter("scout");
    lend(run, need(1_000, { outputCap: 500, price: PRICE })).settle({ tokens: 1_200, costUsd: 0.25 });
    assert.deepEqual(
      [root.left(), lead.left(), scout.left()],
      [{ tokens: 8_800 }, { tokens: 3_800 }, { tokens: 3_800, costUsd: 0.75 }],
    );
    assert.throws(() => lend(run, need(4_000, { price: PRICE })), exceeds("5300/5000"));
    assert.deepEqual([root.left(), lead.left()], [{ tokens: 8_800 }, { tokens: 3_800 }]);
  });

  test("H1: a child may have a share of all that is not spent, and never more", () => {
    const root = open({ tokens: 10_000, executions: 5, costUsd: 1 });
    const lead = root.open({ executions: 3 }, child);
    root.charge({ tokens: 1_000, costUsd: null });
    assert.throws(() => lead.open({ tokens: 9_001 }, child), exceeds("10001/10000"));
    assert.throws(() => lead.open({ executions: 4 }, child), new BudgetExceeded("executions", 4, 3));
    assert.throws(() => lead.open({ costUsd: 1.5 }, child), { name: "BudgetExceeded" });
    assert.deepEqual(lead.open({ tokens: 9_000 }, child).left(), { tokens: 9_000, executions: 3, costUsd: 1 });
  });

  test("a share is compared with what can come back, not with what is free at that moment", () => {
    const root = open({ tokens: 10_000 });
    using _ = lend(root.enter("other"), need(8_000));
    assert.deepEqual(root.open({ tokens: 9_000 }, child).left(), { tokens: 1_000 });
  });

  test("a share does not count on what the runs above it keep for their last words", () => {
    const root = open({ tokens: 10_000 });
    const [parent, other] = [root.enter("parent"), root.enter("other")];
    spend(lend(parent, need(100)), 500, tokens(600));
    spend(lend(other, need(100)), 500, tokens(600));
    const below = { path: "parent/child", above: parent };
    assert.throws(() => root.open({ tokens: 8_401 }, below), exceeds("10601/10000"));
    root.open({ tokens: 8_400 }, below);
  });

  test("a child's account without limits of its own is the account of its parent", () => {
    const root = open({ tokens: 10_000 });
    assert.equal(root.open({}, child), root);
    assert.equal(root.open({ durationMs: 5000 }, child), root);
  });

  test("a child's account may be metered below one that is not, and its siblings are not", () => {
    const root = open({});
    const scout = root.open({ tokens: 1_000 }, child);
    assert.deepEqual([root.isMetered, scout.isMetered, root.open({}, child).isMetered], [false, true, false]);
    assert.throws(() => begin(scout, "scout", need(1_000)), exceeds("1100/1000", "it was not started"));
  });
});

suite("executions", () => {
  test("H2: executions are counted when a child starts, here and above, or nowhere; the refusal names both numbers", () => {
    const root = open({ executions: 5 });
    const lead = root.open({ executions: 2 }, { path: "lead", above: undefined });
    lead.startExecution();
    lead.startExecution();
    assert.throws(() => lead.startExecution(), new BudgetExceeded("executions", 2, 2));
    assert.deepEqual([root.left(), lead.left()], [{ executions: 3 }, { executions: 0 }]);
    for (let child = 0; child < 3; child++) root.startExecution();
    assert.throws(() => root.startExecution(), { message: "Execution limit reached: 5/5" });
  });

  test("executions of a child that never started are taken back, here and above", () => {
    const root = open({ executions: 1 });
    const lead = root.open({ executions: 1 }, { path: "lead", above: undefined });
    lead.startExecution();
    lead.undoExecution();
    assert.deepEqual([root.left(), lead.left()], [{ executions: 1 }, { executions: 1 }]);
  });

  test("executions are reserved while a child waits to start and spent once it has started", () => {
    const root = open({ executions: 3 });
    root.startExecution();
    root.startExecution();
    root.useExecution();
    assert.deepEqual(root.limits(), [{ of: "tree", unit: "executions", limit: 3, spent: 1, reserved: 1 }]);
    assert.deepEqual(root.left(), { executions: 1 });
    root.undoExecution();
    assert.deepEqual(root.limits(), [{ of: "tree", unit: "executions", limit: 3, spent: 1, reserved: 0 }]);
  });

  test("executions of a child that had started before a restart are counted, whatever is left", () => {
    const root = open({ executions: 1 });
    root.countExecution();
    root.countExecution();
    assert.deepEqual(root.left(), { executions: 0 });
    assert.throws(() => root.startExecution(), { message: "Execution limit reached: 2/1" });
  });
});

test("a charge that was not reserved leaves those who wait without hope at once", async () => {
  const account = open({ tokens: 1_000 });
  using _ = lend(account.enter("first"), need(400, { outputCap: 100 }));
  const large = queue(account.enter("large"), need(700));
  const small = queue(account.enter("small"), need(100, { outputCap: 300 }));
  account.charge({ tokens: 300, costUsd: null });
  await assert.rejects(large, exceeds("1600/1000", "the call was not made"));
  assert.equal(await Promise.race([small, "waits"]), "waits");
});
