/** The guard of programs: killed, it is started again, up to a number of times. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Guard } from "../../../../src/app/process/guard.ts";

const MAX_STARTS = 50;

function children(): string[] {
  return readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").trim().split(" ").filter(Boolean);
}

test("a guard that is killed is started again fifty times in all, and then there is none", {
  skip: process.platform !== "linux",
}, async () => {
  const guard = new Guard(`test-${process.pid}`, { PATH: "/usr/bin:/bin" });
  for (let start = 1; start <= MAX_STARTS; start++) {
    assert.equal(guard.stand(), true, `start ${start}`);
    assert.equal(guard.stand(), true, "it stands already");
    const [pid, ...others] = children();
    assert.deepEqual(others, [], "one guard is enough");
    process.kill(Number(pid), "SIGKILL");
    while (children().length > 0) await nextTurn();
    // Its end is heard a moment after it.
    await nextTurn();
  }
  assert.equal(guard.stand(), false);
  await guard.dismiss();
});
