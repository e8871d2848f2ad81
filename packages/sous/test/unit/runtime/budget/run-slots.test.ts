/** The gate of `max_concurrent`. How children get a slot together with their first call is tested with the ledger. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ToolFailure } from "../../../../src/core/errors.ts";
import type { RunSlot } from "../../../../src/core/limits.ts";
import { Scope } from "../../../../src/core/scope.ts";
import { openLedger } from "../../../../src/runtime/budget/ledger.ts";
import { Slots, wakeUp } from "../../../../src/runtime/budget/run-slots.ts";
import { fullGate } from "../../../support/runtime/budget/ledger-cases.ts";
import { begin, start, stateOf } from "../../../support/runtime/budget/ledger-runs.ts";

const SCOPE = new Scope();

suite("run slots", () => {
  test("C8: a full gate lets runs queue, first come first served", async () => {
    const { order, take } = setUp(1);
    const first = await take("first");
    const [second, third] = [take("second"), take("third")];
    await settled();
    assert.deepEqual(order, ["first"]);
    first[Symbol.dispose]();
    (await second)[Symbol.dispose]();
    await third;
    assert.deepEqual(order, ["first", "second", "third"]);
  });

  test("C8: a full gate that is told to refuse does so at once", () => {
    const { takeNow } = setUp(2, "refuse");
    const first = takeNow();
    takeNow();
    assert.throws(
      takeNow,
      /^ToolFailure: maximum concurrent subagent limit reached, so \w+ did not start\. Try again /,
    );
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    takeNow();
    assert.throws(takeNow, ToolFailure);
  });

  test("H5: a run that waits for a descendant has no slot, so nesting deeper than the limit ends", async () => {
    const { take, takeNow } = setUp(1);
    const nest = async (depth: number): Promise<number> => {
      using slot = await take(`${depth}`);
      if (depth === 0) return 0;
      slot.rest();
      const below = await nest(depth - 1);
      await slot.wake(SCOPE);
      return below + 1;
    };
    assert.equal(await nest(20), 20);
    takeNow();
  });

  test("a run whose children have ended continues before new ones start", async () => {
    const { order, take, takeNow } = setUp(1);
    const parent = takeNow();
    parent.rest();
    const child = takeNow();
    void take("new");
    const woken = Promise.resolve(parent.wake(SCOPE)).then(() => order.push("parent"));
    child[Symbol.dispose]();
    await woken;
    assert.deepEqual(order, ["parent"]);
    parent[Symbol.dispose]();
    await settled();
    assert.deepEqual(order, ["parent", "new"]);
  });

  test("a run that rests twice needs its slot again only after it was woken twice", () => {
    const { takeNow } = setUp(1, "refuse");
    const parent = takeNow();
    parent.rest();
    parent.rest();
    const child = takeNow();
    assert.equal(parent.wake(SCOPE), undefined, "it still rests, so there is nothing to wait for");
    child[Symbol.dispose]();
    assert.equal(parent.wake(SCOPE), undefined);
    assert.throws(takeNow, ToolFailure);
    assert.equal(parent.wake(SCOPE), undefined, "a wake without a rest changes nothing");
    parent[Symbol.dispose]();
    takeNow();
  });

  test("a run that rests again while it waits to continue does not take a slot it cannot use", async () => {
    const { takeNow } = setUp(1, "refuse");
    const parent = takeNow();
    parent.rest();
    const child = takeNow();
    const woken = parent.wake(SCOPE);
    parent.rest();
    await woken;
    child[Symbol.dispose]();
    const other = takeNow();
    const wokenAgain = parent.wake(SCOPE);
    assert.ok(wokenAgain instanceof Promise);
    other[Symbol.dispose]();
    await wokenAgain;
    assert.throws(takeNow, ToolFailure);
  });

  test("a run that waits leaves the line when its scope aborts, and the next one is served", async () => {
    const { account, order, take, takeNow } = setUp(1);
    const parent = takeNow();
    parent.rest();
    const child = takeNow();
    const [wakeScope, startScope] = [new Scope(), new Scope()];
    const woken = parent.wake(wakeScope);
    const started = start(account, "stopped", undefined, { scope: startScope });
    void take("last");
    const reason = new Error("stopped");
    wakeScope.abort(reason);
    startScope.abort(reason);
    await assert.rejects(async () => woken, reason);
    await assert.rejects(async () => started, reason);
    assert.throws(() => start(account, "late", undefined, { scope: startScope }), reason);
    parent[Symbol.dispose]();
    child[Symbol.dispose]();
    await settled();
    assert.deepEqual(order, ["last"]);
  });

  test("a run that is stopped before it continues gives back nothing it does not have", async () => {
    const { takeNow } = setUp(1, "refuse");
    const parent = takeNow();
    parent.rest();
    const child = takeNow();
    const woken = parent.wake(SCOPE);
    parent[Symbol.dispose]();
    await woken;
    assert.equal(parent.wake(SCOPE), undefined);
    assert.throws(takeNow, ToolFailure);
    child[Symbol.dispose]();
    takeNow();
  });

  test("a run whose scope has aborted is not woken, and ends its rest without a slot", async () => {
    const { takeNow } = setUp(1, "refuse");
    const parent = takeNow();
    parent.rest();
    const scope = new Scope();
    const reason = new Error("stopped");
    scope.abort(reason);
    assert.throws(() => parent.wake(scope), reason);
    await wakeUp(parent, scope);
    parent[Symbol.dispose]();
    takeNow();
    assert.throws(takeNow, ToolFailure);
  });
});

suite("a run that waits for a slot", () => {
  test("a run that waits for a slot waits as the ledger sees it, so that another can be refused and give its slot up", async () => {
    const { youngest, wake } = fullGate(Slots);
    assert.equal(await stateOf(youngest), "waits", "the parent moves");
    const woken = wake();
    assert.equal(await stateOf(youngest), "refused");
    assert.ok(woken instanceof Promise);
  });

  test("a run that waits for a slot moves while another of its calls runs", async () => {
    const { youngest, parent, wake } = fullGate(Slots);
    const tool = parent.runCall();
    using _ = parent.runCall();
    wake("1");
    assert.equal(await stateOf(youngest), "waits");
    tool[Symbol.dispose]();
    assert.equal(await stateOf(youngest), "refused");
  });
});

function setUp(limit: number, onFull: "queue" | "refuse" = "queue") {
  const account = openLedger({}, { slots: new Slots(limit, onFull) });
  const order: string[] = [];
  const take = async (name: string): Promise<RunSlot> => {
    const { slot } = await start(account, name, undefined);
    order.push(name);
    return slot;
  };
  return { account, order, take, takeNow: () => begin(account, "run", undefined).slot };
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
