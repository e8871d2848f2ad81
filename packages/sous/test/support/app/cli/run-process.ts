/** `sous run` as a real process that something happens to: text on its stdin, signals, a reader that goes away. */

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compiled, MAIN } from "./sous-process.ts";

/** What is done to a process when it has said something, on stdout or stderr; one after the other. */
export type Act = { at: RegExp; act: NodeJS.Signals | "close stdout" | "stop reading" };

export type RunProcess = {
  cwd: string;
  parameters: readonly string[];
  env?: Record<string, string>;
  /** Stdin is /dev/null without it. */
  input?: string;
  acts?: readonly Act[];
};

export type Ended = { code: number | null; signal: string | null; stdout: string; stderr: string };

/** A command that hangs is a failure, not a wait. */
const LONGEST_MS = 60_000;

export function runProcess({ cwd, parameters, env = {}, input, acts = [] }: RunProcess): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...parameters], {
      cwd,
      env: { NODE_COMPILE_CACHE: compiled, XDG_DATA_HOME: cwd, XDG_CONFIG_HOME: cwd, XDG_STATE_HOME: cwd, ...env },
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      timeout: LONGEST_MS,
      killSignal: "SIGKILL",
    });
    const { stdout: out, stderr: err } = child;
    if (out === null || err === null) throw new Error("It has no output");
    const said = { stdout: "", stderr: "" };
    let next = 0;
    const heard = (): void => {
      const { at, act } = acts[next] ?? {};
      if (at === undefined || act === undefined || !at.test(said.stdout + said.stderr)) return;
      next += 1;
      if (act === "close stdout") out.destroy();
      else if (act === "stop reading") out.pause();
      else child.kill(act);
    };
    out.on("data", (chunk) => {
      said.stdout += chunk;
      heard();
    });
    err.on("data", (chunk) => {
      said.stderr += chunk;
      heard();
    });
    heard();
    // It may end before it has read everything.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, ...said }));
  });
}

export type ScriptFolder = AsyncDisposable & { path: string };

/** A folder with scripts of models, by their names. */
export async function scriptFolder(scripts: Readonly<Record<string, object>>): Promise<ScriptFolder> {
  const path = await mkdtemp(join(tmpdir(), "sous-run-"));
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(join(path, `${name}.json`), JSON.stringify(script));
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}
