/** The rate of progress messages, against a clock that a test moves. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ServedProgress } from "../../../../src/bridges/mcp/serve-calls.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";

type Sent = { readonly at: number; readonly progress: number; readonly message: string };

function stage(take: () => Promise<void> = async () => {}) {
  const clock = new VirtualClock(0);
  const sent: Sent[] = [];
  const progress = new ServedProgress({
    clock,
    send(number, message) {
      sent.push({ at: clock.monotonic(), progress: number, message });
      return take();
    },
  });
  const fire = async (): Promise<boolean> => {
    const fired = clock.fireNext(() => 0);
    await setImmediate();
    return fired;
  };
  return { clock, sent, progress, fire };
}

suite("progress of a call", () => {
  test("progress is at most four lines a second, with the last line of each quarter, and its number rises", async () => {
    const { sent, progress, fire, clock } = stage();
    progress.show("a");
    await fire();
    for (const line of ["b", "c", "d"]) progress.show(line);
    await fire();
    clock.ownTimer(400, () => progress.show("e"));
    await fire();
    await fire();
    assert.deepEqual(sent, [
      { at: 0, progress: 1, message: "a" },
      { at: 250, progress: 2, message: "d" },
      { at: 650, progress: 3, message: "e" },
    ]);
  });

  test("progress is repeated when nothing changes, so that a client keeps waiting, and ends with the call", async () => {
    const { sent, progress, fire } = stage();
    progress.show("silent");
    progress.show("silent");
    for (let count = 0; count < 3; count++) await fire();
    assert.deepEqual(
      sent.map(({ at, progress: number }) => [at, number]),
      [
        [0, 1],
        [10_000, 2],
        [20_000, 3],
      ],
    );
    progress[Symbol.dispose]();
    progress.show("late");
    assert.equal(await fire(), false);
  });

  test("progress waits for a client that does not take it, and survives one that cannot be written to", async () => {
    const taken = Promise.withResolvers<void>();
    const { sent, progress, fire } = stage(() => taken.promise);
    progress.show("a");
    await fire();
    progress.show("b");
    assert.equal(await fire(), false);
    taken.reject(new Error("The pipe is closed"));
    await setImmediate();
    await fire();
    assert.deepEqual(
      sent.map(({ message }) => message),
      ["a", "b"],
    );
  });
});
