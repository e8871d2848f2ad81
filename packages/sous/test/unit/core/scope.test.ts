/** Cancellation as a tree of scopes. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Scope, untilAborted } from "../../../src/core/scope.ts";

suite("a scope", () => {
  for (const count of [1, 2, 3]) {
    test(`a scope aborts with the one above it, once, and tells its listeners (${count} below, ${count} listeners)`, () => {
      const above = new Scope();
      const heard: unknown[] = [];
      const below = Array.from({ length: count }, () => new Scope(above));
      for (const scope of below)
        for (let index = 0; index < count; index++) scope.onAbort((reason) => heard.push(reason));
      above.abort("first");
      above.abort("second");
      assert.deepEqual(heard, Array(count * count).fill("first"));
      assert.deepEqual(
        below.map(({ aborted, reason, signal }) => [aborted, reason, signal.aborted, signal.reason]),
        Array(count).fill([true, "first", true, "first"]),
      );
      assert.throws(
        () => below[0]?.throwIfAborted(),
        (error) => error === "first",
      );
    });

    test(`a scope that was disposed hears nothing, and neither does a listener that was (${count} of each before)`, () => {
      const above = new Scope();
      const heard: string[] = [];
      const others = Array.from({ length: count }, () => new Scope(above));
      const gone = new Scope(above);
      for (const other of others) above.onAbort(() => heard.push(other.aborted ? "late" : "listener"));
      const link = above.onAbort(() => heard.push("gone"));
      gone[Symbol.dispose]();
      gone[Symbol.dispose]();
      link[Symbol.dispose]();
      above.abort("now");
      assert.deepEqual([gone.aborted, heard], [false, Array(count).fill("listener")]);
      assert.deepEqual(
        others.map(({ aborted }) => aborted),
        Array(count).fill(true),
      );
    });
  }

  test("a scope aborts those below, not the one above", () => {
    const above = new Scope();
    const middle = new Scope(above);
    const below = new Scope(middle);
    middle.abort("middle");
    assert.deepEqual([above.aborted, middle.aborted, below.aborted], [false, true, true]);
    assert.doesNotThrow(() => above.throwIfAborted());
  });

  test("a scope made below one that was aborted is aborted, and tells a new listener at once", () => {
    const above = new Scope();
    above.abort("before");
    const below = new Scope(above);
    const heard: unknown[] = [];
    below.onAbort((reason) => heard.push(reason))[Symbol.dispose]();
    below.listen((reason) => heard.push(reason));
    assert.deepEqual([below.aborted, below.signal.reason, heard], [true, "before", ["before", "before"]]);
  });

  test("a scope has one signal, which aborts with it", () => {
    const scope = new Scope();
    const { signal } = scope;
    assert.deepEqual([scope.signal === signal, signal.aborted], [true, false]);
    scope.abort("now");
    assert.deepEqual([signal.aborted, signal.reason], [true, "now"]);
  });
});

suite("work until a scope aborts", () => {
  test("the promise settles like the work", async () => {
    const scope = new Scope();
    assert.equal(await untilAborted(Promise.resolve(1), scope), 1);
    await assert.rejects(untilAborted(Promise.reject(new Error("own")), scope), { message: "own" });
  });

  test("the promise rejects with the reason of the scope, aborted before or meanwhile", async () => {
    const scope = new Scope();
    const waiting = untilAborted(new Promise(() => {}), scope);
    scope.abort(new Error("stopped"));
    await assert.rejects(waiting, { message: "stopped" });
    await assert.rejects(untilAborted(new Promise(() => {}), scope), { message: "stopped" });
  });
});
