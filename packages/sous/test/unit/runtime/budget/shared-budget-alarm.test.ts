/** When a process looks at a shared budget again, and how it says what it was given. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { BudgetRows } from "../../../../src/core/shared-budget.ts";
import { SharedBudgetAlarm } from "../../../../src/runtime/budget/shared-budget-alarm.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";

test("a process listens for news only while a run waits, and asks often again after a pause", () => {
  const clock = new VirtualClock(0);
  let listeners = 0;
  const rows = {
    listen() {
      listeners += 1;
      return {
        [Symbol.dispose]() {
          listeners -= 1;
        },
      };
    },
  } as unknown as BudgetRows;
  const alarm = new SharedBudgetAlarm(rows, clock, () => {});
  alarm.set("waiting");
  assert.deepEqual([listeners, clock.liveTimers], [1, 1]);
  alarm.set("holding");
  assert.deepEqual([listeners, clock.liveTimers], [0, 1]);
  alarm.set("waiting");
  assert.equal(listeners, 1);
  alarm.set("idle");
  assert.deepEqual([listeners, clock.liveTimers], [0, 0]);
});

test("without news the pauses double up to a limit, and begin small again after a rest", () => {
  const clock = new VirtualClock(0);
  const rings: number[] = [];
  const alarm = new SharedBudgetAlarm({ listen: () => undefined } as unknown as BudgetRows, clock, () => {
    rings.push(clock.monotonic());
    alarm.set("waiting");
  });
  alarm.set("waiting");
  for (let ring = 0; ring < 7; ring++) clock.fireNext(() => 0);
  assert.deepEqual(
    rings.map((at, index) => at - (rings[index - 1] ?? 0)),
    [5, 10, 20, 40, 80, 100, 100],
  );
  alarm.set("idle");
  alarm.set("waiting");
  clock.fireNext(() => 0);
  assert.equal((rings.at(-1) ?? 0) - (rings.at(-2) ?? 0), 5);
});

test("a name that cannot be one is quoted whole up to 60 characters, and cut beyond", async () => {
  await using store = openMemoryStore();
  const found = async (name: string) =>
    (await store.sharedBudget(name).catch((error: Error) => error.message)) as unknown as string;
  const name = (length: number) => `\n${"x".repeat(length - 4)}`;
  assert.ok((await found(name(60))).endsWith(`found ${JSON.stringify(name(60))}`));
  assert.ok((await found(name(61))).endsWith(`found ${JSON.stringify(name(61)).slice(0, 60)}…`));
});
