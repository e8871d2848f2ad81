/** The gate of the unit tests: a test that tries to start a process fails, also when its code catches the error. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

const GATE = join(import.meta.dirname, "../../../../scripts/forbid-processes.mjs");

/** Runs a program behind the gate. */
function runGated(program: string): { status: number | null; stderr: string } {
  const parameters = [`--import=${GATE}`, "--input-type=module", "--eval", program];
  return spawnSync(process.execPath, parameters, { cwd: import.meta.dirname, encoding: "utf8" });
}

for (const [what, attempt] of [
  [
    "a process that is started asynchronously",
    'import { spawn } from "node:child_process"; try { spawn("true"); } catch {}',
  ],
  [
    "a process that is waited for",
    'import { execFileSync } from "node:child_process"; try { execFileSync("true"); } catch {}',
  ],
  ["a pseudo-terminal", 'await import("@lydell/node-pty").catch(() => {});'],
] as const) {
  test(`the gate ends the tests with code 1 after ${what}, when the error is caught`, () => {
    const { status, stderr } = runGated(attempt);
    assert.equal(status, 1, stderr);
    assert.match(
      stderr,
      /^Unit tests tried to start a process; move them to test\/system\/:\n- (?:spawn|execFileSync|load) /,
    );
  });
}

test("the gate ends a program that starts nothing with code 0", () => {
  assert.deepEqual([runGated("").status, runGated('import "node:child_process";').status], [0, 0]);
});
