/** The command as a real process, with nothing of our own environment. */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const PACKAGE: string = join(import.meta.dirname, "../../../..");
const SOURCES: string = join(PACKAGE, "src/app/cli/main.ts");
/** Bundled, when all tests run; its sources otherwise. */
export const MAIN: string = process.env.SOUS_TEST_COMMAND ?? SOURCES;

/** Most of a short command is loading its sources; all but the first find them compiled. */
export const compiled: string = process.env.NODE_COMPILE_CACHE ?? temporaryCache();

function temporaryCache(): string {
  const folder = mkdtempSync(join(tmpdir(), "sous-compiled-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** A command that hangs is a failure, not a wait. */
const LONGEST_MS = 60_000;

export type Ended = { code: number | null; stdout: string; stderr: string; milliseconds: number };

export type ProcessOptions = {
  cwd?: string;
  env?: Record<string, string>;
  /** No file may become larger: what a full disk does to a database. */
  maxFileKb?: number;
  /** Whatever the others run. */
  fromSources?: boolean;
  /** Sends a signal, once, when this is seen on stderr. */
  signalAt?: { text: string; signal: NodeJS.Signals } | undefined;
};

export function sous(parameters: readonly string[], options: ProcessOptions = {}): Promise<Ended> {
  const { cwd = PACKAGE, env = {}, signalAt } = options;
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const [program, ...given] = commandLine(parameters, options);
    const child = spawn(program, given, {
      cwd,
      env: { NODE_COMPILE_CACHE: compiled, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: LONGEST_MS,
      killSignal: "SIGKILL",
    });
    const output = { stdout: "", stderr: "" };
    let isSent = false;
    child.stdout.on("data", (chunk) => (output.stdout += chunk));
    child.stderr.on("data", (chunk) => {
      output.stderr += chunk;
      // Once: a second interrupt would end it at once.
      if (signalAt === undefined || isSent || !output.stderr.includes(signalAt.text)) return;
      isSent = child.kill(signalAt.signal);
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...output, milliseconds: performance.now() - started }));
  });
}

function commandLine(parameters: readonly string[], options: ProcessOptions): [string, ...string[]] {
  const { maxFileKb, fromSources = false } = options;
  const command: [string, ...string[]] = [process.execPath, fromSources ? SOURCES : MAIN, ...parameters];
  // The unit of the shell's limit is 512 bytes.
  return maxFileKb === undefined
    ? command
    : ["/bin/sh", "-c", 'ulimit -f "$0" && exec "$@"', String(maxFileKb * 2), ...command];
}

/** A folder for data of its own, and the variables that make the command use it. */
export async function dataFolder(): Promise<
  AsyncDisposable & { path: string; file: string; env: Record<string, string> }
> {
  const path = await mkdtemp(join(tmpdir(), "sous-cli-"));
  return {
    path,
    file: join(path, "sous", "sous.db"),
    env: { XDG_DATA_HOME: path, TZ: "UTC" },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}
