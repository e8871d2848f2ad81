/** B4.2, B1.7: what a trusted project denies is denied in every worktree of its repository, with the real git. Judged by markers. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { type Command, calling, openCommand, saying } from "../../support/attacks/whole-command.ts";

const IDENTITY = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a" };
const RULES = 'permissions: [ { deny: "terminal(touch*)" }, { deny: "write_file(docs/**)" } ]\n';
const TRIES = [
  calling(["terminal", { command: "touch marker" }], ["write_file", { path: "docs/a.md", content: "x" }]),
  calling(["write_file", { path: "other.md", content: "x" }]),
  saying("Done."),
];

type Place = Command & { git(folder: string, ...args: string[]): void };

/** A repository with one commit; nothing of it is trusted. */
async function place(files: Record<string, string> = {}): Promise<Place> {
  const command = await openCommand({ "repository/.sous/config.yaml": RULES, "repository/pkg/a.ts": "", ...files });
  const git = (folder: string, ...args: string[]): void => {
    const env = { PATH: "/usr/bin:/bin", HOME: "/nonexistent", ...IDENTITY };
    const { status, stderr } = spawnSync("git", args, { cwd: folder, env });
    assert.equal(status, 0, `git ${args.join(" ")}: ${stderr}`);
  };
  rmSync(join(command.root, ".git"), { recursive: true });
  git(command.root, "init", "-q");
  git(command.root, "add", ".");
  git(command.root, "commit", "-qm", "first");
  return { ...command, git };
}

/** The files that a run in this folder made, which may do all that is not denied. */
async function madeIn(here: Command, cwd: string): Promise<string[]> {
  await here.run({ sous: TRIES }, { yes: true }, { cwd, ask: () => ({ allow: true }) });
  return ["marker", "docs/a.md", "other.md"].filter((name) => existsSync(join(cwd, name)));
}

type Way = readonly [what: string, make: (here: Place) => Promise<string> | string];

const add = ({ root, git }: Place, path: string, ...more: string[]): string => {
  git(root, "worktree", "add", "-q", ...more, path);
  return join(root, path);
};

/** Each trusts one worktree of the repository and gives another one. */
const WAYS: readonly Way[] = [
  ["beside the project", (here) => add(here, "../wt")],
  ["inside of the project", (here) => add(here, ".worktrees/wt")],
  ["in a hidden folder of an agent", (here) => add(here, ".claude/worktrees/one")],
  ["far away", (here) => add(here, "../home/deep/er/wt")],
  ["without a branch", (here) => add(here, "../wt", "--detach")],
  ["that is locked", (here) => add(here, "../wt", "--lock")],
  ["with a name of another script", (here) => add(here, "../wört baum", "-b", "x")],
  ["that was made before another one", (here) => [add(here, "../wt"), add(here, "../other")][0] ?? ""],
  [
    "without any file of sous",
    (here) => {
      const wt = add(here, "../wt");
      rmSync(join(wt, ".sous"), { recursive: true });
      return wt;
    },
  ],
  [
    "with another configuration",
    (here) => {
      const wt = add(here, "../wt");
      writeFileSync(join(wt, ".sous/config.yaml"), "permissions: []\n");
      return wt;
    },
  ],
  [
    "that is trusted with another configuration",
    async (here) => {
      const wt = add(here, "../wt");
      writeFileSync(join(wt, ".sous/config.yaml"), "permissions: []\n");
      await here.trust(wt);
      return wt;
    },
  ],
  [
    "of a project that has changed",
    (here) => {
      here.write("repository/AGENTS.md", "Changed.\n");
      return add(here, "../wt");
    },
  ],
  [
    "that was moved",
    (here) => {
      add(here, "../wt");
      here.git(here.root, "worktree", "move", "../wt", "../moved");
      return join(here.path, "moved");
    },
  ],
  [
    "that was moved by hand",
    (here) => {
      renameSync(add(here, "../wt"), join(here.path, "moved"));
      return join(here.path, "moved");
    },
  ],
  [
    "by a link to it",
    (here) => {
      symlinkSync(add(here, "../wt"), join(here.path, "link"));
      return join(here.path, "link");
    },
  ],
  [
    "that names its repository by a relative path",
    (here) => {
      const wt = add(here, "../wt");
      writeFileSync(join(wt, ".git"), "gitdir: ../repository/.git/worktrees/wt\n");
      return wt;
    },
  ],
  [
    "whose file of git ends with thousands of lines",
    (here) => {
      const wt = add(here, "../wt");
      writeFileSync(join(wt, ".git"), "\n".repeat(5000), { flag: "a" });
      return wt;
    },
  ],
  [
    "whose file of git is as large as git takes it",
    (here) => {
      const wt = add(here, "../wt");
      writeFileSync(join(wt, ".git"), "\n".repeat(1024 * 1024 - 1000), { flag: "a" });
      return wt;
    },
  ],
  [
    "that names the shared folder in a file of two megabytes",
    (here) => {
      const wt = add(here, "../wt");
      writeFileSync(join(here.root, ".git/worktrees/wt/commondir"), "\n".repeat(2 ** 21), { flag: "a" });
      return wt;
    },
  ],
  [
    "that names the shared folder in a file behind a link",
    (here) => {
      const wt = add(here, "../wt");
      const file = join(here.root, ".git/worktrees/wt/commondir");
      renameSync(file, `${file}.real`);
      symlinkSync("commondir.real", file);
      return wt;
    },
  ],
  [
    "of a repository whose folder of git lies elsewhere",
    (here) => {
      here.git(here.root, "init", "-q", "--separate-git-dir", "../elsewhere.git");
      return add(here, "../wt");
    },
  ],
];

suite("B1.7: what a trusted project denies is denied in a worktree", () => {
  for (const [what, make] of WAYS) {
    test(`B1.7: what a trusted project denies is denied in a worktree ${what}`, async () => {
      await using here = await place();
      await here.trust();
      const cwd = await make(here);
      here.git(cwd, "status");
      assert.deepEqual(await madeIn(here, cwd), ["other.md"]);
    });
  }

  test("B1.7: what a worktree denies is denied in the project and in its other worktrees", async () => {
    await using here = await place();
    const [trusted, other] = [add(here, "../wt"), add(here, "../other")];
    await here.trust(trusted);
    assert.deepEqual(await madeIn(here, here.root), ["other.md"]);
    assert.deepEqual(await madeIn(here, other), ["other.md"]);
  });

  test("B1.7: what a worktree of a bare repository denies is denied in another one", async () => {
    await using here = await place();
    here.git(here.root, "clone", "-q", "--bare", ".", "../bare.git");
    const bare = join(here.path, "bare.git");
    for (const name of ["one", "two"]) here.git(bare, "worktree", "add", "-q", `../${name}`, "-b", name);
    await here.trust(join(here.path, "one"));
    assert.deepEqual(await madeIn(here, join(here.path, "two")), ["other.md"]);
  });

  test("B1.7: what a project in a folder of a repository denies is denied in the same folder of a worktree only", async () => {
    await using here = await place({ "repository/pkg/.sous/config.yaml": RULES });
    await here.trust(join(here.root, "pkg"));
    const wt = add(here, "../wt");
    assert.deepEqual(await madeIn(here, join(wt, "pkg")), ["other.md"]);
    assert.deepEqual(await madeIn(here, wt), ["marker", "docs/a.md", "other.md"]);
  });

  test("B1.7: what a project denies is denied in a repository inside of a worktree", async () => {
    await using here = await place();
    await here.trust();
    const inner = join(add(here, "../wt"), "inner");
    mkdirSync(join(inner, ".git"), { recursive: true });
    assert.deepEqual((await madeIn(here, inner)).includes("marker"), false);
  });

  test("B4.1: pipes in the place of what git writes are left alone", async () => {
    await using here = await place();
    await here.trust();
    add(here, "../wt");
    const pipes = [".git", "commondir/commondir"].map((name) => join(here.path, "pipes", name));
    mkdirSync(join(here.path, "pipes/commondir"), { recursive: true });
    assert.equal(spawnSync("mkfifo", pipes).status, 0);
    mkdirSync(join(here.path, "named"));
    writeFileSync(join(here.path, "named/.git"), "gitdir: ../pipes/commondir\n");
    for (const name of ["pipes", "named"]) assert.equal(await here.state(join(here.path, name)), "unknown");
  });

  test("a worktree is not trusted by this, and other repositories are not bound", async () => {
    await using here = await place();
    await here.trust();
    const wt = add(here, "../wt");
    assert.equal(await here.state(wt), "unknown");
    here.git(here.root, "clone", "-q", ".", "../clone");
    assert.deepEqual(await madeIn(here, join(here.path, "clone")), ["marker", "docs/a.md", "other.md"]);
  });

  test("a worktree of a project that is not trusted is not bound, so the rows above can fail", async () => {
    await using here = await place();
    assert.deepEqual(await madeIn(here, add(here, "../wt")), ["marker", "docs/a.md", "other.md"]);
  });
});
