/** B4.5: files that sous, git, shells, editors and other programs obey. Judged by what is on disk, and by what git runs. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { exitCodeOf } from "../../../src/app/cli/exit-codes.ts";
import { runProcess } from "../../support/app/cli/run-process.ts";
import { temporaryTree } from "../../support/app/tools/temporary-tree.ts";
import { calling, type Flags, openCommand, saying } from "../../support/attacks/whole-command.ts";

const EVIL = "EVIL-71c0";
const BEFORE = "as it was\n";

function writing(...paths: string[]): object {
  const calls = paths.map((path) => ["write_file", { path, content: EVIL }] as const);
  return { sous: [calling(...calls), saying("Done.")] };
}

function contentOf(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

suite("B4.5: a file that a run was started with is not written", () => {
  const rows: [what: string, path: string, flags: Flags, env?: Record<string, string>][] = [
    ["the file of --config", "ci/sous.yaml", { config: "ci/sous.yaml" }],
    ["the file of --config by an absolute path", "ci/sous.yaml", { config: "ROOT/ci/sous.yaml" }],
    ["the file of --config by another way", "src/../ci/./sous.yaml", { config: "ci/sous.yaml" }],
    ["the file of --config behind a link to its folder", "ci-link/sous.yaml", { config: "ci/sous.yaml" }],
    ["the file of --config that was named by a link", "ci/sous.yaml", { config: "ci-link/sous.yaml" }],
    ["the file of SOUS_CONFIG", "ci/sous.yaml", {}, { SOUS_CONFIG: "ci/sous.yaml" }],
    [
      "the file of SOUS_CONFIG, while --config names another",
      "ci/sous.yaml",
      { config: "two.yaml" },
      { SOUS_CONFIG: "ci/sous.yaml" },
    ],
    ["the script of the model", "ci/sous.yaml", { model: "script/ci/sous.yaml" }],
    [
      "the database of SOUS_DB_PATH, while --db-path names another",
      "ci/sous.yaml",
      { "db-path": "ROOT/two.db" },
      { SOUS_DB_PATH: "ROOT/ci/sous.yaml" },
    ],
    ["the database of --db-path", "ci/runs.db", { "db-path": "ROOT/ci/runs.db" }],
    ["the database of SOUS_DB_PATH, which is not used now", "ci/sous.yaml", {}, { SOUS_DB_PATH: "ROOT/ci/sous.yaml" }],
    ["a script that gives the key", "ci/sous.yaml", { config: "../home/key.yaml" }],
  ];
  for (const [what, path, flags, env = {}] of rows) {
    test(`B4.5: a run does not write ${what}`, async () => {
      await using command = await openCommand({
        "repository/ci/sous.yaml": "",
        "repository/two.yaml": "",
        "repository/src/main.ts": "",
        "home/key.yaml": "provider: { api_key_command: find . ci/sous.yaml }\n",
      });
      symlinkSync("ci", join(command.root, "ci-link"));
      if (flags.model !== undefined) command.write("repository/ci/sous.yaml", JSON.stringify(writing(path)));
      const placed = <Given extends object>(given: Given): Given =>
        JSON.parse(JSON.stringify(given).replaceAll("ROOT", command.root));
      await command.run(writing(path), { yes: true, ...placed(flags) }, { env: placed(env) });
      assert.doesNotMatch(contentOf(join(command.root, path)), new RegExp(`^${EVIL}`));
    });
  }

  test("B4.5: a run does not write the log and the schema of its own options", async () => {
    await using tree = await temporaryTree({ "schema.json": "{}", "notes.txt": BEFORE });
    const paths = ["schema.json", "log.jsonl", "notes.txt"];
    writeFileSync(join(tree.path, "answers.json"), JSON.stringify(writing(...paths, "answers.json")));
    const options = ["--model", "script/answers.json", "--yes", "--ephemeral", "--bare"];
    const files = ["--log-file", "log.jsonl", "--log-level", "debug", "--output-schema", "schema.json"];
    const home = join(tree.path, "home");
    const env = { XDG_DATA_HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home, HOME: home };
    await runProcess({ cwd: tree.path, parameters: ["run", "Go.", ...options, ...files], env });
    const written = [...paths, "answers.json"].filter((path) => contentOf(join(tree.path, path)) === EVIL);
    assert.deepEqual(written, ["notes.txt"]);
  });

  test("B4.5: the settings of sous are not written when the workspace is the folder that holds them", async () => {
    await using command = await openCommand({
      "repository/.sous/config.yaml": BEFORE,
      "repository/.git/config": BEFORE,
    });
    for (const folder of [".sous", ".git"]) {
      const given = { cwd: join(command.root, folder) };
      await command.run(
        writing("config.yaml", "config", "hooks/post-checkout", "agents/evil.md"),
        { yes: true },
        given,
      );
    }
    assert.deepEqual(
      [".sous/config.yaml", ".git/config", ".git/hooks/post-checkout", ".sous/agents/evil.md"].map((path) =>
        contentOf(join(command.root, path)),
      ),
      [BEFORE, BEFORE, "", ""],
    );
  });
});

/** Files that something obeys without being called. */
const OBEYED = [
  ...[
    "AGENTS.md",
    "agents.md",
    "packages/one/AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
  ],
  ...[".cursorrules", ".windsurfrules", ".clinerules", ".goosehints", ".github/copilot-instructions.md", ".rules"],
  ...[
    ".github/instructions/one.instructions.md",
    ".github/agents/evil.agent.md",
    ".aider.conf.yml",
    ".roo/rules/one.md",
  ],
  ...["HEAD", "head", "packages/one/HEAD", "commondir", "HEAD.", "HEAD ", "\uff28EAD", "H\u200cEAD", "HEAD::$DATA"],
  ...[
    ".npmrc",
    "packages/one/.npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".yarn/plugins/evil.cjs",
    ".cargo/config.toml",
  ],
  ...[
    ".husky/pre-commit",
    ".husky/_/husky.sh",
    ".githooks/pre-commit",
    "hooks/pre-commit",
    "scripts/commit-msg",
    "lefthook.yml",
  ],
  ...[".pre-commit-config.yaml", ".lintstagedrc", ".gitconfig.local", "gitconfig"],
  ...[
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".vim/plugin/evil.vim",
    ".lvimrc",
    "_vimrc",
    ".dir-locals.el",
    ".emacs.d/init.el",
  ],
  ...[
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".sublime/x",
    "one.sublime-project",
    ".helix/config.toml",
  ],
  ...[
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise/config.toml",
    ".config/mise.toml",
    ".tmux.conf",
  ],
  ...[
    ".gdbinit",
    ".lldbinit",
    ".irbrc",
    ".pryrc",
    ".psqlrc",
    ".Rprofile",
    ".pythonrc",
    ".curlrc",
    ".wgetrc",
    ".screenrc",
  ],
  ...[
    "sitecustomize.py",
    "usercustomize.py",
    "lib/evil.pth",
    "evil.desktop",
    ".unheard-of",
    ".unheard/of/x",
    "src/.hidden",
  ],
];

suite("B4.5: files that are obeyed without being called", () => {
  test("B4.5: no guarded file is written with --yes when no person can be asked", async (t) => {
    await using command = await openCommand();
    const { result, events } = await command.run(writing(...OBEYED), { yes: true });
    const answers = events.flatMap((event) => (event.type === "tool-call-end" ? [event.output] : []));
    for (const [index, path] of OBEYED.entries()) {
      await t.test(`B4.5: ${JSON.stringify(path)} is not written with --yes when no person can be asked`, () => {
        assert.match(answers[index] ?? "", /^write_file needs approval, and no one can be asked/);
        assert.equal(existsSync(join(command.root, path)), false);
      });
    }
    assert.equal(exitCodeOf(result, 130), 7);
  });

  test("B4.5: no guarded file is written by rules that allow all of them when no person can be asked", async () => {
    await using command = await openCommand();
    await command.run(writing(...OBEYED), { allow: ["write_file", "write_file(**)", "write_file(.*)", "*"] });
    assert.deepEqual(
      OBEYED.filter((path) => existsSync(join(command.root, path))),
      [],
    );
  });

  test("B4.5: edit_file does not write a guarded file, by the name itself and by a rule for exactly this file", async () => {
    await using command = await openCommand({ "repository/AGENTS.md": BEFORE, "repository/.npmrc": BEFORE });
    const change = { old: "as it", new: EVIL };
    const script = {
      sous: [
        calling(["edit_file", { path: "AGENTS.md", ...change }], ["edit_file", { path: "./.npmrc", ...change }]),
        saying("Done."),
      ],
    };
    await command.run(script, { allow: ["edit_file(AGENTS.md)", "edit_file(=AGENTS.md)", "edit_file(=.npmrc)"] });
    assert.deepEqual(
      [contentOf(join(command.root, "AGENTS.md")), contentOf(join(command.root, ".npmrc"))],
      [BEFORE, BEFORE],
    );
  });

  test("B4.5: a guarded folder is not written by the name of a link, nor by a link that is swapped after the rules were asked", async () => {
    await using command = await openCommand({ "repository/.husky/": "", "repository/src/": "" });
    symlinkSync(".husky", join(command.root, "plain"));
    const answered = await command.run(writing("plain/post-merge-x"), { yes: true }, { ask: () => ({ allow: true }) });
    // The person said yes to a name that leads elsewhere: the tool wants the name of the file itself.
    assert.match(JSON.stringify(answered.events), /it is reached through a link/);
    await command.run(writing("plain/one"), { yes: true });
    assert.deepEqual(
      [existsSync(join(command.root, ".husky/one")), existsSync(join(command.root, ".husky/post-merge-x"))],
      [false, false],
    );
  });

  test("B4.5: a child and an agent of a file do not write a guarded file either", async () => {
    const agent = "---\nname: helper\ndescription: x\ntools: [write_file]\n---\nHelp.\n";
    await using command = await openCommand({ "home/.config/sous/agents/helper.md": agent });
    const script = {
      sous: [calling(["subagent_helper", { task: "Go." }], ["subagent", { task: "Go on." }]), saying("Done.")],
      "**": [calling(["write_file", { path: "CLAUDE.md", content: EVIL }]), saying("Done.")],
    };
    await command.run(script, { yes: true });
    assert.equal(existsSync(join(command.root, "CLAUDE.md")), false);
  });

  test("B4.5: a person is told why a guarded file is asked about, and on a yes it is written", async () => {
    await using command = await openCommand();
    const reasons: (string | undefined)[] = [];
    const ask = ({ reason }: { reason?: string | undefined }) => {
      reasons.push(reason);
      return { allow: true } as const;
    };
    await command.run(writing("AGENTS.md", ".npmrc", "plain.txt"), { yes: true }, { ask });
    assert.deepEqual(reasons, [
      "it is guarded even where writes are allowed: agents take it as instructions from you",
      "it is guarded even where writes are allowed: .npmrc may be a setting that a program obeys without being called",
    ]);
    for (const path of ["AGENTS.md", ".npmrc", "plain.txt"]) assert.equal(contentOf(join(command.root, path)), EVIL);
  });

  const PLAIN = [
    ...[
      "README.md",
      "package.json",
      "Makefile",
      "conftest.py",
      "src/app/config",
      "objects/one",
      "hooks/use-state.ts",
      "src/refs/x",
    ],
    ...[".gitignore", ".gitattributes", ".editorconfig", ".env.example", ".prettierrc.json", ".eslintrc.cjs", ".nvmrc"],
    ...[
      ".github/workflows/ci.yml",
      ".github/CODEOWNERS",
      ".gitlab-ci.yml",
      ".storybook/main.ts",
      "docs/agents-guide.md",
    ],
  ];
  test("B4.5: files that act only when they are run are written, so the rows above can fail", async () => {
    await using command = await openCommand();
    await command.run(writing(...PLAIN), { yes: true });
    assert.deepEqual(
      PLAIN.filter((path) => contentOf(join(command.root, path)) !== EVIL),
      [],
    );
  });
});

suite("B4.5: the home folder as the workspace", () => {
  const IN_HOME = [
    ...[
      ".config/git/config",
      ".config/nvim/init.lua",
      ".config/autostart/evil.desktop",
      ".config/systemd/user/evil.service",
    ],
    ...[
      ".local/share/applications/x",
      ".local/bin/git",
      "Library/LaunchAgents/evil.plist",
      ".editorconfig",
      ".env",
      ".gitignore",
    ],
    ...[
      ".vim/vimrc",
      ".emacs",
      ".config/nushell/config.nu",
      ".cargo/env",
      ".unheard-of",
      "bin/git",
      "settings/git/config",
    ],
  ];
  test("B4.5: no file that programs obey is written in the home folder", async (t) => {
    await using command = await openCommand();
    const cwd = join(command.path, "home");
    const env = { PATH: `${join(cwd, "bin")}:/usr/bin:/bin`, GIT_CONFIG_GLOBAL: join(cwd, "settings/git/config") };
    await command.run(writing(...IN_HOME, "plain.txt"), { yes: true }, { cwd, env });
    for (const path of IN_HOME) {
      await t.test(`B4.5: ${path} in the home folder is not written`, () =>
        assert.equal(existsSync(join(cwd, path)), false),
      );
    }
    assert.ok(existsSync(join(cwd, "plain.txt")), "the others can fail");
  });

  test("B4.5: files of a project that settings in the home folder are links to are not written", async () => {
    await using command = await openCommand({
      "home/dotfiles/zshrc": BEFORE,
      "home/dotfiles/nvim/": "",
      "home/.config/": "",
    });
    const cwd = join(command.path, "home/dotfiles");
    symlinkSync("dotfiles/zshrc", join(command.path, "home/.zshrc"));
    symlinkSync("../dotfiles/nvim", join(command.path, "home/.config/nvim"));
    await command.run(writing("zshrc", "nvim/init.lua", "plain.txt"), { yes: true }, { cwd });
    assert.deepEqual(
      ["zshrc", "nvim/init.lua", "plain.txt"].map((path) => contentOf(join(cwd, path))),
      [BEFORE, "", EVIL],
    );
  });

  test("B4.5: a workspace of .config/nvim is not written, although it has a repository of its own", async () => {
    await using command = await openCommand({ "home/.config/nvim/.git/HEAD": "" });
    const cwd = join(command.path, "home/.config/nvim");
    await command.run(writing("init.lua"), { yes: true }, { cwd });
    assert.equal(existsSync(join(cwd, "init.lua")), false);
  });

  test("B4.5: a project below a folder of the home with a dot is written as any, so the rows above can fail", async () => {
    await using command = await openCommand({ "home/.worktrees/one/.git": "gitdir: x" });
    const cwd = join(command.path, "home/.worktrees/one");
    await command.run(writing("src/main.ts"), { yes: true }, { cwd });
    assert.equal(contentOf(join(cwd, "src/main.ts")), EVIL);
  });
});

suite("B4.5: no folder is made a repository that git obeys", () => {
  const config = (marker: string): string =>
    `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch ${marker};:"\n`;
  const parts = (marker: string): Record<string, string> => ({
    HEAD: "ref: refs/heads/main\n",
    config: config(marker),
    "objects/keep": "",
    "refs/keep": "",
  });
  const git = (cwd: string): void => {
    try {
      execFileSync("git", ["status"], { cwd, env: { PATH: process.env.PATH, HOME: cwd }, stdio: "ignore" });
    } catch {
      // Not a repository, or a broken one.
    }
  };
  /** What the hostile folder brings along; the rest is written by the model. */
  const rows: [brought: string, has: readonly string[]][] = [
    ["nothing", []],
    ["all but HEAD", ["config", "objects/keep", "refs/keep"]],
    ["all but config", ["HEAD", "objects/keep", "refs/keep"]],
    ["all but objects", ["HEAD", "config", "refs/keep"]],
    ["all but refs", ["HEAD", "config", "objects/keep"]],
    ["a HEAD only", ["HEAD"]],
  ];
  const flags: Flags = { allow: ["write_file"] };
  for (const [brought, has] of rows) {
    for (const folder of ["", "packages/one"]) {
      const files = async (allow: boolean) => {
        const command = await openCommand();
        const cwd = join(command.path, "work", folder);
        const marker = join(command.path, "marker");
        for (const [path, content] of Object.entries(parts(marker))) {
          if (!has.includes(path)) continue;
          mkdirSync(dirname(join(cwd, path)), { recursive: true });
          writeFileSync(join(cwd, path), content);
        }
        mkdirSync(cwd, { recursive: true });
        const missing = Object.entries(parts(marker)).filter(([path]) => !has.includes(path));
        const calls = missing.map(([path, content]) => ["write_file", { path: join(folder, path), content }] as const);
        const given = { cwd: join(command.path, "work"), ...(allow ? { ask: () => ({ allow: true }) as const } : {}) };
        await command.run({ sous: [calling(...calls), saying("Done.")] }, flags, given);
        git(cwd);
        const isMade = existsSync(marker);
        await command[Symbol.asyncDispose]();
        return isMade;
      };
      const where = folder === "" ? "the workspace" : "a package of it";
      test(`B4.5: git starts nothing in ${where}, which brings ${brought}`, async () =>
        assert.equal(await files(false), false));
      if (brought === "nothing")
        test(`B4.5: ${where} with a yes of the person is obeyed by git, so the rows above can fail`, async () =>
          assert.equal(await files(true), true));
    }
  }

  test("B4.5: no files are written that make a repository elsewhere by commondir", async () => {
    await using command = await openCommand({ "repository/sub/HEAD": "ref: refs/heads/main\n" });
    await command.run(writing("sub/commondir", "sub/config", "sub/hooks/post-checkout", "sub/config.worktree"), {
      yes: true,
    });
    assert.deepEqual(execFileSync("ls", ["-A", join(command.root, "sub")], { encoding: "utf8" }), "HEAD\n");
  });
});
