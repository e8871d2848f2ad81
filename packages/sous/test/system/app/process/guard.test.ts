/** The guard of programs: killed, it is started again, up to a number of times. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Guard } from "../../../../src/app/process/guard.ts";

const MAX_STARTS = 50;

function children(): number[] {
  const list = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8");
  return list.trim().split(" ").filter(Boolean).map(Number);
}

/** The kernel may leave one out of the list while others come and go, so an end is read off the process itself. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("a guard that is killed is started again fifty times in all, and then there is none", {
  skip: process.platform !== "linux",
}, async () => {
  const guard = new Guard(`test-${process.pid}`, { PATH: "/usr/bin:/bin" });
  for (let start = 1; start <= MAX_STARTS; start++) {
    // Other tests of this process may have left some.
    const before = new Set(children());
    const started = () => children().filter((pid) => !before.has(pid));
    assert.equal(guard.stand(), true, `start ${start}`);
    assert.equal(guard.stand(), true, "it stands already");
    while (started().length === 0) await nextTurn();
    const [pid = 0, ...others] = started();
    assert.deepEqual(others, [], "one guard is enough");
    process.kill(pid, "SIGKILL");
    while (isThere(pid)) await nextTurn();
    // Its end is heard a moment after it.
    await nextTurn();
  }
  assert.equal(guard.stand(), false);
  await guard.dismiss();
});
