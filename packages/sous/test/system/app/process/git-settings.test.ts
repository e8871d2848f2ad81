/**
 * Programs that a repository names in settings of any name, with the real git: where they stand, and how they are spelled. Each row
 * leaves a marker when git starts without our settings.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
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

/** The text of a configuration that names the program for a remote. */
const remote = (header: string, { program }: Repository, key = "uploadpack") =>
  `${header}\n\turl = .\n\t${key} = ${program}\n`;
const trailer = (header: string, { program }: Repository, key = "cmd") => `${header}\n\t${key} = ${program}\n`;

function add({ root }: Repository, text: string, file = ".git/config"): void {
  writeFileSync(join(root, file), text, { flag: "a" });
}

const FETCH = ["fetch", "origin"];
const ORIGIN = '[remote "origin"]';
const fetching = (what: string, prepare: Row["prepare"], more: Partial<Row> = {}): Row => ({
  ...{ what, prepare, args: FETCH },
  ...more,
});
const COMMIT = ["commit", "--allow-empty", "-m", "x", "--trailer", "See: it"];
const committing = (what: string, prepare: Row["prepare"], args: readonly string[] = COMMIT): Row => ({
  ...{ what, prepare, args },
});

/** The remote in a file that the configuration includes by this line. */
function including(line: (repository: Repository) => string, file = "more"): Row["prepare"] {
  return (repository) => {
    repository.write(file, remote(ORIGIN, repository));
    add(repository, line(repository));
  };
}

const REMOTES: readonly Row[] = [
  fetching("git fetch", (here) => add(here, remote(ORIGIN, here))),
  fetching("git ls-remote", (here) => add(here, remote(ORIGIN, here)), { args: ["ls-remote", "origin"] }),
  fetching("git pull", (here) => add(here, remote(ORIGIN, here)), { args: ["pull", "origin", "main"] }),
  fetching("git remote update", (here) => add(here, remote(ORIGIN, here)), { args: ["remote", "update"] }),
  fetching("git push", (here) => add(here, remote(ORIGIN, here, "receivepack")), {
    args: ["push", "origin", "HEAD:x"],
  }),
  fetching("a name with dots", (here) => add(here, remote('[remote "a.b.c"]', here)), { args: ["fetch", "a.b.c"] }),
  fetching("a name with capitals", (here) => add(here, remote('[REMOTE "Origin"]', here)), {
    args: ["fetch", "Origin"],
  }),
  fetching("a name with a blank", (here) => add(here, remote('[remote "a b"]', here)), { args: ["fetch", "a b"] }),
  fetching("a name with quotes", (here) => add(here, remote('[remote "a\\"b\\\\c"]', here)), {
    args: ["fetch", 'a"b\\c'],
  }),
  fetching("a name in letters of another script", (here) => add(here, remote('[remote "ürsprung"]', here)), {
    args: ["fetch", "ürsprung"],
  }),
  fetching("a name without quotes", (here) => add(here, remote("[remote.origin]", here))),
  fetching("the address as the name", (here) => add(here, remote('[remote "./."]', here)), { args: ["fetch", "./."] }),
  fetching("a key with capitals", (here) => add(here, remote(ORIGIN, here, "UploadPack"))),
  fetching("a header and a key on one line", (here) =>
    add(here, `${ORIGIN} url = .\n${ORIGIN} uploadpack=${here.program}\n`),
  ),
  fetching("lines that end as on Windows", (here) => add(here, remote(ORIGIN, here).replaceAll("\n", "\r\n"))),
  fetching("a value that goes on in the next line", (here) =>
    add(here, `${ORIGIN}\n url = .\n uploadpack = \\\n${here.program} # x\n`),
  ),
  fetching("a value in quotes behind another one", (here) =>
    add(here, `[x]\n a = "#\\"" ; "\n${ORIGIN}\n url = .\n uploadpack = "${here.program}" ; x`),
  ),
  fetching("a mark of UTF-8 in front", (here) => {
    const file = join(here.root, ".git/config");
    writeFileSync(file, `\ufeff${readFileSync(file, "utf8")}${remote(ORIGIN, here)}`);
  }),
  fetching(
    "an included file",
    including(() => "[include]\n\tpath = ../more\n"),
  ),
  fetching(
    "an included file by its whole path",
    including(({ root }) => `[include] path = "${root}/more"\n`),
  ),
  fetching(
    "an included file with quotes in its name",
    including(() => '[include]\n\tpath = ../m"o r"e\\"\\\\\n', 'mo re"\\'),
  ),
  fetching(
    "a file that is included for a folder",
    including(({ root }) => `[includeIf "gitdir:${root}/"]\n\tpath = ../more\n`),
  ),
  fetching(
    "a file that is included on a branch",
    including(() => '[includeIf "onbranch:ma*"]\n\tpath = ../more\n'),
  ),
  fetching("a file that an included file includes", (here) => {
    add(here, "[include]\n\tpath = ../one\n");
    here.write("one", "[include]\n\tpath = sub/two\n");
    here.write("sub/two", remote(ORIGIN, here));
  }),
  fetching("an included file that is a link", (here) => {
    add(here, "[include]\n\tpath = ../link\n");
    here.write("more", remote(ORIGIN, here));
    symlinkSync("more", join(here.root, "link"));
  }),
  fetching("an included file above a link", (here) => {
    mkdirSync(join(here.root, "deep/er"), { recursive: true });
    symlinkSync("../deep/er", join(here.root, ".git/link"));
    add(here, "[include]\n\tpath = link/../more\n");
    here.write("deep/more", remote(ORIGIN, here));
  }),
  fetching("a file that is included twice, from two folders", (here) => {
    here.write("one/more", "[include]\n\tpath = last\n");
    here.write("two/last", remote(ORIGIN, here));
    symlinkSync("../one/more", join(here.root, "two/more"));
    for (const folder of ["one", "two"]) add(here, `[include]\n\tpath = ../${folder}/more\n`);
  }),
  fetching("a configuration that is a link", (here) => {
    add(here, remote(ORIGIN, here));
    renameSync(join(here.root, ".git/config"), join(here.root, "settings"));
    symlinkSync("../settings", join(here.root, ".git/config"));
  }),
  fetching("the configuration of a worktree", (here) => {
    add(here, "[extensions]\n\tworktreeConfig = true\n");
    add(here, remote(ORIGIN, here), ".git/config.worktree");
  }),
  fetching(
    "a linked worktree",
    (here) => {
      add(here, remote(ORIGIN, here));
      spawnSync("git", ["worktree", "add", "-q", "wt"], { cwd: here.root, env: VARIABLES });
    },
    { folder: "wt" },
  ),
  fetching(
    "the configuration of a linked worktree",
    (here) => {
      add(here, "[extensions]\n\tworktreeConfig = true\n");
      spawnSync("git", ["worktree", "add", "-q", "wt"], { cwd: here.root, env: VARIABLES });
      add(here, remote(ORIGIN, here), ".git/worktrees/wt/config.worktree");
    },
    { folder: "wt" },
  ),
  fetching("a folder of git elsewhere", (here) => {
    add(here, remote(ORIGIN, here));
    renameSync(join(here.root, ".git"), join(here.root, "elsewhere"));
    here.write(".git", `gitdir: ./././elsewhere${"\n".repeat(50)}`);
  }),
  fetching("a folder of git that is a link", (here) => {
    add(here, remote(ORIGIN, here));
    renameSync(join(here.root, ".git"), join(here.root, "elsewhere"));
    symlinkSync("elsewhere", join(here.root, ".git"));
  }),
  fetching("a folder of git that shares another one", (here) => {
    mkdirSync(join(here.root, "shared"));
    for (const name of ["objects", "refs", "config"])
      renameSync(join(here.root, ".git", name), join(here.root, "shared", name));
    add(here, remote(ORIGIN, here), "shared/config");
    here.write(".git/commondir", "../shared\n");
  }),
  fetching(
    "a partial clone, by git cat-file",
    (here) => {
      add(here, "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = origin\n");
      add(here, `${remote(ORIGIN, here)}\tpromisor = true\n`);
    },
    { args: ["cat-file", "-p", "1".repeat(40)] },
  ),
  fetching(
    "a folder below, behind one that only looks like a repository",
    (here) => {
      add(here, remote(ORIGIN, here));
      mkdirSync(join(here.root, "sub/.git"), { recursive: true });
    },
    { folder: "sub" },
  ),
];

const TRAILERS: readonly Row[] = [
  committing("git commit", (here) => add(here, trailer('[trailer "see"]', here))),
  committing("git commit, by the older setting", (here) => add(here, trailer('[trailer "see"]', here, "command"))),
  committing("git commit with another trailer", (here) => add(here, trailer('[trailer "other"]', here, "command"))),
  committing("git interpret-trailers", (here) => add(here, trailer('[trailer "see"]', here)), [
    ...["interpret-trailers", "--trailer", "See: it", "file"],
  ]),
  committing("a trailer with dots", (here) => add(here, trailer('[trailer "a.b.c"]', here, "command"))),
  committing("a trailer of two parts", (here) => add(here, trailer('[trailer.A "b"]', here, "command"))),
  committing("a trailer with capitals", (here) => add(here, trailer('[Trailer "SEE"]', here, "Cmd"))),
  committing("a trailer with a blank and quotes", (here) =>
    add(here, trailer('[trailer "a \\"b\\\\"]', here, "command")),
  ),
  committing("a trailer without quotes", (here) => add(here, trailer("[trailer.See]", here))),
  committing("a trailer in letters of another script", (here) =>
    add(here, trailer('[trailer "schön"]', here, "command")),
  ),
  committing("a trailer in an included file", (here) => {
    here.write("more", trailer('[trailer "see"]', here));
    add(here, "[include]\n\tpath = ../more\n");
  }),
  committing("a trailer with both settings, twice", (here) => {
    for (const key of ["cmd", "command", "cmd"]) add(here, trailer('[trailer "see"]', here, key));
  }),
];

suite("B4.5: git starts no program for the other side of a remote, and none for a trailer", () => {
  for (const row of [...REMOTES, ...TRAILERS]) {
    test(`B4.5: git starts no program named by the repository: ${row.what}`, async () => {
      const repository = repositories.make();
      row.prepare(repository);
      await runGit(repository, row, false);
      assert.equal(existsSync(repository.marker), false);
      runGitAlone(repository, row);
      assert.equal(existsSync(repository.marker), true, "git itself did not start it either");
    });
  }

  test("B4.5: a program for a remote behind ssh is not sent there", async () => {
    const repository = repositories.make();
    add(repository, `${ORIGIN}\n\turl = ssh://127.0.0.1:1/x\n\tuploadpack = ${repository.program}\n`);
    const { output } = await runGit(repository, { args: FETCH }, false);
    assert.match(output.head, /transport 'ssh' not allowed/);
  });

  test("programs of a trusted project are its own, and run", async () => {
    const [fetch] = REMOTES;
    const [commit] = TRAILERS;
    for (const row of [fetch, commit]) {
      assert.ok(row);
      const repository = repositories.make();
      row.prepare(repository);
      await runGit(repository, row, true);
      assert.equal(existsSync(repository.marker), true);
    }
  });
});

suite("git works in a project that is not trusted", () => {
  test("a remote that is a folder is fetched from, and pushed to, where no program is named", async () => {
    const [repository, other] = [repositories.make(), repositories.make()];
    add(repository, `${ORIGIN}\n\turl = ${other.root}\n[uploadpack]\n\tallowFilter = true\n`);
    for (const args of [FETCH, ["push", "origin", "HEAD:refs/heads/new"]])
      assert.equal((await runGit(repository, { args }, false)).exitCode, 0);
  });

  test("a trailer has the value that it was given", async () => {
    const repository = repositories.make();
    add(repository, trailer('[trailer "see"]\n\tkey = See', repository));
    const { exitCode } = await runGit(repository, { args: [...COMMIT.slice(0, -1), "See: 'a'  $b"] }, false);
    const { output } = await runGit(repository, { args: ["log", "-1", "--format=%B"] }, false);
    assert.equal(exitCode, 0);
    assert.match(output.head, /^See: 'a' {2}\$b$/m);
  });

  for (const [what, line] of [
    ["a file of git's own", "path = %(prefix)/x"],
    ["a file of another user", "path = ~root/x"],
    ["a file that includes itself under a hundred names", "path = ../all"],
    ["a file of two megabytes", "path = ../large"],
  ] as const) {
    test(`B4.5: git says why it does nothing where its configuration includes ${what}, and other programs run`, async () => {
      const repository = repositories.make();
      add(repository, `[include]\n\t${line}\n`);
      const names = Array.from({ length: 101 }, (_, index) => `many/${index}`);
      for (const name of names) repository.write(name, "");
      repository.write("all", names.map((name) => `[include]\n\tpath = ${name}\n`).join(""));
      repository.write("large", `# ${"x".repeat(2 ** 21)}\n`);
      const { exitCode, output } = await runGit(repository, { args: ["status"] }, false);
      assert.equal(exitCode, 128);
      assert.match(output.head, /git is not started here before sous trust/);
      assert.equal((await runGit(repository, { args: ["--version"] }, false)).exitCode, 0);
    });
  }
});
