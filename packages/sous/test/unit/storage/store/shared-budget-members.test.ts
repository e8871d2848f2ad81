/** The rows of processes in the books: what others are told, and which processes count as dead. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { NO_AMOUNT } from "../../../../src/core/amount.ts";
import {
  emptyBooks,
  type SharedBudgetBooks,
  type SharedBudgetMember,
} from "../../../../src/core/shared-budget-books.ts";
import { newOwner } from "../../../../src/storage/store/owner.ts";
import { isNews, livenessAt } from "../../../../src/storage/store/shared-budget-row.ts";
import { tokens } from "../../../support/storage/store/shared-budget/shared-budget-asks.ts";

const busy = row({ id: "here", inFlight: tokens(50), kept: tokens(20), spent: tokens(5), moves: true });
const waiter = row({ id: "there", waiting: waitsFor(100, 5) });

suite("others who wait are told of a step", () => {
  const news: Record<string, Partial<SharedBudgetMember>> = {
    "that ends a call": { inFlight: tokens(10) },
    "that ends a call which has spent all it held": { inFlight: NO_AMOUNT, spent: tokens(55) },
    "that gives up a reserve": { kept: tokens(19) },
    "that corrects what was spent": { spent: tokens(4) },
    "after which nothing moves": { moves: false },
    "of a process that has lapsed": { isLapsed: true },
  };
  for (const [name, change] of Object.entries(news)) {
    test(`others who wait are told of a step ${name}`, () =>
      assert.ok(isNews(books(busy, waiter), books({ ...busy, ...change }, waiter), "here")));
  }

  test("others are told of a process that leaves", () => assert.ok(isNews(books(busy, waiter), books(waiter), "here")));

  test("others are told of one who waited before them and waits for less, or no longer, or behind them", () => {
    const first = { ...busy, waiting: waitsFor(100, 1) };
    for (const waiting of [undefined, waitsFor(99, 1), waitsFor(100, 9)])
      assert.ok(isNews(books(first, waiter), books({ ...first, waiting }, waiter), "here"));
  });

  test("others are told of a step that only found another dead", () => {
    const dead = row({ id: "dead", kept: tokens(50) });
    assert.ok(isNews(books(busy, dead, waiter), books(busy, waiter), "here"));
  });
});

suite("no other process is notified", () => {
  test("no process is notified of a step that takes more, or is only heard of", () => {
    for (const change of [{ inFlight: tokens(60) }, { kept: tokens(21) }, { spent: tokens(9) }, { seenAt: 99 }])
      assert.ok(!isNews(books(busy, waiter), books({ ...busy, ...change }, waiter), "here"));
  });

  test("no process is notified when no other process waits", () => {
    const lapsed = { ...waiter, isLapsed: true };
    const own = { ...busy, waiting: waitsFor(1, 1) };
    const done = { ...busy, inFlight: NO_AMOUNT };
    assert.ok(!isNews(books(busy, lapsed), books(done, lapsed), "here"));
    assert.ok(!isNews(books(own), books(done), "here"));
  });
});

suite("a process counts", () => {
  const now = 1_000_000_000_000;
  const elsewhere = "elsewhere boot 1 1 x";
  const seen = (owner: string, seenAt: number) => livenessAt(now, "me")(row({ id: "a", owner, seenAt }));

  test("a process counts as alive while it is seen running, however long ago its last step was", () => {
    assert.equal(seen(newOwner(), 0), "alive");
    assert.equal(seen("me", 0), "alive");
  });

  test("a process counts as late on another machine after half a minute, and as gone after a week", () => {
    const ages = [0, 30_000, 30_001, 7 * 86_400_000, 7 * 86_400_000 + 1];
    const found = ages.map((age) => [seen(elsewhere, now - age), seen(elsewhere, now + age)]);
    assert.deepEqual(
      found,
      ["alive", "alive", "late", "late", "gone"].map((word) => [word, word]),
    );
  });

  test("a process counts as gone when its number belongs to a younger one", () => {
    const [host, boot, pid, , random] = newOwner().split(" ");
    assert.equal(seen([host, boot, pid, "1", random].join(" "), now), "gone");
  });
});

function row(figures: Partial<SharedBudgetMember> & { id: string }): SharedBudgetMember {
  return {
    owner: "",
    spent: NO_AMOUNT,
    inFlight: NO_AMOUNT,
    kept: NO_AMOUNT,
    executions: 0,
    moves: false,
    waiting: undefined,
    seenAt: 0,
    isLapsed: false,
    lapses: 0,
    ...figures,
  };
}

function waitsFor(amount: number, since: number): SharedBudgetMember["waiting"] {
  return { ...tokens(amount), since, least: tokens(amount) };
}

function books(...members: SharedBudgetMember[]): SharedBudgetBooks {
  return { ...emptyBooks({ tokens: 100, nanoUsd: undefined, executions: undefined }), members };
}
