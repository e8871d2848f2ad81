/** Work that is done at once where nothing has to be waited for. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { nowOrLater, type Steps, wait } from "../../src/core/now-or-later.ts";

type Numbers = readonly (number | Promise<number>)[];

function* sumOf(values: Numbers): Steps<number> {
  let sum = 0;
  for (const value of values) sum += yield* wait(value);
  return sum;
}

test("work without a promise gives its value at once", () => {
  assert.equal(nowOrLater(sumOf([1, 2])), 3);
});

test("work with several promises waits for each of them in its turn", async () => {
  const found = nowOrLater(sumOf([1, Promise.resolve(2), 3, Promise.resolve(4), Promise.resolve(5)]));
  assert.ok(found instanceof Promise);
  assert.equal(await found, 15);
});

test("the error of a promise is thrown where the work waits for it, and can be caught there", async () => {
  function* careful(): Steps<string> {
    try {
      yield* wait(Promise.reject(new Error("late")));
      return "nothing was thrown";
    } catch (error) {
      return `${(error as Error).message} ${yield* wait(Promise.resolve("caught"))}`;
    }
  }
  assert.equal(await nowOrLater(careful()), "late caught");
  await assert.rejects(async () => nowOrLater(sumOf([Promise.reject(new Error("late"))])), /^Error: late$/);
});
