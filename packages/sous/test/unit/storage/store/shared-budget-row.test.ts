/** The row of a shared budget: what comes back is what was kept, and a damaged row is a sentence. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { StoreError } from "../../../../src/core/errors.ts";
import type { SharedBudgetBooks } from "../../../../src/core/shared-budget-books.ts";
import { BOOK_COLUMNS, bookValues, toSharedBudgetBooks } from "../../../../src/storage/store/shared-budget-row.ts";
import { budgetFile } from "../../../support/storage/store/budget-file.ts";
import { call, need } from "../../../support/storage/store/shared-budget/shared-budget-asks.ts";

const amount = { tokens: 5, nanoUsd: 6 };
const member = {
  id: "a",
  owner: "host boot 1 2 x",
  spent: amount,
  inFlight: amount,
  kept: amount,
  executions: 3,
  moves: true,
  seenAt: 7,
  isLapsed: false,
  lapses: 0,
};
const books: SharedBudgetBooks = {
  limits: { tokens: 1000, nanoUsd: undefined, executions: 5 },
  past: amount,
  pastExecutions: 1,
  members: [
    { ...member, waiting: { ...amount, since: 8, least: amount } },
    { ...member, id: "b", waiting: undefined },
  ],
};

test("the books come back from their row as they were", () => {
  assert.deepEqual(toSharedBudgetBooks(rowOf(books)), books);
});

suite("a row that makes no sense is refused", () => {
  const limits = ["many", -1, 0.5, Number.MAX_SAFE_INTEGER + 1, Number.NaN, new Uint8Array(1), undefined];
  for (const column of BOOK_COLUMNS.slice(0, 3)) {
    test(`a row where ${column} is not a number of 0 or more is refused`, () => {
      for (const value of limits)
        assert.throws(() => toSharedBudgetBooks({ ...rowOf(books), [column]: value }), StoreError);
    });
  }

  test("a row where the books are not the text of an object, or too long, is refused", () => {
    const long = JSON.stringify({ ...booksOf(books), more: "x".repeat(5_000_000) });
    for (const text of ["{", "null", "[]", "5", 5, null, undefined, new Uint8Array(2), "[".repeat(100_000), long])
      assert.throws(() => toSharedBudgetBooks({ ...rowOf(books), books: text }), StoreError);
  });

  test("books where two rows are of one process are refused", () => {
    const [first] = books.members;
    assert.ok(first !== undefined);
    assert.throws(() => toSharedBudgetBooks(rowOf({ ...books, members: [first, first] })), StoreError);
  });

  const strange: unknown[] = [null, -1, 0.5, 1e300, 9e15 + 8e15, "NaN", "x".repeat(2_000), [], {}, true, undefined];
  for (const path of pathsOf(booksOf(books))) {
    test(`a row where ${path.join(".")} is something else is refused`, () => {
      let refused = 0;
      for (const value of strange) {
        const text = JSON.stringify(withValue(booksOf(books), path, value));
        try {
          assert.doesNotMatch(JSON.stringify(toSharedBudgetBooks({ ...rowOf(books), books: text })), /null/);
        } catch (error) {
          assert.ok(error instanceof StoreError, String(error));
          assert.match(error.message, /^its row is damaged \(\w+\): /);
          refused += 1;
        }
      }
      assert.ok(refused >= strange.length - 2, `${refused} of ${strange.length} refused`);
    });
  }

  test("nothing can be had from a damaged row in a store, and nothing is known", async () => {
    for (const damage of [
      "limit_tokens = 'many'",
      "limit_tokens = 9223372036854775807",
      "limit_nano_usd = x'00'",
      "books = '{'",
      "books = json_set(books, '$.past.tokens', -5)",
      "books = json_set(books, '$.members[0].inFlight.tokens', 'NaN')",
      "books = json_set(books, '$.members[0].waiting', 5)",
    ]) {
      await using place = budgetFile();
      const { here } = await place.twoProcesses(1000);
      await here.granted(call(need(100, 0)));
      place.run(`UPDATE purses SET ${damage}`);
      await assert.rejects(here.step([call(need(100, 100))]), StoreError, damage);
      await assert.rejects(here.left(), StoreError, damage);
    }
  });
});

function rowOf(given: SharedBudgetBooks): Record<string, unknown> {
  const values = bookValues(given);
  return Object.fromEntries(BOOK_COLUMNS.map((column, index) => [column, values[index]]));
}

function booksOf({ past, pastExecutions, members }: SharedBudgetBooks): object {
  return JSON.parse(JSON.stringify({ past, pastExecutions, members }));
}

function pathsOf(value: unknown): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => [[name], ...pathsOf(part).map((path) => [name, ...path])]);
}

function withValue(value: object, [name = "", ...rest]: readonly string[], changed: unknown): object {
  const copy: Record<string, unknown> & { [index: number]: unknown } = Array.isArray(value)
    ? (Object.assign([], value) as never)
    : { ...value };
  copy[name] = rest.length === 0 ? changed : withValue(copy[name] as object, rest, changed);
  return copy;
}
