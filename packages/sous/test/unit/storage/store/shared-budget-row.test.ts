/** The row of a shared budget: what comes back is what was kept, and a damaged row is a sentence. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { StoreError } from "../../src/core/errors.ts";
import type { Purse } from "../../src/core/purse.ts";
import { PURSE_COLUMNS, purseValues, toPurse } from "../../src/store/purse-row.ts";
import { budgetFile } from "./budget-file.ts";
import { call, need } from "./shared-budget/purse-asks.ts";

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
const purse: Purse = {
  limits: { tokens: 1000, nanoUsd: undefined, executions: 5 },
  past: amount,
  pastExecutions: 1,
  members: [
    { ...member, waiting: { ...amount, since: 8, least: amount } },
    { ...member, id: "b", waiting: undefined },
  ],
};

test("the books come back from their row as they were", () => {
  assert.deepEqual(toPurse(rowOf(purse)), purse);
});

suite("a row that makes no sense is refused", () => {
  const limits = ["many", -1, 0.5, Number.MAX_SAFE_INTEGER + 1, Number.NaN, new Uint8Array(1), undefined];
  for (const column of PURSE_COLUMNS.slice(0, 3)) {
    test(`where ${column} is not a number of 0 or more`, () => {
      for (const value of limits) assert.throws(() => toPurse({ ...rowOf(purse), [column]: value }), StoreError);
    });
  }

  test("where the books are not the text of an object, or too long", () => {
    const long = JSON.stringify({ ...booksOf(purse), more: "x".repeat(5_000_000) });
    for (const books of ["{", "null", "[]", "5", 5, null, undefined, new Uint8Array(2), "[".repeat(100_000), long])
      assert.throws(() => toPurse({ ...rowOf(purse), books }), StoreError);
  });

  test("where two rows are of one process", () => {
    const [first] = purse.members;
    assert.ok(first !== undefined);
    assert.throws(() => toPurse(rowOf({ ...purse, members: [first, first] })), StoreError);
  });

  const strange: unknown[] = [null, -1, 0.5, 1e300, 9e15 + 8e15, "NaN", "x".repeat(2_000), [], {}, true, undefined];
  for (const path of pathsOf(booksOf(purse))) {
    test(`where ${path.join(".")} is something else`, () => {
      let refused = 0;
      for (const value of strange) {
        const books = JSON.stringify(withValue(booksOf(purse), path, value));
        try {
          assert.doesNotMatch(JSON.stringify(toPurse({ ...rowOf(purse), books })), /null/);
        } catch (error) {
          assert.ok(error instanceof StoreError, String(error));
          assert.match(error.message, /^its row is damaged \(\w+\): /);
          refused += 1;
        }
      }
      assert.ok(refused >= strange.length - 2, `${refused} of ${strange.length} refused`);
    });
  }

  test("in a store: nothing can be had, and nothing is known", async () => {
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

function rowOf(given: Purse): Record<string, unknown> {
  const values = purseValues(given);
  return Object.fromEntries(PURSE_COLUMNS.map((column, index) => [column, values[index]]));
}

function booksOf({ past, pastExecutions, members }: Purse): object {
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
