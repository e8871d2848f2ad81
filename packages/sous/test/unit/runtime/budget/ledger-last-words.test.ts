/** The ledger: what a run keeps for its last words, where that comes from and what it pays for. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  ask,
  begin,
  exceeds,
  lend,
  need,
  open,
  queue,
  spend,
  stateOf,
  tokens,
} from "../../../support/runtime/budget/ledger-runs.ts";

const CLOSING = { closing: { enoughOutput: 500 } };

suite("the reserve for last words", () => {
  test("the reserve for last words is kept from the first answer on, out of what that answer's lease gives back", () => {
    const account = open({ tokens: 10_000 });
    const { first, holding } = begin(account, "run", need(1_000));
    assert.deepEqual(account.left(), { tokens: 8_000 }, "none before the first answer");
    spend(first, 1_200, tokens(700));
    assert.deepEqual(account.left(), { tokens: 8_100 });
    holding[Symbol.dispose]();
    assert.deepEqual(account.left(), { tokens: 8_800 });
  });

  test("the reserve for last words is what there is when the answer gives back too little, and never more", () => {
    const account = open({ tokens: 10_000 });
    spend(begin(account, "run", need(1_000)).first, 1_900, tokens(700));
    assert.equal(account.holdings()[0]?.kept.tokens, 100);
    assert.deepEqual(account.left(), { tokens: 8_000 });
  });

  test("the reserve for last words grows with the next call in one step: both or neither", async () => {
    const account = open({ tokens: 6_000 });
    const run = account.enter("run");
    spend(lend(run, need(1_000)), 1_900, tokens(700));
    using other = lend(account.enter("other"), need(901));
    const waiting = queue(run, need(500), { lastWords: tokens(700) });
    assert.equal(account.holdings()[0]?.kept.tokens, 100, "1,500 and 600 more are not free");
    other[Symbol.dispose]();
    await waiting;
    assert.equal(account.holdings()[0]?.kept.tokens, 700);
    assert.deepEqual(account.left(), { tokens: 1_900 });
  });

  test("the reserve for last words does not shrink when a later answer would need less", () => {
    const account = open({ tokens: 10_000 });
    const run = account.enter("run");
    spend(lend(run, need(1_000)), 1_200, tokens(700));
    spend(lend(run, need(1_000), { lastWords: tokens(300) }), 1_200, tokens(300));
    assert.equal(account.holdings()[0]?.kept.tokens, 700);
  });

  test("the reserve for last words pays for the last call when nothing else is free", () => {
    const account = open({ tokens: 2_000 });
    const run = account.enter("run");
    spend(lend(run, need(500)), 800, tokens(700));
    account.charge({ tokens: 400, costUsd: null });
    assert.throws(() => lend(run, need(700)), exceeds("2700/2000"));
    const last = lend(run, need(400, { outputCap: 500 }), CLOSING);
    assert.equal(last.outputCap, 400);
    assert.equal(account.holdings()[0]?.kept.tokens, 0);
    spend(last, 600);
    assert.deepEqual(account.left(), { tokens: 200 });
  });

  test("the reserve for last words pays for the last call also behind an older run that is short", async () => {
    const account = open({ tokens: 10_000 });
    const [older, younger] = [account.enter("older"), account.enter("younger")];
    for (const run of [older, younger]) spend(lend(run, need(100, { outputCap: 4_000 })), 2_000, tokens(2_000));
    const waiting = queue(older, need(3_000));
    assert.throws(() => lend(younger, need(3_000)), exceeds("11100/10000"));
    assert.equal(lend(younger, need(1_500, { outputCap: 500 }), CLOSING).outputCap, 500);
    assert.equal(await stateOf(waiting), "waits");
  });

  test("the reserve for last words is not taken by a last call that costs more: that waits like any call for the rest", async () => {
    const account = open({ tokens: 5_000 });
    const [busy, run] = [account.enter("busy"), account.enter("run")];
    const lease = lend(busy, need(1_000));
    spend(lend(run, need(500)), 800, tokens(700));
    using _ = lend(busy, need(0, { outputCap: 900 }));
    const last = queue(run, need(1_200, { outputCap: 500 }), CLOSING);
    assert.equal(account.holdings()[1]?.kept.tokens, 700);
    spend(lease, 1_000);
    assert.equal((await last).outputCap, 500);
  });

  test("the reserve for last words of a run that waits is not waited for while others move, and comes back when it ends", async () => {
    const account = open({ tokens: 5_000 });
    const [first, second] = [account.enter("first"), account.enter("second")];
    for (const run of [first, second]) spend(lend(run, need(100)), 500, tokens(600));
    second.takeStep();
    const waiting = queue(first, need(2_750));
    assert.equal(await stateOf(waiting), "waits");
    second[Symbol.dispose]();
    assert.equal((await waiting).outputCap, 650, "nothing is in flight any more");
  });

  test("the reserve for last words is none with stop: an answer keeps nothing that is not asked for", () => {
    const account = open({ tokens: 5_000 });
    const run = account.enter("run");
    spend(lend(run, need(100)), 500);
    assert.deepEqual(account.left(), { tokens: 4_500 });
    assert.ok(!(ask(run, need(100)) instanceof Promise));
  });

  test("the reserve for last words is counted in money where money is limited", () => {
    const account = open({ costUsd: 1 });
    const run = account.enter("run");
    const price = { input: 3, output: 15 };
    lend(run, need(1_000, { price })).settle({ tokens: 1_100, costUsd: 0.005 }, { tokens: 1_600, nanoUsd: 11_000_000 });
    assert.deepEqual(account.left(), { costUsd: 0.984 });
  });
});
