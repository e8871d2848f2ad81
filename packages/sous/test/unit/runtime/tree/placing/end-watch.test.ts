import assert from "node:assert/strict";
import { test } from "node:test";
import type { Placing } from "../../../../../src/core/engine.ts";
import { endWatchOf } from "../../../../../src/runtime/tree/placing/end-watch.ts";

test("a process listens for ends as long as one of those that wait has not left", () => {
  let listening = 0;
  const placing = {
    ends: async () => [],
    listen() {
      listening += 1;
      return {
        [Symbol.dispose]() {
          listening -= 1;
        },
      };
    },
  } as unknown as Placing;
  const watch = endWatchOf(placing);
  const [one, other] = [watch.wait("run"), watch.wait("run")];
  assert.equal(listening, 1);
  one[Symbol.dispose]();
  assert.equal(listening, 1, "the other still waits");
  other[Symbol.dispose]();
  assert.equal(listening, 0);
});
