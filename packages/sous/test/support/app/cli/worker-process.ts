/** `sous worker` as a process of its own, in a folder whose model follows a script. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compiled, type Ended, MAIN, sous } from "./sous-process.ts";

export type WorkerProcess = AsyncDisposable & {
  /** Resolves when this was said on stdout or stderr. */
  said(text: string | RegExp): Promise<void>;
  stdout(): string;
  stderr(): string;
  /** Resolves with its exit code when it ends by itself. */
  ended(): Promise<number | null>;
  /** Resolves with its exit code, and how many milliseconds it took to end. */
  kill(signal: NodeJS.Signals): Promise<{ code: number | null; milliseconds: number }>;
};

export type WorkerFolder = AsyncDisposable & {
  readonly path: string;
  readonly database: string;
  /** What the model answers from now on; a process that has asked it keeps what it read. */
  answers(script: object): Promise<void>;
  sous(...words: string[]): Promise<Ended>;
  /** Another command that is watched while it works. */
  start(...words: string[]): WorkerProcess;
  /** Resolves when it is at work. */
  worker(...options: string[]): Promise<WorkerProcess>;
};

/** `agents` are texts of agent files of the user, by their names. */
export async function workerFolder(agents: Readonly<Record<string, string>>): Promise<WorkerFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "sous-worker-")));
  const env = {
    HOME: path,
    PATH: process.env.PATH ?? "",
    SOUS_MODEL: "script/answers.json",
    XDG_CONFIG_HOME: join(path, "config"),
    XDG_DATA_HOME: join(path, "data"),
    XDG_STATE_HOME: join(path, "state"),
    TZ: "UTC",
    LC_ALL: "C.UTF-8",
  };
  await mkdir(join(path, "config/sous/agents"), { recursive: true });
  for (const [name, text] of Object.entries(agents)) await writeFile(join(path, `config/sous/agents/${name}.md`), text);
  return {
    path,
    database: join(path, "data/sous/sous.db"),
    answers: (script) => writeFile(join(path, "answers.json"), JSON.stringify(script)),
    sous: (...words) => sous(words, { cwd: path, env }),
    start: (...words) => start(words, path, env),
    async worker(...options) {
      const worker = start(["worker", ...options], path, env);
      await worker.said(/Worker .* takes runs of this folder|"type":"init"/);
      return worker;
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

function start(words: readonly string[], cwd: string, env: Record<string, string>): WorkerProcess {
  const child = spawn(process.execPath, [MAIN, ...words], {
    cwd,
    env: { NODE_COMPILE_CACHE: compiled, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
    killSignal: "SIGKILL",
  });
  const closed = once(child, "close");
  const output = { stdout: "", stderr: "" };
  const waits = new Set<() => void>();
  const heard = (): void => {
    for (const wait of waits) wait();
  };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk) => {
      output[name] += chunk;
      heard();
    });
  child.on("close", heard);
  return {
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const all = output.stdout + output.stderr;
          if (typeof text === "string" ? all.includes(text) : text.test(all)) resolve();
          else if (child.exitCode !== null) reject(new Error(`It ended with ${child.exitCode}: ${all}`));
          else return;
          waits.delete(look);
        };
        waits.add(look);
        look();
      }),
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    ended: async () => (await closed)[0],
    async kill(signal) {
      const before = performance.now();
      child.kill(signal);
      const [code] = await closed;
      return { code, milliseconds: performance.now() - before };
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}
