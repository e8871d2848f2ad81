/** The handle of a run that is still being opened. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { SousEvent } from "../../../../src/core/event.ts";
import type { RunResult } from "../../../../src/core/runtime.ts";
import { rootHandle } from "../../../../src/runtime/tree/root-handle.ts";
import type { RootRun } from "../../../../src/runtime/tree/root-run.ts";
import { EVERY_EVENT } from "../../../support/core/every-event.ts";

const RESULT = { text: "Done." } as RunResult;
const EVENT = EVERY_EVENT.stalled as SousEvent;

/** A run that records what was asked of it, and a way to let it open. */
function setUp() {
  const asked: string[] = [];
  const gate = Promise.withResolvers<void>();
  const run = {
    id: "real",
    ended: Promise.resolve({ result: RESULT, cause: undefined }),
    async *iterate() {
      try {
        yield EVENT;
        yield EVENT;
      } finally {
        asked.push("iterator closed");
      }
    },
    steer: (path: string, text: string) => asked.push(`steer ${path} ${text}`) > 0,
    cancel: (path?: string) => asked.push(`cancel ${path}`) > 0,
    spending: () => ({ limits: [], runs: [{ path: "lead" }] }),
    send: async (path: string, message: string) => `${path} heard ${message}`,
    followUp(message: { content: { text: string }[] }) {
      asked.push(`followUp ${message.content[0]?.text}`);
      return run;
    },
  };
  const opening = gate.promise.then(() => run as unknown as RootRun);
  return { handle: rootHandle("early", opening), asked, open: gate.resolve, fail: gate.reject };
}

suite("a handle of a run that is still being opened", () => {
  test("a handle answers for itself until its run is opened, and then as the run does", async () => {
    const { handle, asked, open } = setUp();
    assert.deepEqual(
      [handle.id, handle.steer("lead", "Hi."), handle.cancel("lead/a"), handle.spending()],
      ["early", false, false, { limits: [], runs: [] }],
    );
    const sent = handle.send("lead/a", "Hi.");
    open();
    assert.equal(await handle, RESULT);
    assert.equal(await handle.result, RESULT);
    assert.deepEqual(
      [handle.id, handle.steer("lead", "Hi."), handle.cancel("lead/a"), handle.spending().runs.length, await sent],
      ["real", true, true, 1, "lead/a heard Hi."],
    );
    assert.equal(await handle.followUp("More."), RESULT);
    assert.deepEqual(asked, ["steer lead Hi.", "cancel lead/a", "followUp More."]);
  });

  test("a handle that was cancelled before its run is opened cancels the run as soon as it is there", async () => {
    const { handle, asked, open } = setUp();
    assert.equal(handle.cancel(), true);
    open();
    await handle;
    assert.deepEqual(asked, ["cancel undefined"]);
  });

  test("a handle of which only a part was cancelled before its run is opened cancels nothing", async () => {
    const { handle, asked, open } = setUp();
    handle.cancel("lead/a");
    open();
    await handle;
    assert.deepEqual(asked, []);
  });

  test("a handle of a run that is still being opened has follow-ups in the order in which they were asked for", async () => {
    const { handle, asked, open } = setUp();
    const all = [handle.followUp("One."), handle.followUp("Two.")];
    open();
    await Promise.all(all.map(({ result }) => result));
    assert.deepEqual(asked, ["followUp One.", "followUp Two."]);
  });

  for (const when of ["before", "after"]) {
    test(`a handle of a run that is still being opened gives every event to a loop that began ${when} it was opened, and closes what the loop leaves`, async () => {
      const { handle, asked, open } = setUp();
      if (when === "after") {
        open();
        await handle;
      }
      const iterator = handle[Symbol.asyncIterator]();
      const first = iterator.next();
      open();
      assert.deepEqual(await first, { done: false, value: EVENT });
      assert.deepEqual(await iterator.return?.(), { done: true, value: undefined });
      assert.deepEqual([await iterator.next(), asked], [{ done: true, value: undefined }, ["iterator closed"]]);
    });
  }

  test("a handle of a run that cannot be opened rejects every promise of it", async () => {
    const { handle, fail } = setUp();
    const next = handle[Symbol.asyncIterator]().next();
    const sent = handle.send("lead", "Hi.");
    fail(new Error("no such run"));
    for (const waiting of [handle, handle.result, next, sent, handle.followUp("More.")])
      await assert.rejects(async () => waiting, { message: "no such run" });
  });
});

test("a task for the end of a run is done after it, and its result or its error goes through", async () => {
  const { handle, open } = setUp();
  let ends = 0;
  const ended = handle.finally(() => {
    ends += 1;
  });
  open();
  assert.deepEqual([await ended, ends], [RESULT, 1]);
  const failing = setUp();
  const failed = failing.handle.finally(() => {
    ends += 1;
  });
  failing.fail(new Error("No."));
  await assert.rejects(failed, /^Error: No\.$/);
  assert.equal(ends, 2);
});
