/**
 * Projects side by side with one database, and commands that are typed in them as a person would type them. A shell reads
 * the line; what it starts as `sous` says how it was started, and that is then done in this process.
 */

import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { compiled, type Ended, MAIN } from "../../../support/app/cli/sous-process.ts";

export type Typed = {
  /** A project, by its name. */
  in: string;
  env?: Record<string, string>;
  input?: string;
  /** Starts a process, and kills it, once, when this is seen on stderr. */
  killAt?: string;
  /** Starts a process. */
  asProcess?: boolean;
};

export type FolderStage = Disposable & {
  /** The real path of a project or of another file of the stage. */
  path(...names: string[]): string;
  write(file: string, content: string): void;
  /** A line for a shell in which `sous` is the command. */
  type(line: string, typed: Typed): Promise<Ended>;
};

/** A command that hangs is a failure, not a wait. */
const LONGEST_MS = 120_000;

export function openFolders(...projects: string[]): FolderStage {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "sous-folders-")));
  const path = (...names: string[]): string => join(top, ...names);
  const write = (file: string, content: string): void => {
    mkdirSync(dirname(path(file)), { recursive: true });
    writeFileSync(path(file), content);
  };
  for (const name of [...projects, "data", "config", "state"]) mkdirSync(path(name));
  const program = (file: string, script: string): void => {
    write(file, `#!/bin/sh\n${script}\n`);
    chmodSync(path(file), 0o755);
  };
  program("bin/sous", `exec '${process.execPath}' '${MAIN}' "$@"`);
  program("told/sous", 'printf "%s\\0" "$PWD" "$@"');
  const env = {
    NODE_COMPILE_CACHE: compiled,
    PATH: process.env.PATH ?? "",
    HOME: top,
    XDG_DATA_HOME: path("data"),
    XDG_CONFIG_HOME: path("config"),
    XDG_STATE_HOME: path("state"),
    TZ: "UTC",
  };
  return {
    path,
    write,
    async type(line, typed) {
      const variables = { ...env, ...typed.env };
      const inShell = (programs: string): Promise<Ended> =>
        typeLine(line, typed, path(typed.in), { ...variables, PATH: `${path(programs)}:${env.PATH}` });
      if (typed.asProcess === true || typed.killAt !== undefined) return inShell("bin");
      const [cwd = "", ...parameters] = (await inShell("told")).stdout.split("\0").slice(0, -1);
      return inProcess(parameters, { cwd, env: variables, input: typed.input ?? "" });
    },
    [Symbol.dispose]: () => rmSync(top, { recursive: true, force: true, maxRetries: 5 }),
  };
}

function typeLine(line: string, typed: Typed, cwd: string, env: Record<string, string>): Promise<Ended> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    // The shell gives its place to the command, so that a signal reaches that.
    const child = spawn("/bin/sh", ["-c", line.startsWith("cd ") ? line : `exec ${line}`], {
      cwd,
      env,
      stdio: ["pipe", "pipe", "pipe"],
      timeout: LONGEST_MS,
      killSignal: "SIGKILL",
    });
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk) => (output.stdout += chunk));
    child.stderr.on("data", (chunk) => {
      output.stderr += chunk;
      if (typed.killAt !== undefined && output.stderr.includes(typed.killAt)) child.kill("SIGKILL");
    });
    child.stdin.on("error", () => {});
    child.stdin.end(typed.input ?? "");
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...output, milliseconds: performance.now() - started }));
  });
}
