/** Programs that a repository makes git start, with the real git: each row leaves a marker when git starts without our settings. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, suite, test } from "node:test";
import { openPrograms } from "../../../../src/app/process/programs.ts";
import {
  GitRepositories,
  type Repository,
  type Row,
  runGit,
  runGitAlone,
  VARIABLES,
} from "../../../support/app/process/git-repositories.ts";

let repositories: GitRepositories;
before(() => {
  repositories = new GitRepositories();
});
after(() => repositories[Symbol.dispose]());

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

suite("B4.5: git does not start what a repository names", () => {
  for (const row of [...ALWAYS, ...UNTRUSTED]) {
    test(`B4.5: git does not start ${row.what}`, async () => {
      const repository = repositories.make();
      row.prepare(repository);
      await runGit(repository, row, false);
      assert.equal(existsSync(repository.marker), false);
      // The same without us, so that the row can fail.
      runGitAlone(repository, row);
      assert.equal(existsSync(repository.marker), true, "git itself did not start it either");
    });
  }

  for (const row of ALWAYS) {
    test(`B4.5: git does not start ${row.what}, in a trusted project`, async () => {
      const repository = repositories.make();
      row.prepare(repository);
      await runGit(repository, row, true);
      assert.equal(existsSync(repository.marker), false);
    });
  }

  test("hooks of a trusted project are its own, and run", async () => {
    const repository = repositories.make();
    const [hook] = UNTRUSTED as [Row];
    hook.prepare(repository);
    await runGit(repository, hook, true);
    assert.equal(existsSync(repository.marker), true);
  });

  test("B4.5: a variable that was named for a program does not change what git is told", async () => {
    const repository = repositories.make();
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
