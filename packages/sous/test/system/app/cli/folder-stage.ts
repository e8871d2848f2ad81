/**
 * Projects side by side with one database, and commands that are typed in them as a person would type them. A shell reads
 * the line; what it starts as `sous` says how it was started, and that is then done in this process.
 */

import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import type { Ended } from "../../../support/app/cli/sous-process.ts";

export type Typed = {
  /** A project, by its name. */
  in: string;
  env?: Record<string, string>;
  input?: string;
};

export type FolderStage = Disposable & {
  /** The real path of a project or of another file of the stage. */
  path(...names: string[]): string;
  write(file: string, content: string): void;
  /** A line for a shell in which `sous` is the command. */
  type(line: string, typed: Typed): Promise<Ended>;
};

/** A shell that hangs is a failure, not a wait. */
const LONGEST_MS = 60_000;

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
  program("told/sous", 'printf "%s\\0" "$PWD" "$@"');
  const env = {
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
      const told = await typeLine(line, path(typed.in), { ...variables, PATH: `${path("told")}:${env.PATH}` });
      const [cwd = "", ...parameters] = told.split("\0").slice(0, -1);
      return inProcess(parameters, { cwd, env: variables, input: typed.input ?? "" });
    },
    [Symbol.dispose]: () => rmSync(top, { recursive: true, force: true, maxRetries: 5 }),
  };
}

async function typeLine(line: string, cwd: string, env: Record<string, string>): Promise<string> {
  return (await promisify(execFile)("/bin/sh", ["-c", line], { cwd, env, timeout: LONGEST_MS })).stdout;
}
