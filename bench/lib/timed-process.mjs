/** One process of Node, from its start to its end. */

import { spawnSync } from "node:child_process";
import { describeCrash } from "./crash.mjs";

/** @returns {{ milliseconds: number, stdout: string, error?: string }} */
export function timeProcess(parameters, cwd) {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, parameters, { cwd, encoding: "utf8" });
  const milliseconds = performance.now() - started;
  return status === 0 ? { milliseconds, stdout } : { milliseconds, stdout, error: describeCrash(stderr) };
}

/** Starts Node and nothing else. */
export function timeBareNode(cwd) {
  return timeProcess(["--input-type=module", "--eval", ""], cwd);
}
