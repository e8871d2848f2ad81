/** The gate of `max_concurrent`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { createRunSlots } from "../../src/budget/run-slots.ts";
import { ToolFailure } from "../../src/core/errors.ts";
import type { RunSlot, RunSlots } from "../../src/core/limits.ts";
import { Scope } from "../../src/core/scope.ts";

const SCOPE = new Scope();

suite("run slots", () => {
  test("C8: a full gate lets runs queue, first come first served", async () => {
    const { slots, order, start } = setUp(1);
    const first = takeNow(slots);
    const [second, third] = [start("second"), start("third")];
    await settled();
    assert.deepEqual(order, []);
    first[Symbol.dispose]();
    (await second)[Symbol.dispose]();
    await third;
    assert.deepEqual(order, ["second", "third"]);
  });

  test("C8: a full gate that is told to refuse does so at once", () => {
    const slots = createRunSlots(2, "refuse");
    const first = takeNow(slots);
    takeNow(slots);
    assert.throws(() => slots.take(SCOPE), new ToolFailure("maximum concurrent subagent limit reached"));
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    takeNow(slots);
    assert.throws(() => slots.take(SCOPE), ToolFailure);
  });

  test("H5: a run that waits for a descendant has no slot, so nesting deeper than the limit ends", async () => {
    const slots = createRunSlots(1, "queue");
    const nest = async (depth: number): Promise<number> => {
      using slot = await slots.take(SCOPE);
      if (depth === 0) return 0;
      slot.rest();
      const below = await nest(depth - 1);
      await slot.wake(SCOPE);
      return below + 1;
    };
    assert.equal(await nest(20), 20);
    takeNow(slots);
  });

  test("a run whose children have ended goes on before new ones start", async () => {
    const { slots, order, start } = setUp(1);
    const parent = takeNow(slots);
    parent.rest();
    const child = takeNow(slots);
    void start("new");
    const woken = Promise.resolve(parent.wake(SCOPE)).then(() => order.push("parent"));
    child[Symbol.dispose]();
    await woken;
    assert.deepEqual(order, ["parent"]);
    parent[Symbol.dispose]();
    await settled();
    assert.deepEqual(order, ["parent", "new"]);
  });

  test("a run that rests twice needs its slot again only after it was woken twice", () => {
    const slots = createRunSlots(1, "refuse");
    const parent = takeNow(slots);
    parent.rest();
    parent.rest();
    const child = takeNow(slots);
    assert.equal(parent.wake(SCOPE), undefined, "it still rests, so there is nothing to wait for");
    child[Symbol.dispose]();
    assert.equal(parent.wake(SCOPE), undefined);
    assert.throws(() => slots.take(SCOPE), ToolFailure);
    assert.equal(parent.wake(SCOPE), undefined, "a wake without a rest changes nothing");
    parent[Symbol.dispose]();
    takeNow(slots);
  });

  test("a run that rests again while it waits to go on does not take a slot it cannot use", async () => {
    const slots = createRunSlots(1, "refuse");
    const parent = takeNow(slots);
    parent.rest();
    const child = takeNow(slots);
    const woken = parent.wake(SCOPE);
    parent.rest();
    await woken;
    child[Symbol.dispose]();
    const other = takeNow(slots);
    const wokenAgain = parent.wake(SCOPE);
    assert.ok(wokenAgain instanceof Promise);
    other[Symbol.dispose]();
    await wokenAgain;
    assert.throws(() => slots.take(SCOPE), ToolFailure);
  });

  test("whoever waits leaves the line when its scope aborts, and the next one goes on", async () => {
    const { slots, order, start } = setUp(1);
    const parent = takeNow(slots);
    parent.rest();
    const child = takeNow(slots);
    const [wakeScope, startScope] = [new Scope(), new Scope()];
    const woken = parent.wake(wakeScope);
    const started = slots.take(startScope);
    void start("last");
    const reason = new Error("stopped");
    wakeScope.abort(reason);
    startScope.abort(reason);
    await assert.rejects(async () => woken, reason);
    await assert.rejects(async () => started, reason);
    assert.throws(() => slots.take(startScope), reason);
    parent[Symbol.dispose]();
    child[Symbol.dispose]();
    await settled();
    assert.deepEqual(order, ["last"]);
  });

  test("a run that is stopped before it goes on gives back nothing it does not have", async () => {
    const slots = createRunSlots(1, "refuse");
    const parent = takeNow(slots);
    parent.rest();
    const child = takeNow(slots);
    const woken = parent.wake(SCOPE);
    parent[Symbol.dispose]();
    await woken;
    assert.equal(parent.wake(SCOPE), undefined);
    assert.throws(() => slots.take(SCOPE), ToolFailure);
    child[Symbol.dispose]();
    takeNow(slots);
  });

  test("a run whose scope has aborted is not woken", () => {
    const slots = createRunSlots(1, "refuse");
    const parent = takeNow(slots);
    parent.rest();
    const scope = new Scope();
    const reason = new Error("stopped");
    scope.abort(reason);
    assert.throws(() => parent.wake(scope), reason);
    parent[Symbol.dispose]();
    takeNow(slots);
    assert.throws(() => slots.take(SCOPE), ToolFailure);
  });
});

function setUp(limit: number) {
  const slots = createRunSlots(limit, "queue");
  const order: string[] = [];
  const start = async (name: string): Promise<RunSlot> => {
    const slot = await slots.take(SCOPE);
    order.push(name);
    return slot;
  };
  return { slots, order, start };
}

function takeNow(slots: RunSlots): RunSlot {
  const slot = slots.take(SCOPE);
  assert.ok(!(slot instanceof Promise), "had to wait");
  return slot;
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
