/** Repositories that make the real git start a program, which leaves a marker. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openPrograms } from "../../../../src/app/process/programs.ts";
import type { ProgramResult } from "../../../../src/core/process.ts";

const IDENTITY = {
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a",
};
export const VARIABLES = { PATH: "/usr/bin:/bin", HOME: "/nonexistent", ...IDENTITY };

export type Repository = {
  readonly root: string;
  readonly marker: string;
  /** A program that leaves the marker. */
  readonly program: string;
  write(name: string, text: string, mode?: number): void;
  /** A line of the repository's own configuration. */
  set(section: string, line: string): void;
};

export type Row = {
  readonly what: string;
  prepare(repository: Repository): void;
  readonly args: readonly string[];
  /** Below the repository. */
  readonly folder?: string;
};

export class GitRepositories implements Disposable {
  readonly place = realpathSync(mkdtempSync(join(tmpdir(), "sous-git-")));
  readonly #clean = join(this.place, "clean");
  #count = 0;

  constructor() {
    mkdirSync(this.#clean);
    const git = (...args: string[]) => spawnSync("git", args, { cwd: this.#clean, env: VARIABLES });
    git("init", "-q");
    writeFileSync(join(this.#clean, "file"), "text\n");
    git("add", "file");
    assert.equal(git("commit", "-qm", "first").status, 0);
  }

  make(): Repository {
    this.#count += 1;
    const root = join(this.place, `repository-${this.#count}`);
    cpSync(this.#clean, root, { recursive: true });
    const marker = join(this.place, `marker-${this.#count}`);
    const program = join(this.place, `program-${this.#count}`);
    writeFileSync(program, `#!/bin/sh\n: > '${marker}'\n`, { mode: 0o755 });
    const write = (name: string, text: string, mode = 0o644) => {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text, { mode });
    };
    const set = (section: string, line: string) =>
      writeFileSync(join(root, ".git/config"), `[${section}]\n\t${line}\n`, { flag: "a" });
    return { root, marker, program, write, set };
  }

  [Symbol.dispose](): void {
    rmSync(this.place, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Runs git as the terminal tool does. */
export async function runGit(
  { root }: Pick<Repository, "root">,
  { args, folder = "." }: Pick<Row, "args" | "folder">,
  isTrusted: boolean,
): Promise<ProgramResult> {
  const cwd = join(root, folder);
  await using programs = openPrograms({
    environment: { PATH: VARIABLES.PATH, HOME: VARIABLES.HOME },
    workspace: { cwd, projects: [{ root, isTrusted }] },
  });
  const limits = { maxOutputBytes: 4096, timeoutMs: 20_000 };
  return await programs.run({ program: "git", args, cwd, environment: IDENTITY, mayUseProject: true, ...limits });
}

/** The same without us. */
export function runGitAlone(
  { root }: Pick<Repository, "root">,
  { args, folder = "." }: Pick<Row, "args" | "folder">,
): void {
  spawnSync("git", args, { cwd: join(root, folder), env: VARIABLES, timeout: 20_000 });
}
