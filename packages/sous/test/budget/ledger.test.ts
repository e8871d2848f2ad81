/** The ledger: every promise of design §7 and of the budget table in the settled questions. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { openLedger } from "../../src/budget/ledger.ts";
import { BudgetExceeded, UserError } from "../../src/core/errors.ts";
import type { Account, CallNeed, Lease } from "../../src/core/limits.ts";
import { Scope } from "../../src/core/scope.ts";
import type { Price } from "../../src/core/usage.ts";

const PRICE: Price = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 };

suite("an account", () => {
  test("without limits lends one shared lease at once and counts nothing", () => {
    const account = openLedger({ seconds: 60, executions: 3 });
    const lease = lend(account, need(1_000_000));
    assert.equal(account.isMetered, false);
    assert.equal(lend(account, need(1)), lease);
    assert.equal(lease.outputCap, Number.POSITIVE_INFINITY);
    lease.settle({ tokens: 5, costUsd: 5 });
    const lastWords = account.reserveWrapUp(need(9));
    assert.equal(lastWords.resize(need(10)), true);
    assert.equal(lastWords.take(need(10)), lease);
    account.charge({ tokens: 1, costUsd: 1 });
    assert.deepEqual(account.left(), { executions: 3 });
  });

  test("H1: a call reserves its prompt and output cap, and gives the rest back when settled", () => {
    const account = openLedger({ tokens: 10_000 });
    const lease = lend(account, need(1_000, { outputCap: 4_096 }));
    assert.equal(lease.outputCap, 4_096);
    assert.deepEqual(account.left(), { tokens: 4_904 });
    lease.settle({ tokens: 1_200, costUsd: null });
    assert.deepEqual(account.left(), { tokens: 8_800 });
  });

  test("lowers the output cap to what is left, down to the least and exactly at the limit", () => {
    const account = openLedger({ tokens: 2_000 });
    assert.equal(lend(account, need(1_000, { outputCap: 4_096, minOutput: 512 })).outputCap, 1_000);
    assert.deepEqual(account.left(), { tokens: 0 });
    const tight = openLedger({ tokens: 1_512 });
    assert.equal(lend(tight, need(1_000, { outputCap: 4_096, minOutput: 512 })).outputCap, 512);
    const tooTight = openLedger({ tokens: 1_511 });
    assert.throws(() => lend(tooTight, need(1_000, { outputCap: 4_096, minOutput: 512 })), exceeds("1512/1511"));
  });

  test("does not ask for more than the cap when the cap is below the least", () => {
    assert.equal(lend(openLedger({ tokens: 1_100 }), need(1_000, { outputCap: 100, minOutput: 512 })).outputCap, 100);
  });

  test("counts what a call took beyond its reservation in full", () => {
    const account = openLedger({ tokens: 1_000 });
    lend(account, need(100, { outputCap: 100 })).settle({ tokens: 1_400, costUsd: null });
    assert.deepEqual(account.left(), { tokens: 0 });
    assert.throws(() => lend(account, need(10, { outputCap: 5, minOutput: 5 })), exceeds("1415/1000"));
  });

  test("settles a lease once, and disposing it unsettled gives everything back", () => {
    const account = openLedger({ tokens: 1_000 });
    const settled = lend(account, need(100));
    settled.settle({ tokens: 50, costUsd: null });
    settled.settle({ tokens: 900, costUsd: null });
    settled[Symbol.dispose]();
    assert.deepEqual(account.left(), { tokens: 950 });
    const dropped = lend(account, need(100));
    dropped[Symbol.dispose]();
    dropped.settle({ tokens: 900, costUsd: null });
    assert.deepEqual(account.left(), { tokens: 950 });
  });

  test("counts what was spent without a reservation", () => {
    const account = openLedger({ tokens: 1_000, costUsd: 1 });
    account.charge({ tokens: 400, costUsd: 0.25 });
    assert.deepEqual(account.left(), { tokens: 600, costUsd: 0.75 });
  });

  test("refuses a budget that is not a number from 0 up", () => {
    assert.throws(() => openLedger({ tokens: -1 }), new UserError("budget.tokens must be 0 or more; found -1"));
    assert.throws(
      () => openLedger({ costUsd: Number.NaN }),
      new UserError("budget.costUsd must be 0 or more; found NaN"),
    );
    assert.equal(openLedger({ tokens: Number.POSITIVE_INFINITY }).isMetered, false);
    assert.throws(() => lend(openLedger({ tokens: 0 }), need(1)), exceeds("65/0"));
  });
});

suite("money", () => {
  test("is reserved at the dearest tariff a prompt may meet, and the output is what it pays for", () => {
    const account = openLedger({ costUsd: 0.01 });
    // 1,000 tokens at $3.75 and 416 at $15 per million are 0.00999.
    assert.equal(lend(account, need(1_000, { outputCap: 4_096, price: PRICE })).outputCap, 416);
    assert.deepEqual(account.left(), { costUsd: 0.00001 });
  });

  test("adds up exactly, whatever the fractions", () => {
    const account = openLedger({ costUsd: 0.3 });
    for (let call = 0; call < 3; call++) {
      lend(account, need(10, { price: { input: 0.07, output: 0.57 } })).settle({ tokens: 20, costUsd: 0.1 });
    }
    assert.deepEqual(account.left(), { costUsd: 0 });
  });

  test("is not overcharged by the noise of fractions exactly at the limit", () => {
    // 0.07 × 1,000 is 70.00000000000001 in binary.
    const account = openLedger({ costUsd: 0.007 });
    assert.equal(lend(account, need(100_000, { outputCap: 0, price: { input: 0.07, output: 1 } })).outputCap, 0);
    assert.deepEqual(account.left(), { costUsd: 0 });
  });

  test("of an unknown price is not enforced, tokens are", () => {
    const account = openLedger({ costUsd: 0.001, tokens: 5_000 });
    lend(account, need(1_000, { outputCap: 500 })).settle({ tokens: 1_500, costUsd: null });
    assert.deepEqual(account.left(), { costUsd: 0.001, tokens: 3_500 });
    account.charge({ tokens: 0, costUsd: 0.1 });
    assert.equal(lend(account, need(1_000, { outputCap: 500 })).outputCap, 500);
    assert.throws(() => lend(account, need(10_000)), exceeds("13064/5000"));
  });

  test("that is spent refuses by its own sentence", () => {
    const account = openLedger({ costUsd: 0.5 });
    account.charge({ tokens: 0, costUsd: 0.4999 });
    assert.throws(
      () => lend(account, need(1_000, { minOutput: 100, price: PRICE })),
      new BudgetExceeded("costUsd", 0.50515, 0.5),
    );
  });
});

suite("a child's account", () => {
  test("H1: a child takes from every account above it, or from none", () => {
    const root = openLedger({ tokens: 10_000 });
    const lead = root.open({ tokens: 5_000 });
    const scout = lead.open({ costUsd: 1 });
    lend(scout, need(1_000, { outputCap: 500, price: PRICE })).settle({ tokens: 1_200, costUsd: 0.25 });
    assert.deepEqual(
      [root.left(), lead.left(), scout.left()],
      [{ tokens: 8_800 }, { tokens: 3_800 }, { tokens: 3_800, costUsd: 0.75 }],
    );
    assert.throws(() => lend(scout, need(4_000, { price: PRICE })), exceeds("5264/5000"));
    assert.deepEqual([root.left(), lead.left()], [{ tokens: 8_800 }, { tokens: 3_800 }]);
  });

  test("H1: a child may have less than what is left anywhere above, never more", () => {
    const root = openLedger({ tokens: 10_000, executions: 5, costUsd: 1 });
    const lead = root.open({ executions: 3 });
    const lease = lend(root, need(4_000, { outputCap: 1_000 }));
    assert.throws(() => lead.open({ tokens: 5_001 }), exceeds("10001/10000"));
    assert.throws(() => lead.open({ executions: 4 }), new BudgetExceeded("executions", 4, 3));
    assert.throws(() => lead.open({ costUsd: 1.5 }), new BudgetExceeded("costUsd", 1.5, 1));
    assert.deepEqual(lead.open({ tokens: 5_000 }).left(), { tokens: 5_000, executions: 3, costUsd: 1 });
    lease[Symbol.dispose]();
    assert.deepEqual(lead.open(lead.left()).left(), { tokens: 10_000, executions: 3, costUsd: 1 });
  });

  test("without limits of its own is the account of its parent", () => {
    const root = openLedger({ tokens: 10_000 });
    assert.equal(root.open({}), root);
    assert.equal(root.open({ seconds: 5 }), root);
  });

  test("may be metered below one that is not, and its siblings are not", () => {
    const root = openLedger({});
    const scout = root.open({ tokens: 1_000 });
    assert.deepEqual([root.isMetered, scout.isMetered, root.open({}).isMetered], [false, true, false]);
    assert.throws(() => lend(scout, need(1_000)), exceeds("1064/1000"));
  });
});

suite("executions", () => {
  test("H2: executions are counted when a child starts, here and above, or nowhere; the refusal names both numbers", () => {
    const root = openLedger({ executions: 5 });
    const lead = root.open({ executions: 2 });
    lead.startExecution();
    lead.startExecution();
    assert.throws(() => lead.startExecution(), new BudgetExceeded("executions", 2, 2));
    assert.deepEqual([root.left(), lead.left()], [{ executions: 3 }, { executions: 0 }]);
    for (let child = 0; child < 3; child++) root.startExecution();
    assert.throws(() => root.startExecution(), { message: "Execution limit reached: 5/5" });
  });

  test("of a child that never started are taken back, here and above", () => {
    const root = openLedger({ executions: 1 });
    const lead = root.open({ executions: 1 });
    lead.startExecution();
    lead.undoExecution();
    assert.deepEqual([root.left(), lead.left()], [{ executions: 1 }, { executions: 1 }]);
  });
});

suite("a reservation that does not fit", () => {
  test("waits for a call in flight and goes on with what that gives back", async () => {
    const account = openLedger({ tokens: 10_000 });
    const first = lend(account, need(5_000, { outputCap: 4_000 }));
    const second = account.reserve(need(4_000, { outputCap: 4_000 }), new Scope());
    assert.ok(second instanceof Promise);
    first.settle({ tokens: 5_100, costUsd: null });
    assert.equal((await second).outputCap, 900);
    assert.deepEqual(account.left(), { tokens: 0 });
  });

  test("fails when nothing in flight could release enough, at once or later", async () => {
    const account = openLedger({ tokens: 10_000 });
    const first = lend(account, need(5_000, { outputCap: 450 }));
    assert.throws(() => lend(account, need(10_000, { minOutput: 1 })), {
      message: "Token limit exceeded: 15451/10000",
    });
    const second = account.reserve(need(4_936), new Scope());
    first.settle({ tokens: 5_450, costUsd: null });
    await assert.rejects(async () => second, { message: "Token limit exceeded: 10450/10000" });
    assert.deepEqual(account.left(), { tokens: 4_550 });
  });

  test("fails when an unreserved charge makes it hopeless, and the next in line goes on", async () => {
    const account = openLedger({ tokens: 1_000 });
    const first = lend(account, need(500, { outputCap: 100 }));
    const large = account.reserve(need(900), new Scope());
    const small = account.reserve(need(100), new Scope());
    account.charge({ tokens: 100, costUsd: null });
    await assert.rejects(async () => large, exceeds("1664/1000"));
    assert.equal((await small).outputCap, 200);
    first[Symbol.dispose]();
  });

  test("is served first come first served: a small one does not overtake a large one", async () => {
    const account = openLedger({ tokens: 10_000 });
    const [one, two] = [lend(account, need(4_000)), lend(account, need(4_000))];
    const order: string[] = [];
    const waiting = ["large", "small", "last"].map(async (name) => {
      const lease = await account.reserve(need(name === "large" ? 5_000 : 500), new Scope());
      order.push(name);
      return lease;
    });
    assert.ok(account.reserve(need(1), new Scope()) instanceof Promise, "there is room, but others came earlier");
    one[Symbol.dispose]();
    two[Symbol.dispose]();
    await Promise.all(waiting);
    assert.deepEqual(order, ["large", "small", "last"]);
  });

  test("holds up only those who draw on the limit it waits for", async () => {
    const root = openLedger({ tokens: 100_000 });
    const [narrow, other] = [root.open({ tokens: 5_000 }), root.open({ tokens: 50_000 })];
    const first = lend(narrow, need(4_000));
    const waiting = narrow.reserve(need(4_000), new Scope());
    const behind = narrow.reserve(need(1), new Scope());
    assert.ok(waiting instanceof Promise && behind instanceof Promise);
    lend(other, need(4_000));
    lend(root, need(4_000));
    first[Symbol.dispose]();
    assert.equal((await waiting).outputCap, 1_000);
    (await waiting)[Symbol.dispose]();
    await behind;
  });

  test("keeps its place when what it was short of is free but something above is not", async () => {
    const root = openLedger({ tokens: 10_000 });
    const [narrow, other] = [root.open({ tokens: 5_000 }), root.open({ tokens: 10_000 })];
    const first = lend(narrow, need(4_000));
    const waiting = narrow.reserve(need(4_000), new Scope());
    const large = lend(other, need(4_500));
    first.settle({ tokens: 900, costUsd: null });
    const late = other.reserve(need(1_000), new Scope());
    assert.ok(late instanceof Promise, "nobody may take from the root what the first in line waits for");
    large[Symbol.dispose]();
    assert.equal((await waiting).outputCap, 100);
    assert.equal((await late).outputCap, 1_000);
  });

  test("does not wait for what another run keeps for its last words", () => {
    const account = openLedger({ tokens: 1_000 });
    using _ = account.reserveWrapUp(need(500, { minOutput: 100 }));
    assert.throws(() => account.reserve(need(400, { minOutput: 100 }), new Scope()), exceeds("1100/1000"));
  });

  test("goes on when another run gives its last words back", async () => {
    const account = openLedger({ tokens: 2_000 });
    const lastWords = account.reserveWrapUp(need(500, { minOutput: 100 }));
    using _first = lend(account, need(1_000, { outputCap: 100 }));
    const waiting = account.reserve(need(400, { minOutput: 100 }), new Scope());
    assert.ok(waiting instanceof Promise);
    lastWords[Symbol.dispose]();
    assert.equal((await waiting).outputCap, 500);
  });

  test("is not served between a lease and the last words that take its place", async () => {
    const account = openLedger({ tokens: 1_000 });
    const lease = lend(account, need(500, { outputCap: 100 }));
    const waiting = account.reserve(need(500, { outputCap: 100, minOutput: 100 }), new Scope());
    const lastWords = account.reserveWrapUp(need(500, { outputCap: 400, minOutput: 100 }), lease);
    assert.deepEqual(account.left(), { tokens: 400 });
    await assert.rejects(async () => waiting, exceeds("1200/1000"));
    lease[Symbol.dispose]();
    lastWords[Symbol.dispose]();
    assert.deepEqual(account.left(), { tokens: 1_000 });
  });

  test("is given up when its scope aborts, and the next in line tries", async () => {
    const account = openLedger({ tokens: 1_000 });
    using first = lend(account, need(500, { outputCap: 100 }));
    const scope = new Scope();
    const large = account.reserve(need(900), scope);
    const small = account.reserve(need(100), new Scope());
    const reason = new Error("stopped");
    scope.abort(reason);
    await assert.rejects(async () => large, reason);
    assert.equal((await small).outputCap, 300);
    first[Symbol.dispose]();
    assert.throws(() => account.reserve(need(1), scope), reason);
  });

  test("leaves no listener on its scope, however it ends", async () => {
    const account = openLedger({ tokens: 1_000 });
    const scope = new CountingScope();
    const first = lend(account, need(500, { outputCap: 400 }));
    const [granted, refused] = [account.reserve(need(100), scope), account.reserve(need(700), scope)];
    assert.equal(scope.listeners, 2);
    first.settle({ tokens: 500, costUsd: null });
    (await granted).settle({ tokens: 100, costUsd: null });
    await assert.rejects(async () => refused, exceeds("1764/1000"));
    assert.equal(scope.listeners, 0);
  });
});

suite("the lease for last words", () => {
  test("covers the next prompt and a short answer, and follows the conversation", () => {
    const account = openLedger({ tokens: 10_000, costUsd: 1 });
    const lastWords = account.reserveWrapUp(need(1_000, { minOutput: 512, price: PRICE }));
    assert.deepEqual(account.left(), { tokens: 8_488, costUsd: 0.98857 });
    assert.equal(lastWords.resize(need(3_000, { minOutput: 512, price: PRICE })), true);
    assert.deepEqual(account.left(), { tokens: 6_488, costUsd: 0.98107 });
    assert.equal(lastWords.resize(need(9_489, { minOutput: 512, price: PRICE })), false);
    assert.deepEqual(account.left(), { tokens: 6_488, costUsd: 0.98107 });
    assert.equal(lastWords.resize(need(100, { minOutput: 512, price: PRICE })), true);
    assert.deepEqual(account.left(), { tokens: 9_388, costUsd: 0.991945 });
    lastWords[Symbol.dispose]();
    lastWords[Symbol.dispose]();
    assert.deepEqual(account.left(), { tokens: 10_000, costUsd: 1 });
  });

  test("is refused by name when not even that is left", () => {
    const account = openLedger({ tokens: 1_000 });
    using _ = lend(account, need(500));
    assert.throws(() => account.reserveWrapUp(need(489, { minOutput: 512 })), exceeds("2001/1000"));
  });

  test("becomes the lease of the last call, with as much more as is free", () => {
    const account = openLedger({ tokens: 2_000 });
    const lastWords = account.reserveWrapUp(need(1_000, { minOutput: 300 }));
    const lease = lastWords.take(need(1_000, { minOutput: 300, outputCap: 4_096 }));
    assert.equal(lease?.outputCap, 1_000);
    assert.deepEqual(account.left(), { tokens: 0 });
    assert.equal(lastWords.take(need(1)), undefined);
    assert.equal(lastWords.resize(need(1)), false);
    lastWords[Symbol.dispose]();
    lease?.settle({ tokens: 1_100, costUsd: null });
    assert.deepEqual(account.left(), { tokens: 900 });
  });

  test("is there when nothing else is", () => {
    const account = openLedger({ tokens: 2_000 });
    const lastWords = account.reserveWrapUp(need(1_000, { minOutput: 300 }));
    account.charge({ tokens: 700, costUsd: null });
    assert.throws(() => account.reserve(need(10), new Scope()), exceeds("2074/2000"));
    assert.equal(lastWords.take(need(1_001, { minOutput: 300 })), undefined);
    assert.equal(lastWords.take(need(900, { minOutput: 300, outputCap: 4_096 }))?.outputCap, 400);
  });

  test("that has been taken is waited for like any call", async () => {
    const account = openLedger({ tokens: 2_000 });
    const lease = account.reserveWrapUp(need(1_500, { minOutput: 100 })).take(need(1_500, { minOutput: 100 }));
    const waiting = account.reserve(need(1_000), new Scope());
    assert.ok(waiting instanceof Promise);
    lease?.settle({ tokens: 500, costUsd: null });
    assert.equal((await waiting).outputCap, 500);
  });
});

/** A call that asks for 1,000 tokens of output and would not be made with less than 64. */
function need(promptTokens: number, more: Partial<CallNeed> = {}): CallNeed {
  return { promptTokens, outputCap: 1_000, minOutput: 64, price: undefined, ...more };
}

/** Reserves where nobody should have to wait. */
function lend(account: Account, call: CallNeed): Lease {
  const lease = account.reserve(call, new Scope());
  assert.ok(!(lease instanceof Promise), "had to wait");
  return lease;
}

function exceeds(numbers: string): { name: string; message: string } {
  return { name: "BudgetExceeded", message: `Token limit exceeded: ${numbers}` };
}

class CountingScope extends Scope {
  listeners = 0;

  override onAbort(listener: (reason: unknown) => void): Disposable {
    const link = super.onAbort(listener);
    this.listeners += 1;
    return {
      [Symbol.dispose]: () => {
        this.listeners -= 1;
        link[Symbol.dispose]();
      },
    };
  }
}
