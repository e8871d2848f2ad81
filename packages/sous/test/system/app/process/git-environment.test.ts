/** Programs that a repository makes git start, with the real git: each row leaves a marker when git starts without our settings. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, suite, test } from "node:test";
import { openPrograms } from "../../../../src/app/process/programs.ts";

const IDENTITY = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a" };
const VARIABLES = { PATH: "/usr/bin:/bin", HOME: "/nonexistent", ...IDENTITY };

let place = "";
let clean = "";
let count = 0;

before(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "sous-git-")));
  clean = join(place, "clean");
  mkdirSync(clean);
  const git = (...args: string[]) => spawnSync("git", args, { cwd: clean, env: VARIABLES });
  git("init", "-q");
  writeFileSync(join(clean, "file"), "text\n");
  git("add", "file");
  assert.equal(git("commit", "-qm", "first").status, 0);
});
after(() => rmSync(place, { recursive: true, force: true, maxRetries: 5 }));

type Repository = {
  readonly root: string;
  readonly marker: string;
  /** A program that leaves the marker. */
  readonly program: string;
  write(name: string, text: string, mode?: number): void;
  /** A line of the repository's own configuration. */
  set(section: string, line: string): void;
};

function hostileRepository(): Repository {
  count += 1;
  const root = join(place, `repository-${count}`);
  cpSync(clean, root, { recursive: true });
  const marker = join(place, `marker-${count}`);
  const program = join(place, `program-${count}`);
  writeFileSync(program, `#!/bin/sh\n: > '${marker}'\n`, { mode: 0o755 });
  const write = (name: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text, { mode });
  };
  const set = (section: string, line: string) =>
    writeFileSync(join(root, ".git/config"), `[${section}]\n\t${line}\n`, { flag: "a" });
  return { root, marker, program, write, set };
}

type Row = {
  what: string;
  prepare: (repository: Repository) => void;
  args: readonly string[];
  /** Below the repository. */
  folder?: string;
};

/** What file tools could write without a `.git`: git takes the folder for a repository. */
function looksBare({ write, program }: Repository): void {
  write("bare/HEAD", "ref: refs/heads/main\n");
  write("bare/objects/keep", "");
  write("bare/refs/keep", "");
  write("bare/config", `[core]\n\trepositoryformatversion = 0\n\tworktree = ..\n\tfsmonitor = ${program}\n`);
  write("bare/hooks/pre-commit", `#!/bin/sh\n${program}\n`, 0o755);
}

const ALWAYS: readonly Row[] = [
  {
    what: "core.fsmonitor of the repository, by git status",
    prepare: ({ set, program }) => set("core", `fsmonitor = ${program}`),
    args: ["status"],
  },
  {
    what: "core.fsmonitor of a file that the configuration includes",
    prepare({ set, write, program }) {
      write("more", `[core]\n\tfsmonitor = ${program}\n`);
      set("include", "path = ../more");
    },
    args: ["status"],
  },
  {
    what: "core.fsmonitor of a folder that only looks like a repository",
    prepare: looksBare,
    args: ["status"],
    folder: "bare",
  },
  {
    what: "a hook of a folder that only looks like a repository",
    prepare: looksBare,
    args: ["commit", "--allow-empty", "-m", "x"],
    folder: "bare",
  },
];

const UNTRUSTED: readonly Row[] = [
  {
    what: "a hook",
    prepare: ({ write, program }) => write(".git/hooks/pre-commit", `#!/bin/sh\n${program}\n`, 0o755),
    args: ["commit", "--allow-empty", "-m", "x"],
  },
  {
    what: "a hook after git checkout",
    prepare: ({ write, program }) => write(".git/hooks/post-checkout", `#!/bin/sh\n${program}\n`, 0o755),
    args: ["checkout", "-q", "-B", "other"],
  },
  {
    what: "a hook in a folder that the configuration names",
    prepare({ write, set, program }) {
      write(".husky/pre-commit", `#!/bin/sh\n${program}\n`, 0o755);
      set("core", "hooksPath = .husky");
    },
    args: ["commit", "--allow-empty", "-m", "x"],
  },
  {
    what: "the editor",
    prepare: ({ set, program }) => set("core", `editor = ${program}`),
    args: ["commit", "--allow-empty"],
  },
  {
    what: "the editor of a rebase",
    prepare: ({ set, program }) => set("sequence", `editor = ${program}`),
    args: ["rebase", "-i", "--root"],
  },
  {
    what: "the program that signs",
    prepare({ set, program }) {
      set("gpg", `program = ${program}`);
      set("commit", "gpgSign = true");
    },
    args: ["commit", "--allow-empty", "-m", "x"],
  },
  {
    what: "the program that signs with a key of ssh",
    prepare({ set, program }) {
      set("gpg", "format = ssh");
      set('gpg "ssh"', `defaultKeyCommand = ${program}`);
    },
    args: ["commit", "--allow-empty", "-S", "-m", "x"],
  },
  {
    what: "the command for ssh",
    prepare: ({ set, program }) => set("core", `sshCommand = ${program}`),
    args: ["ls-remote", "ssh://127.0.0.1:1/x"],
  },
  {
    what: "the proxy of git",
    prepare: ({ set, program }) => set("core", `gitProxy = ${program}`),
    args: ["ls-remote", "git://127.0.0.1:1/x"],
  },
  {
    what: "a remote that is a command",
    prepare({ set, program }) {
      set("protocol", "allow = always");
      set('protocol "ext"', "allow = always");
      set('remote "origin"', `url = ext::${program}`);
    },
    args: ["ls-remote", "origin"],
  },
];

async function runGit({ root }: Repository, { args, folder = "." }: Row, isTrusted: boolean): Promise<void> {
  const cwd = join(root, folder);
  await using programs = openPrograms({
    environment: { PATH: VARIABLES.PATH, HOME: VARIABLES.HOME },
    workspace: { cwd, projects: [{ root, isTrusted }] },
  });
  const limits = { maxOutputBytes: 4096, timeoutMs: 20_000 };
  await programs.run({ program: "git", args, cwd, environment: IDENTITY, mayUseProject: true, ...limits });
}

suite("B4.5: git does not start what a repository names", () => {
  for (const row of [...ALWAYS, ...UNTRUSTED]) {
    test(`B4.5: git does not start ${row.what}`, async () => {
      const repository = hostileRepository();
      row.prepare(repository);
      await runGit(repository, row, false);
      assert.equal(existsSync(repository.marker), false);
      // The same without us, so that the row can fail.
      spawnSync("git", row.args, { cwd: join(repository.root, row.folder ?? "."), env: VARIABLES, timeout: 20_000 });
      assert.equal(existsSync(repository.marker), true, "git itself did not start it either");
    });
  }

  for (const row of ALWAYS) {
    test(`B4.5: git does not start ${row.what}, in a trusted project`, async () => {
      const repository = hostileRepository();
      row.prepare(repository);
      await runGit(repository, row, true);
      assert.equal(existsSync(repository.marker), false);
    });
  }

  test("hooks of a trusted project are its own, and run", async () => {
    const repository = hostileRepository();
    const [hook] = UNTRUSTED as [Row];
    hook.prepare(repository);
    await runGit(repository, hook, true);
    assert.equal(existsSync(repository.marker), true);
  });

  test("B4.5: a variable that was named for a program does not change what git is told", async () => {
    const repository = hostileRepository();
    repository.set("core", `fsmonitor = ${repository.program}`);
    await using programs = openPrograms({
      environment: { PATH: VARIABLES.PATH, GIT_CONFIG_COUNT: "0", GIT_DIR: repository.root },
      workspace: { cwd: repository.root, projects: [{ root: repository.root, isTrusted: false }] },
    });
    const environment = { GIT_CONFIG_COUNT: "0", GIT_CONFIG_KEY_1: "a.b", PATH: repository.root };
    const request = { program: "git", args: ["status"], cwd: repository.root, environment, maxOutputBytes: 4096 };
    const { exitCode } = await programs.run(request);
    assert.equal(exitCode, 0);
    assert.equal(existsSync(repository.marker), false);
  });
});
