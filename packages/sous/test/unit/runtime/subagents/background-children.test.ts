/** A parent that waits for children in the background waits no longer than for them, as far as the ledger knows. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { BackgroundChild, Run } from "../../../../src/core/run.ts";
import { Scope } from "../../../../src/core/scope.ts";
import type { ChildReport } from "../../../../src/core/spawn.ts";
import {
  nextReport,
  takeReports,
  untilChildrenRest,
  untilEnded,
} from "../../../../src/runtime/subagents/background-children.ts";

/** As much of a parent and its child as waiting needs. */
function setUp() {
  const ended = Promise.withResolvers<ChildReport>();
  let open = 0;
  const wait = () => {
    let isOpen = true;
    open += 1;
    return {
      [Symbol.dispose]() {
        if (isOpen) open -= 1;
        isOpen = false;
      },
    };
  };
  const child = { run: { who: { agentId: "kid" } }, isDelivered: false, ended: ended.promise };
  const parent = {
    scope: new Scope(),
    work: new Scope(),
    openChildren: 0,
    background: new Map([["kid", child]]),
    holding: { wait },
    tree: { onLiveChildren: "wait" },
  };
  return { ended, child, parent, run: parent as unknown as Run, waits: () => open };
}

const REPORT = { agentId: "kid", label: "kid", status: "completed", text: "Found." } as unknown as ChildReport;

suite("B11: the wait of a parent", () => {
  test("the wait of a parent for reports is over with the last of them, also of a child that had ended just before", async () => {
    const { ended, run, waits } = setUp();
    const reports = takeReports(run, undefined, "call_1");
    assert.equal(waits(), 1);
    ended.resolve(REPORT);
    assert.deepEqual([await reports, waits(), run.background?.size], [[REPORT], 0, 0]);
  });

  test("the wait of a parent for reports is over when the parent is stopped, and they are not taken then", async () => {
    const { run, parent, child, waits } = setUp();
    const reports = takeReports(run, undefined, "call_1");
    assert.equal(child.isDelivered, true);
    parent.scope.abort(new Error("stopped"));
    await assert.rejects(reports, { message: "stopped" });
    assert.deepEqual([waits(), child.isDelivered, run.background?.size], [0, false, 1]);
  });

  test("the wait of a parent for reports is over as soon as its last child has ended, before its report is there", async () => {
    const { ended, run, waits } = setUp();
    const [kid] = run.background?.values() ?? [];
    const twin = { ...kid, run: { who: { agentId: "twin" } } } as unknown as BackgroundChild;
    run.background?.set("twin", twin);
    const reports = takeReports(run, undefined, "call_1");
    for (const [child, left] of [
      [kid, 1],
      [twin, 0],
    ] as const) {
      for (const wait of child?.run.waits ?? []) wait[Symbol.dispose]();
      assert.equal(waits(), left);
    }
    ended.resolve(REPORT);
    assert.equal((await reports).length, 2);
  });

  test("the wait of a parent for its children to rest is over when its work is stopped", async () => {
    const { run, parent, waits } = setUp();
    const resting = untilChildrenRest(run);
    assert.equal(waits(), 1);
    parent.work.abort(new Error("stopped"));
    await assert.rejects(resting, { message: "stopped" });
    assert.equal(waits(), 0);
  });

  test("the wait of a parent for reports of others does not begin, and theirs are not taken", async () => {
    const { run, child, waits } = setUp();
    assert.deepEqual([await takeReports(run, ["other"], "call_1"), waits()], [[], 0]);
    assert.deepEqual([child.isDelivered, run.background?.size], [false, 1]);
  });

  test("the wait of a parent for the end of a child is over with it, whatever became of it", async () => {
    for (const end of ["resolve", "reject"] as const) {
      const { ended, run, waits } = setUp();
      const [child] = run.background?.values() ?? [];
      assert.ok(child !== undefined);
      const waiting = untilEnded(run, child, "call_1");
      assert.equal(waits(), 1);
      ended[end](REPORT);
      await waiting;
      assert.equal(waits(), 0);
    }
  });

  test("the wait of a parent for the next news is over when the parent is stopped", async () => {
    const { run, parent, waits } = setUp();
    const next = nextReport(run);
    assert.equal(waits(), 1);
    parent.scope.abort(new Error("stopped"));
    await assert.rejects(next, { message: "stopped" });
    assert.equal(waits(), 0);
  });

  test("the wait of a parent for the next news is over with a word from outside, which is there to be read", async () => {
    const { run, waits } = setUp();
    const next = nextReport(run);
    run.inbox = [{ kind: "steer", text: "Hi." }] as unknown as Run["inbox"];
    run.onIncoming?.();
    assert.deepEqual([await next, waits(), run.onIncoming], [true, 0, undefined]);
  });
});
