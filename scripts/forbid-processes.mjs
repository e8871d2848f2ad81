/**
 * Imported before the unit tests. To start a process is an error there, and so is to load the pseudo-terminals of node-pty. The
 * code under test may turn the error into a failed tool result, so the process of the tests also ends with code 1.
 */

import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import nodeTest from "node:test";

const attempts = [];

// `--import` loads this into the test runner too, which starts a process for every file.
if (!process.execArgv.includes("--test")) forbidProcesses();

function forbidProcesses() {
  for (const name of ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"]) {
    childProcess[name] = (file) => refuse(`${name} ${file}`);
  }
  syncBuiltinESMExports();
  const { dlopen } = process;
  process.dlopen = (module, file, ...flags) => {
    if (basename(file) === "pty.node") refuse(`load ${file}`);
    return dlopen(module, file, ...flags);
  };
  process.on("exit", () => {
    if (attempts.length === 0) return;
    console.error(`Unit tests tried to start a process; move them to test/system/:\n${attempts.join("\n")}`);
    process.exitCode = 1;
  });
}

function refuse(what) {
  attempts.push(`- ${what}, in ${whichTest()}`);
  throw new Error(`A unit test starts a process (${what}): move the test to test/system/.`);
}

/** The file is known when it is on the stack, and the name when Node can tell (since 24). */
function whichTest() {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = Number.POSITIVE_INFINITY;
  const file = /[^(\s]*\.test\.[a-z]+:\d+/.exec(new Error().stack ?? "")?.[0];
  Error.stackTraceLimit = stackTraceLimit;
  return [file, nodeTest.getTestContext?.()?.fullName].filter(Boolean).join(", ") || "a test that is not known";
}
