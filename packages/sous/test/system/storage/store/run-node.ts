/** Other processes for tests of stores that are shared: scripts in TypeScript, run by this Node. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";

export type NodeProcess = ChildProcessByStdio<Writable, Readable, Readable>;

export type ScriptOptions = {
  /** Another program that starts Node, with its arguments in front. */
  wrapper?: readonly string[];
  /** Another Node. */
  node?: string;
  /** Without the rights of the machine's root, if that is who runs the tests. */
  isNobody?: boolean;
};

/** Begins a script that can use `openSqliteStore`, `sampleTree` and `file`. */
export function startScript(file: string, script: string, options: ScriptOptions = {}): NodeProcess {
  const { wrapper = [], node = process.execPath, isNobody = false } = options;
  // Once everything is loaded: the sources may be where only root can read them.
  const asNobody = "process.setgroups([]); process.setgid(65534); process.setuid(65534);";
  const source = `
    import { openSqliteStore } from ${JSON.stringify(urlOf("../../../../src/storage/store/sqlite/store.ts"))};
    import { sampleTree } from ${JSON.stringify(urlOf("../../../../src/testing/sample-tree.ts"))};
    const file = ${JSON.stringify(file)};
    ${isNobody && process.getuid?.() === 0 ? asNobody : ""}
    ${script}`;
  const [command = node, ...rest] = [...wrapper, node];
  return spawn(command, [...rest, "--input-type=module", "--eval", source], {
    stdio: ["pipe", "pipe", "pipe"],
    // Its share of the coverage would be written as nobody.
    env: isNobody ? { ...process.env, NODE_V8_COVERAGE: "" } : process.env,
  });
}

/** Everything the script has printed, once it has ended. */
export async function runScript(file: string, script: string, options?: ScriptOptions): Promise<string> {
  const child = startScript(file, script, options);
  child.stdin.end();
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return `${output}${errors}${code === 0 ? "" : `exit ${code}\n`}`;
}

function urlOf(path: string): string {
  return new URL(path, import.meta.url).href;
}
