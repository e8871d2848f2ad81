/** One step in the books of a shared budget: who is served, who waits, and what is set aside for those before. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { NO_AMOUNT } from "../../../src/core/amount.ts";
import {
  emptyBooks,
  type SharedBudgetAsk,
  type SharedBudgetMember,
  type SharedBudgetStep,
  stepInBooks,
} from "../../../src/core/shared-budget-books.ts";
import { call, need, tokens } from "../../support/storage/store/shared-budget/shared-budget-asks.ts";

/** The answers to these asks of one process, on a budget of tokens of which some are in flight already. */
function answers(
  limit: number,
  inFlight: number,
  asks: readonly SharedBudgetAsk[],
  members: readonly SharedBudgetMember[] = [],
): string[] {
  const share = { spent: NO_AMOUNT, inFlight: tokens(inFlight), kept: NO_AMOUNT, executions: 0 };
  const about = { id: "here", owner: "here", now: 1, starts: 0, moves: true, mayLower: false, lapses: 0 };
  const step: SharedBudgetStep = { ...about, share, asks };
  const books = emptyBooks({ tokens: limit, nanoUsd: undefined, executions: undefined });
  const { reply } = stepInBooks({ ...books, members }, step);
  return reply.answers.map((answer) => (answer.kind === "granted" ? `${answer.output}` : answer.kind));
}

suite("a step in the books", () => {
  test("a step in the books serves what fits, up to the last token, and lets the rest wait", () => {
    assert.deepEqual(answers(100, 0, [call(need(40, 10)), call(need(40, 10)), call(need(0, 1))]), ["10", "10", "wait"]);
  });

  test("a step in the books says of what could never be paid that it never will be", () => {
    assert.deepEqual(answers(100, 0, [call(need(100, 1)), call(need(99, 1))]), ["never", "1"]);
  });

  test("a step in the books gives an answer no more than it asks for, and no less than enough", () => {
    assert.deepEqual(answers(100, 0, [call(need(10, 5, 80))]), ["80"]);
    assert.deepEqual(answers(100, 0, [call(need(30, 5, 80))]), ["wait"]);
  });

  test("a step in the books sets aside once what another process waits for that came before, also after an ask that cannot be paid", () => {
    const other: SharedBudgetMember = {
      ...{ id: "there", owner: "there", spent: NO_AMOUNT, inFlight: NO_AMOUNT, kept: NO_AMOUNT, executions: 0 },
      ...{ moves: true, seenAt: 1, isLapsed: false, lapses: 0 },
      waiting: { ...tokens(30), since: 1, least: tokens(30) },
    };
    const later = { since: 5 };
    const asks = [call(need(1_000, 1), later), call(need(69, 1), later)];
    assert.deepEqual(answers(100, 0, asks, [other]), ["never", "1"]);
    assert.deepEqual(answers(100, 0, [call(need(70, 1), later)], [other]), ["wait"]);
    assert.deepEqual(answers(100, 0, [call(need(70, 1), { since: 0 })], [other]), ["1"]);
  });

  test("a step in the books lets no ask pass one that waits, however little it asks for", () => {
    assert.deepEqual(answers(100, 50, [call(need(59, 1)), call(need(1, 1))]), ["wait", "wait"]);
  });

  test("a step in the books goes below nothing only where less than nothing is free", () => {
    const own = { instead: tokens(20) };
    assert.deepEqual(answers(100, 90, [call(need(50, 1)), call(need(19, 1), own)]), ["wait", "1"]);
    assert.deepEqual(answers(100, 105, [call(need(14, 1), own)]), ["1"]);
    assert.deepEqual(answers(100, 105, [call(need(15, 1), own)]), ["wait"]);
  });
});
