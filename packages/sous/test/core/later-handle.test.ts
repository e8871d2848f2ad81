/** The handle of a run that is still being opened. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { SousEvent } from "../../src/core/event.ts";
import { makeHandle } from "../../src/core/handle.ts";
import { laterHandle } from "../../src/core/later-handle.ts";
import type { RunHandle, RunResult } from "../../src/core/runtime.ts";
import { EVERY_EVENT } from "./every-event.ts";

const RESULT = { text: "Done." } as RunResult;
const EVENT = EVERY_EVENT.stalled as SousEvent;

/** A handle that says what was asked of it, and a way to let it open. */
function setUp() {
  const asked: string[] = [];
  const gate = Promise.withResolvers<void>();
  const real: RunHandle = makeHandle({
    id: "real",
    result: Promise.resolve(RESULT),
    async *iterate() {
      try {
        yield EVENT;
        yield EVENT;
      } finally {
        asked.push("iterator closed");
      }
    },
    steer: (path, text) => asked.push(`steer ${path} ${text}`) > 0,
    cancel: (path) => asked.push(`cancel ${path}`) > 0,
    spending: () => ({ limits: [], runs: [{ path: "lead" }] }) as unknown as ReturnType<RunHandle["spending"]>,
    send: async (path, message) => `${path} heard ${message}`,
    followUp: (message) => {
      asked.push(`followUp ${message}`);
      return real;
    },
  });
  const handle = laterHandle("early", async (onHandle) => {
    await gate.promise;
    onHandle(real);
  });
  return { handle, asked, open: gate.resolve, fail: gate.reject };
}

suite("a handle of a run that is still being opened", () => {
  test("answers for itself until it is, and then as the run does", async () => {
    const { handle, asked, open } = setUp();
    assert.deepEqual(
      [handle.id, handle.steer("lead", "Hi."), handle.cancel("lead/a"), handle.spending()],
      ["early", false, false, { limits: [], runs: [] }],
    );
    const sent = handle.send("lead/a", "Hi.");
    open();
    assert.equal(await handle, RESULT);
    assert.deepEqual(
      [handle.id, handle.steer("lead", "Hi."), handle.cancel("lead/a"), handle.spending().runs.length, await sent],
      ["real", true, true, 1, "lead/a heard Hi."],
    );
    assert.equal(await handle.followUp("More."), RESULT);
    assert.deepEqual(asked, ["steer lead Hi.", "cancel lead/a", "followUp More."]);
  });

  test("that was cancelled cancels the run as soon as it is there", async () => {
    const { handle, asked, open } = setUp();
    assert.equal(handle.cancel(), true);
    open();
    await handle;
    assert.deepEqual(asked, ["cancel undefined"]);
  });

  test("of which only a part was cancelled cancels nothing", async () => {
    const { handle, asked, open } = setUp();
    handle.cancel("lead/a");
    open();
    await handle;
    assert.deepEqual(asked, []);
  });

  for (const when of ["before", "after"]) {
    test(`gives every event to a loop that began ${when} it was opened, and closes what the loop leaves`, async () => {
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

  test("that cannot be opened rejects whatever waits for it", async () => {
    const { handle, fail } = setUp();
    const next = handle[Symbol.asyncIterator]().next();
    const sent = handle.send("lead", "Hi.");
    fail(new Error("no such run"));
    for (const waiting of [handle, next, sent, handle.followUp("More.")])
      await assert.rejects(async () => waiting, { message: "no such run" });
  });

  test("that was opened without a run says so", async () => {
    await assert.rejects(async () => laterHandle("early", async () => {}), { message: "The run was not opened" });
  });
});
