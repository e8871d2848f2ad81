/** Parts that are closed together. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Opened } from "../../../../src/app/cli/application/opened.ts";

suite("opened parts", () => {
  test("opened parts are closed one after the other, the last first, and once", async () => {
    const closed: string[] = [];
    const opened = new Opened();
    opened.use({ [Symbol.asyncDispose]: async () => void closed.push("store") });
    opened.use(undefined);
    opened.defer(() => void closed.push("line"));
    opened.defer(async () => {
      await Promise.resolve();
      closed.push("server");
    });
    await opened[Symbol.asyncDispose]();
    await opened[Symbol.asyncDispose]();
    assert.deepEqual(closed, ["server", "line", "store"]);
  });

  test("all opened parts are closed when one cannot be, and its error is thrown", async () => {
    const closed: string[] = [];
    const failure = new Error("no");
    const opened = new Opened();
    opened.defer(() => void closed.push("first"));
    opened.defer(() => Promise.reject(failure));
    await assert.rejects(opened[Symbol.asyncDispose](), failure);
    opened.defer(() => Promise.reject(failure));
    opened.defer(() => {
      throw failure;
    });
    await assert.rejects(opened[Symbol.asyncDispose](), (error) => (error as AggregateError).errors.length === 2);
    assert.deepEqual(closed, ["first"]);
  });

  test("opened parts stay open when they were handed over", async () => {
    const closed: string[] = [];
    const opened = new Opened();
    opened.defer(() => void closed.push("part"));
    const owner = opened.moveTo({ name: "owner" });
    await opened[Symbol.asyncDispose]();
    assert.deepEqual(closed, []);
    await owner[Symbol.asyncDispose]();
    assert.deepEqual(closed, ["part"]);
  });
});
