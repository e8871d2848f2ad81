/** The ledger: a child starts when a slot and its first call can be had in one step. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ToolFailure } from "../../../../src/core/errors.ts";
import { Scope } from "../../../../src/core/scope.ts";
import { openLedger } from "../../../../src/runtime/budget/ledger.ts";
import { Slots } from "../../../../src/runtime/budget/run-slots.ts";
import { olderBesideAChild } from "../../../support/runtime/budget/ledger-cases.ts";
import {
  begin,
  exceeds,
  lend,
  need,
  open,
  queue,
  spend,
  start,
  stateOf,
  tokens,
  waitToStart,
} from "../../../support/runtime/budget/ledger-runs.ts";

suite("a child", () => {
  test("a child starts with its slot and its first call paid", () => {
    const account = open({ tokens: 5_000 }, 1);
    const { first, holding, slot } = begin(account, "child", need(1_000));
    assert.equal(first.outputCap, 1_000);
    assert.deepEqual(account.left(), { tokens: 3_000 });
    spend(first, 1_200);
    holding[Symbol.dispose]();
    slot[Symbol.dispose]();
    begin(account, "next", need(1_000));
  });

  test("a child that waits for a slot holds no budget", async () => {
    const account = open({ tokens: 5_000 }, 1);
    const running = begin(account, "running", need(500));
    const waiting = waitToStart(account, "waiting", need(500));
    assert.deepEqual(account.left(), { tokens: 3_500 });
    spend(running.first, 600);
    running.holding[Symbol.dispose]();
    running.slot[Symbol.dispose]();
    assert.equal((await waiting).first?.outputCap, 1_000);
    assert.deepEqual(account.left(), { tokens: 2_900 });
  });

  test("H1: a child that waits for budget holds no slot", async () => {
    const root = open({}, 1);
    const limited = root.open({ tokens: 2_000 }, { path: "limited", above: undefined });
    using _ = lend(limited.enter("busy"), need(900));
    const waiting = waitToStart(limited, "waiting", need(900));
    begin(root, "unlimited", need(900));
    assert.equal(await stateOf(waiting), "waits");
  });

  test("a child that waits for budget is told so, one that waits for a slot is not", () => {
    const account = open({ tokens: 3_000 }, 2);
    const told: string[] = [];
    begin(account, "one", need(900));
    void waitToStart(account, "two", need(900), { onWait: () => told.push("two") });
    const full = open({ tokens: 9_000 }, 1);
    begin(full, "one", need(900));
    void waitToStart(full, "three", need(900), { onWait: () => told.push("three") });
    assert.deepEqual(told, ["two"]);
  });

  test("a child gets its full cap or waits, and less only when nothing is in flight", async () => {
    const account = open({ tokens: 3_000 });
    const one = begin(account, "one", need(900));
    const two = waitToStart(account, "two", need(900));
    spend(one.first, 1_500);
    assert.equal(await stateOf(two), "waits", "the first may ask again");
    one.holding[Symbol.dispose]();
    assert.equal((await two).first?.outputCap, 600);
  });

  test("H1: a child that could never be paid is refused at once in words, with no slot free and others before it", () => {
    const account = open({ tokens: 3_000 }, 1);
    begin(account, "one", need(900));
    void waitToStart(account, "two", need(900));
    let isTold = false;
    const onRefused = () => {
      isTold = true;
    };
    assert.throws(
      () => start(account, "three", need(2_901), { onRefused }),
      exceeds("4901/3000 \\(spent 0, reserved 1900, asked 3001: it was not started\\)"),
    );
    assert.equal(isTold, true);
  });

  test("a child that is stopped while it waits to start leaves nothing behind, and the next one starts", async () => {
    const account = open({ tokens: 5_000 }, 1);
    const running = begin(account, "running", need(500));
    const scope = new Scope();
    let isTold = false;
    const onRefused = () => {
      isTold = true;
    };
    const stopped = waitToStart(account, "stopped", need(500), { scope, onRefused });
    const next = waitToStart(account, "next", need(500));
    const reason = new Error("stopped");
    scope.abort(reason);
    await assert.rejects(stopped, reason);
    assert.equal(isTold, true);
    running.slot[Symbol.dispose]();
    assert.equal(await stateOf(next), "granted");
    assert.throws(() => start(account, "late", need(500), { scope }), reason);
  });

  test("a child without limits waits for a slot only, in its turn", async () => {
    const account = open({}, 1);
    const first = begin(account, "first", need(500));
    const [second, third] = [waitToStart(account, "second", need(500)), waitToStart(account, "third", undefined)];
    first.slot[Symbol.dispose]();
    assert.deepEqual([await stateOf(second), await stateOf(third)], ["granted", "waits"]);
    (await second).slot[Symbol.dispose]();
    assert.deepEqual([await stateOf(third), account.holdings()], ["granted", []]);
  });

  test("a child that is resumed after a restart need not begin with a call", () => {
    const account = open({ tokens: 100 });
    const { first } = begin(account, "resumed", undefined);
    assert.equal(first, undefined);
    assert.deepEqual(account.left(), { tokens: 100 });
  });

  test("C8: a child is refused at once when no slot is free and the tree is told to refuse", () => {
    const account = openLedger({ tokens: 9_000 }, { slots: new Slots(1, "refuse") });
    begin(account, "one", need(500));
    const sentence =
      "maximum concurrent subagent limit reached, so two did not start. Try again when another subagent completes.";
    assert.throws(() => start(account, "two", need(500)), new ToolFailure(sentence));
    assert.deepEqual(account.left(), { tokens: 7_500 });
  });
});

suite("a parent", () => {
  test("a parent waits for a child from the moment it stands in the line until the child has ended", async () => {
    const account = open({ tokens: 6_000 });
    const [parent, other] = [account.enter("parent"), account.enter("other")];
    spend(lend(other, need(100, { outputCap: 3_900 })), 1_000, tokens(2_000));
    using _ = parent.runCall();
    const child = begin(account, "child", need(900), { above: parent, callId: "1" });
    const waiting = queue(other, need(1_900));
    spend(child.first, 900);
    assert.equal(await stateOf(waiting), "waits", "the child moves");
    child.holding[Symbol.dispose]();
    assert.equal(await stateOf(waiting), "granted");
  });

  test("a parent moves before its refused child leaves others alone with it, so that only the child is refused", async () => {
    assert.equal(await stateOf(olderBesideAChild(openLedger)), "waits");
  });

  test("a parent does not wait for its child in the background", async () => {
    const account = open({ tokens: 6_000 });
    const [parent, other] = [account.enter("parent"), account.enter("other")];
    for (const run of [parent, other]) spend(lend(run, need(100, { outputCap: 2_500 })), 1_000, tokens(1_000));
    parent.takeStep();
    const waiting = queue(other, need(2_000));
    const child = waitToStart(account, "child", need(2_000), { above: parent });
    assert.deepEqual([await stateOf(waiting), await stateOf(child)], ["waits", "waits"]);
    parent[Symbol.dispose]();
    assert.deepEqual([await stateOf(waiting), await stateOf(child)], ["granted", "waits"]);
  });
});
