/** The ledger: who waits for budget, in which order it is served, and who is refused when nothing moves. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { LimitState } from "../../../../src/core/limits.ts";
import { Scope } from "../../../../src/core/scope.ts";
import {
  begin,
  exceeds,
  lend,
  need,
  open,
  queue,
  spend,
  stateOf,
  tokens,
  waitToStart,
} from "../../../support/runtime/budget/ledger-runs.ts";

suite("a call that does not fit", () => {
  test("a call that does not fit does not hold up those who need nothing of the limit it waits for", async () => {
    const account = open({ tokens: 1_000_000, costUsd: 0.05 });
    const price = { input: 3, output: 15 };
    using _inFlight = lend(account.enter("dear"), need(1_000, { price, outputCap: 2_000 }));
    const waiting = queue(account.enter("dear too"), need(1_000, { price, outputCap: 2_000 }));
    lend(account.enter("free"), need(1_000, { price: { input: 0, output: 0 } }))[Symbol.dispose]();
    assert.equal(await stateOf(waiting), "waits");
  });

  test("a call that does not fit waits for a call in flight and gets its full cap, not what is free sooner", async () => {
    const account = open({ tokens: 10_000 });
    const [one, two] = [lend(account.enter("one"), need(3_000)), lend(account.enter("two"), need(4_000))];
    const third = queue(account.enter("third"), need(2_500));
    spend(one, 3_500);
    assert.equal(await stateOf(third), "waits", "1,500 are free: enough for the least, not for its cap");
    spend(two, 2_000);
    assert.equal((await third).outputCap, 1_000);
  });

  test("a call that does not fit is told once what it waits for, and its run shows it", async () => {
    const account = open({ tokens: 2_000 });
    const first = lend(account.enter("first"), need(500));
    const told: LimitState[] = [];
    const waiting = queue(account.enter("second"), need(500), { onWait: (limit) => told.push(limit) });
    const limit = { of: "tree", unit: "tokens", limit: 2_000, spent: 0, reserved: 1_500 };
    assert.deepEqual(account.holdings()[1]?.waitsFor, limit);
    const behind = queue(account.enter("third"), need(500));
    assert.deepEqual(told, [limit]);
    spend(first, 400);
    await waiting;
    assert.equal(account.holdings()[1]?.waitsFor, undefined);
    assert.equal(await stateOf(behind), "waits");
  });

  test("a call that does not fit gets what there is when nothing is in flight and the run that settled last has taken its next step", async () => {
    const account = open({ tokens: 2_000 });
    const older = account.enter("older");
    const first = lend(older, need(400));
    const waiting = queue(account.enter("younger"), need(500));
    spend(first, 700);
    assert.equal(await stateOf(waiting), "waits", "the older run may ask again");
    older.takeStep();
    assert.equal((await waiting).outputCap, 800);
  });

  test("a call that does not fit does not get what the run that settled last asks for in its next step", async () => {
    const account = open({ tokens: 2_000 });
    const older = account.enter("older");
    const first = lend(older, need(400));
    const waiting = queue(account.enter("younger"), need(500));
    spend(first, 700);
    assert.equal(lend(older, need(800)).outputCap, 500);
    assert.equal(await stateOf(waiting), "waits");
  });

  test("a call that does not fit is refused at once when the limit could never pay for it, also behind others", async () => {
    const account = open({ tokens: 10_000 });
    using _ = lend(account.enter("first"), need(5_000));
    assert.throws(() => lend(account.enter("second"), need(9_901)), exceeds("16001/10000", "asked 10001"));
    const third = queue(account.enter("third"), need(9_900));
    assert.equal(await stateOf(third), "waits");
  });

  test("a call that does not fit is refused at once when only what the runs above it keep could pay for it", () => {
    const account = open({ tokens: 10_000 });
    const [parent, other] = [account.enter("parent"), account.enter("other")];
    for (const run of [parent, other]) spend(lend(run, need(100, { outputCap: 3_000 })), 1_000, tokens(2_000));
    assert.throws(() => waitToStart(account, "child", need(5_901), { above: parent }), exceeds("12001/10000"));
    void waitToStart(account, "child", need(5_900), { above: parent });
  });

  test("a call that does not fit is given up when its scope aborts, and the next in line is served", async () => {
    const account = open({ tokens: 1_000 });
    using _ = lend(account.enter("first"), need(300, { outputCap: 100 }));
    const scope = new Scope();
    const large = queue(account.enter("large"), need(800, { outputCap: 100 }), { scope });
    const small = queue(account.enter("small"), need(100, { outputCap: 300 }));
    const reason = new Error("stopped");
    scope.abort(reason);
    await assert.rejects(large, reason);
    assert.equal((await small).outputCap, 300);
    assert.throws(() => lend(account.enter("late"), need(1), { scope }), reason);
  });

  test("a call that does not fit leaves no listener on its scope, however it ends", async () => {
    const account = open({ tokens: 1_500 });
    const scope = new CountingScope();
    const [one, two, three] = [account.enter("one"), account.enter("two"), account.enter("three")];
    const first = lend(one, need(500, { outputCap: 400 }));
    const [granted, refused] = [
      queue(two, need(600, { outputCap: 100 }), { scope }),
      queue(three, need(1_300), { scope }),
    ];
    assert.equal(scope.listeners, 2);
    spend(first, 500);
    spend(await granted, 700);
    await assert.rejects(refused, exceeds("2600/1500"));
    assert.equal(scope.listeners, 0);
  });
});

suite("the order on a limit", () => {
  test("the order on a limit is that of the starts of runs, not that of their calls", async () => {
    const account = open({ tokens: 3_000 });
    const [oldest, middle, youngest] = [account.enter("oldest"), account.enter("middle"), account.enter("youngest")];
    const first = lend(middle, need(1_500));
    const late = queue(youngest, need(1_000));
    const early = queue(oldest, need(1_000));
    spend(first, 500);
    spend(await early, 100);
    assert.equal(await stateOf(late), "granted");
  });

  test("the order on a limit is not changed by a small call that would fit: no run overtakes where an earlier one is short", async () => {
    const account = open({ tokens: 10_000 });
    using _ = lend(account.enter("busy"), need(6_000));
    const large = queue(account.enter("large"), need(5_000));
    const small = queue(account.enter("small"), need(100));
    const child = waitToStart(account, "child", need(100));
    assert.deepEqual([await stateOf(large), await stateOf(small), await stateOf(child)], ["waits", "waits", "waits"]);
  });

  test("the order on a limit holds up only those who draw on the limit that is short", () => {
    const root = open({ tokens: 100_000 });
    const narrow = root.open({ tokens: 5_000 }, { path: "narrow", above: undefined });
    const other = root.open({ tokens: 50_000 }, { path: "other", above: undefined });
    using _ = lend(narrow.enter("narrow/1"), need(3_500));
    void queue(narrow.enter("narrow/2"), need(3_500));
    void queue(narrow.enter("narrow/3"), need(1, { outputCap: 100 }));
    lend(other.enter("other/1"), need(4_000));
    lend(root.enter("root"), need(4_000));
  });

  test("the order holds on a limit above also for a run that waits for its own share first", async () => {
    const root = open({ tokens: 10_000 });
    const narrow = root.open({ tokens: 5_000 }, { path: "narrow", above: undefined });
    const first = lend(narrow.enter("narrow/1"), need(3_500));
    const waiting = queue(narrow.enter("narrow/2"), need(3_900));
    const large = lend(root.enter("large"), need(4_500));
    spend(first, 100);
    const late = queue(root.enter("late"), need(1_000));
    assert.deepEqual([await stateOf(waiting), await stateOf(late)], ["waits", "waits"]);
    large[Symbol.dispose]();
    assert.deepEqual([await stateOf(waiting), await stateOf(late)], ["granted", "granted"]);
  });

  test("the order on a limit puts children that wait to start behind live runs, and among themselves by their calls", async () => {
    const account = open({ tokens: 2_500 });
    const parent = account.enter("parent");
    const first = lend(parent, need(500));
    const [one, two] = [waitToStart(account, "one", need(500)), waitToStart(account, "two", need(500))];
    const live = queue(account.enter("live"), need(500));
    spend(first, 100);
    assert.deepEqual([await stateOf(live), await stateOf(one)], ["granted", "waits"]);
    spend(await live, 100);
    assert.deepEqual([await stateOf(one), await stateOf(two)], ["granted", "waits"]);
  });
});

suite("a lease that is given back for a larger one", () => {
  test("a lease that is given back for a larger one is not had by a younger run in between", async () => {
    const account = open({ tokens: 3_000 });
    const older = account.enter("older");
    const small = lend(older, need(500));
    const younger = queue(account.enter("younger"), need(900));
    const large = lend(older, need(1_900), { replaces: small });
    assert.equal(large.outputCap, 1_000);
    spend(large, 1_000);
    assert.equal(await stateOf(younger), "granted");
  });

  test("a lease that is given back for a larger one leaves its run first in line where even that is too little now", async () => {
    const account = open({ tokens: 4_000 });
    using other = lend(account.enter("other"), need(100));
    const older = account.enter("older");
    const small = lend(older, need(500));
    const younger = queue(account.enter("younger"), need(900));
    const large = queue(older, need(2_500), { replaces: small });
    assert.deepEqual([await stateOf(large), await stateOf(younger)], ["waits", "waits"]);
    spend(other, 200);
    assert.deepEqual([await stateOf(large), await stateOf(younger)], ["granted", "waits"]);
  });
});

suite("when nothing moves and the first cannot be served", () => {
  /** The first has spent so much that its next call cannot be paid while the others keep what they keep. */
  function stuck() {
    const account = open({ tokens: 10_000 });
    const [oldest, middle, youngest] = [account.enter("oldest"), account.enter("middle"), account.enter("youngest")];
    for (const run of [oldest, middle, youngest]) {
      spend(lend(run, need(100, { outputCap: 3_000 })), 1_000, tokens(2_000));
      run.takeStep();
    }
    return { account, oldest, middle, youngest };
  }

  test("the youngest live run that waits for budget is refused, and then moves", async () => {
    const { oldest, middle, youngest } = stuck();
    const [first, second] = [queue(oldest, need(2_000)), queue(middle, need(2_000))];
    assert.throws(() => lend(youngest, need(2_000)), exceeds("11100/10000", "the call was not made"));
    assert.deepEqual([await stateOf(first), await stateOf(second)], ["waits", "waits"]);
    youngest[Symbol.dispose]();
    assert.deepEqual([await stateOf(first), await stateOf(second)], ["granted", "waits"]);
  });

  test("children that wait to start are refused before any live run, the last of them first", async () => {
    const { account, oldest, middle, youngest } = stuck();
    const refused: string[] = [];
    const more = (path: string, above: typeof oldest) => ({ above, callId: "1", onRefused: () => refused.push(path) });
    using _middle = middle.runCall();
    using _youngest = youngest.runCall();
    const one = waitToStart(account, "one", need(2_000), more("one", middle));
    const first = queue(oldest, need(2_000));
    assert.throws(
      () => begin(account, "two", need(2_000), more("two", youngest)),
      exceeds("11100/10000", "not started"),
    );
    assert.deepEqual(refused, ["two"], "its parent moves again, so no other is refused");
    assert.deepEqual([await stateOf(one), await stateOf(first)], ["waits", "waits"]);
  });

  test("no run is refused while a run is in a call, in a tool or between two steps", async () => {
    const { oldest, middle, youngest } = stuck();
    const first = queue(oldest, need(2_000));
    using tool = middle.runCall();
    const last = queue(youngest, need(2_000));
    assert.deepEqual([await stateOf(first), await stateOf(last)], ["waits", "waits"]);
    tool[Symbol.dispose]();
    assert.equal(await stateOf(last), "waits", "it may ask next");
    middle[Symbol.dispose]();
    assert.deepEqual([await stateOf(first), await stateOf(last)], ["granted", "waits"]);
  });

  test("a run moves while one of its calls does, and waits when all of them wait for children", async () => {
    const { oldest, middle, youngest } = stuck();
    const first = queue(oldest, need(2_000));
    const last = queue(youngest, need(2_000));
    using _one = middle.runCall();
    const tool = middle.runCall();
    using _child = middle.wait("1");
    using _sibling = middle.wait("1");
    assert.deepEqual([await stateOf(first), await stateOf(last)], ["waits", "waits"]);
    tool[Symbol.dispose]();
    assert.deepEqual([await stateOf(first), await stateOf(last)], ["waits", "refused"]);
  });

  test("a run whose call has left a child behind does not wait for that child", async () => {
    const { oldest, middle, youngest } = stuck();
    const tool = middle.runCall("1");
    using _child = middle.wait("1");
    tool[Symbol.dispose]();
    const [first, last] = [queue(oldest, need(2_000)), queue(youngest, need(2_000))];
    assert.deepEqual([await stateOf(first), await stateOf(last)], ["waits", "waits"], "it is about to ask");
  });

  test("each limit is judged by the runs that draw on it", async () => {
    const root = open({ tokens: 100_000 });
    const share = root.open({ tokens: 3_000 }, { path: "share", above: undefined });
    using _ = lend(root.enter("elsewhere"), need(1_000));
    const [lead, worker] = [share.enter("lead"), share.enter("worker")];
    spend(lend(lead, need(100, { outputCap: 2_900 })), 1_000, tokens(1_500));
    using _call = lead.runCall();
    using _waits = lead.wait("1");
    assert.throws(() => lend(worker, need(500)), exceeds("3100/3000"));
  });
});

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
