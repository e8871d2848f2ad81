/** Long work in a queue: one piece after another, with a turn of the process before each. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { oneAtATime } from "../../../src/core/schema.ts";

test("each piece of work has a turn of its own, in the order they came", async () => {
  const seen: string[] = [];
  const inTurn = oneAtATime(async () => {
    seen.push("turn");
    await Promise.resolve();
  });
  const results = ["a", "b", "c"].map((name) =>
    inTurn(() => {
      seen.push(name);
      return name.toUpperCase();
    }),
  );
  assert.deepEqual(seen, []);
  assert.deepEqual(await Promise.all(results), ["A", "B", "C"]);
  assert.deepEqual(seen, ["turn", "a", "turn", "b", "turn", "c"]);
});

test("work that throws, or is stopped before its turn, does not hold up what comes after it", async () => {
  const inTurn = oneAtATime(() => Promise.resolve());
  const stopped = AbortSignal.abort(new Error("stopped"));
  const failed = inTurn(() => {
    throw new Error("a fault of the work");
  });
  const never = inTurn(() => assert.fail("it was stopped"), stopped);
  const later = inTurn(() => "later");
  await assert.rejects(failed, { message: "a fault of the work" });
  await assert.rejects(never, { message: "stopped" });
  assert.equal(await later, "later");
});
