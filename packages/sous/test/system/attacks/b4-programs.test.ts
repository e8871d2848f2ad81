/** B4.1, R14: programs of a repository that PATH leads to, with the whole command. Judged by markers. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { chmod, symlink } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openApplication } from "../../../src/app/cli/application/open.ts";
import { runShell } from "../../../src/app/cli/chat/chat.ts";
import { readRunFlags } from "../../../src/app/cli/table/run-flags.ts";
import { type Command, calling, openCommand, saying } from "../../support/attacks/whole-command.ts";

const PACKAGE = "repository/packages/one";
const NAMES = ["rg", "git", "bash", "sh", "node", "env", "cat", "mkfifo", "grep", "sleep"];

/** A monorepo, and in every folder that is named programs that leave a marker. */
async function openMonorepo(folders: readonly string[]): Promise<Command> {
  const command = await openCommand({ [`${PACKAGE}/file.txt`]: "needle\n", "ran/": "" });
  for (const folder of folders) {
    for (const name of NAMES) {
      command.write(`${folder}/${name}`, `#!/bin/sh\n: > '${command.path}/ran/${name}'\n`);
      await chmod(join(command.path, folder, name), 0o755);
    }
  }
  return command;
}

function ran(command: Command): string[] {
  return readdirSync(join(command.path, "ran")).sort();
}

/** Looks around, and runs the one command that the user has allowed. */
const SCRIPT = {
  sous: [
    calling(
      ["glob", { pattern: "**/*" }],
      ["grep", { pattern: "needle" }],
      ["read_file", { path: "file.txt" }],
      ["terminal", { command: "git status --short" }],
    ),
    saying("Done."),
  ],
};
const ALLOWED = { allow: ["terminal(git status*)"] };

type Row = [what: string, folders: readonly string[], more?: (path: string) => Record<string, string>];

const NPM = [`${PACKAGE}/node_modules/.bin`, "repository/packages/node_modules/.bin", "repository/node_modules/.bin"];

const ROWS: readonly Row[] = [
  ["npx and npm run, from a package of a monorepo", [...NPM, "node_modules/.bin"]],
  [
    "npm run, with its variables",
    NPM,
    (path) => ({
      npm_config_script_shell: join(path, "repository/node_modules/.bin/sh"),
      npm_config_prefix: join(path, "repository"),
      NODE: join(path, "repository/node_modules/.bin/node"),
      INIT_CWD: join(path, "repository"),
    }),
  ],
  [
    "a virtual environment",
    ["repository/.venv/bin"],
    (path) => ({ VIRTUAL_ENV: join(path, "repository/.venv"), PYTHONHOME: join(path, "repository/.venv") }),
  ],
  [
    "direnv, with what it sets besides PATH",
    ["repository/bin", "repository/.direnv/bin"],
    (path) => ({
      DIRENV_DIR: `-${join(path, "repository")}`,
      BASH_ENV: join(path, "repository/bin/rg"),
      ENV: join(path, "repository/bin/rg"),
      SHELL: join(path, "repository/bin/bash"),
      CDPATH: join(path, "repository"),
      GIT_EXEC_PATH: join(path, "repository/bin"),
      GIT_SSH_COMMAND: join(path, "repository/bin/rg"),
      RIPGREP_CONFIG_PATH: join(path, "repository/bin/rg"),
    }),
  ],
  ["composer, bundler and cargo", ["repository/vendor/bin", "repository/bin", "repository/target/debug"]],
  [
    "a HOME in the project, which would make the project smaller",
    ["repository/bin"],
    (path) => ({ HOME: join(path, "repository/home") }),
  ],
];

suite("R14: B4.1: with a hostile PATH no program of an untrusted project is started", () => {
  for (const [what, folders, more = () => ({})] of ROWS) {
    test(`R14: B4.1: no program of an untrusted project is started with ${what}`, async () => {
      await using command = await openMonorepo(folders);
      const PATH = [...folders.map((folder) => join(command.path, folder)), "/usr/bin", "/bin"].join(":");
      const { result, warnings } = await command.run(SCRIPT, ALLOWED, {
        cwd: join(command.path, PACKAGE),
        env: { ...more(command.path), PATH },
      });
      assert.equal(result.status, "completed");
      assert.deepEqual(ran(command), []);
      assert.equal(warnings.filter((line) => line.includes("do not find the programs")).length, 1);
    });
  }

  for (const entry of [".sous", ".git"]) {
    test(`R14: B4.1: a package with a ${entry} of its own does not make the rest of the repository foreign`, async () => {
      await using command = await openMonorepo(["repository/.venv/bin"]);
      command.write(`${PACKAGE}/${entry}/config`, "");
      const PATH = `${join(command.path, "repository/.venv/bin")}:/usr/bin:/bin`;
      const cwd = join(command.path, PACKAGE);
      const { warnings } = await command.run(SCRIPT, ALLOWED, { cwd, env: { PATH } });
      assert.deepEqual(ran(command), []);
      assert.match(warnings.join("\n"), new RegExp(`a part of ${command.root}, which is not trusted`));
    });
  }

  test("R14: B4.1: a working folder that is reached by a link is the folder it leads to", async () => {
    await using command = await openMonorepo(["repository/bin"]);
    await symlink(join(command.path, PACKAGE), join(command.path, "link"));
    const PATH = `${join(command.path, "repository/bin")}:/usr/bin:/bin`;
    await command.run(SCRIPT, ALLOWED, { cwd: join(command.path, "link"), env: { PATH } });
    assert.deepEqual(ran(command), []);
  });

  test("R14: B4.1: with --bare a trusted project is as any other", async () => {
    await using command = await openMonorepo(["repository/bin"]);
    await command.trust();
    const PATH = `${join(command.path, "repository/bin")}:/usr/bin:/bin`;
    const { warnings } = await command.run(SCRIPT, { ...ALLOWED, bare: true }, { env: { PATH } });
    assert.deepEqual(ran(command), []);
    assert.match(warnings.join("\n"), /which --bare leaves out/);
  });

  test("R14: B4.1: what a person types behind ! finds no program of an untrusted project either", async () => {
    await using command = await openMonorepo(["repository/bin"]);
    const warnings: string[] = [];
    command.write("answers.json", JSON.stringify(SCRIPT));
    const model = `script/${join(command.path, "answers.json")}`;
    await using application = await openApplication({
      flags: readRunFlags({ model, ephemeral: true }),
      cwd: command.root,
      env: { ...command.env, PATH: `${join(command.path, "repository/bin")}:/usr/bin:/bin` },
      ask: async () => ({ allow: false, reason: "no" }),
      warn: (line) => void warnings.push(line),
    });
    const signal = new AbortController().signal;
    const options = { cwd: command.root, timeoutMs: 20_000, signal };
    assert.deepEqual(warnings, []);
    await runShell(application.programs, "cat /dev/null; git --version", options);
    await runShell(application.programs, "env", options);
    assert.deepEqual(ran(command), []);
    assert.equal(warnings.length, 1);
  });

  test("the folders of a trusted project are back for commands, and for nothing else", async () => {
    await using command = await openMonorepo(["repository/node_modules/.bin"]);
    await command.trust();
    const PATH = `${join(command.path, "repository/node_modules/.bin")}:/usr/bin:/bin`;
    const cwd = join(command.path, PACKAGE);
    const { warnings } = await command.run(SCRIPT, ALLOWED, { cwd, env: { PATH } });
    assert.deepEqual(ran(command), ["git"]);
    assert.deepEqual(warnings, []);
  });

  test("nothing is told when no command was run, or when nothing was left out", async () => {
    await using command = await openMonorepo(["repository/bin"]);
    const looking = { sous: [calling(["grep", { pattern: "needle" }]), saying("Done.")] };
    const hostile = { PATH: `${join(command.path, "repository/bin")}:/usr/bin:/bin` };
    assert.deepEqual((await command.run(looking, {}, { env: hostile })).warnings, []);
    const missing = { PATH: `${join(command.path, "repository/missing")}:/usr/bin:/bin` };
    assert.deepEqual((await command.run(SCRIPT, ALLOWED, { env: missing })).warnings, []);
  });

  test("in a home that is a repository only the working folder is the project", async () => {
    await using command = await openMonorepo(["home/bin", "home/shop/bin"]);
    mkdirSync(join(command.path, "home/.git"));
    const bin = (folder: string) => `${join(command.path, folder)}:/usr/bin:/bin`;
    const cwd = join(command.path, "home/shop");
    await command.run(SCRIPT, ALLOWED, { cwd, env: { PATH: bin("home/shop/bin") } });
    assert.deepEqual(ran(command), []);
    await command.run(SCRIPT, ALLOWED, { cwd, env: { PATH: bin("home/bin") } });
    assert.ok(ran(command).includes("bash"));
  });
});

test("at the top of the machine, where containers begin, programs are found", async () => {
  await using command = await openCommand();
  command.write("answers.json", JSON.stringify(SCRIPT));
  await using application = await openApplication({
    flags: readRunFlags({ model: `script/${join(command.path, "answers.json")}`, ephemeral: true }),
    cwd: "/",
    env: command.env,
    ask: undefined,
    warn: () => {},
  });
  assert.match((await application.programs.find("sh")) ?? "", /^\/(?:usr\/)?bin\/sh$/);
});

suite("B4.5: git, when the user has allowed git status", () => {
  const CONFIG = (marker: string) =>
    `[core]\n\trepositoryformatversion = 0\n\tworktree = ..\n\tfsmonitor = touch ${marker};:\n`;
  for (const [what, folder, isRepository] of [
    ["in a folder without .git", "plain", false],
    ["in a package of a monorepo", "repository/packages/one", true],
  ] as const) {
    for (const isTrusted of [false, true]) {
      const where = `${what}${isTrusted ? ", in a trusted project" : ""}`;
      test(`B4.5: files that make a folder look like a repository start nothing ${where}`, async () => {
        await using command = await openCommand(isRepository ? {} : { "plain/": "" });
        const marker = join(command.path, "marker");
        command.write(`${folder}/HEAD`, "ref: refs/heads/main\n");
        command.write(`${folder}/config`, CONFIG(marker));
        for (const name of ["objects/keep", "refs/keep"]) command.write(`${folder}/${name}`, "");
        const cwd = join(command.path, folder);
        if (isTrusted) await command.trust(isRepository ? command.root : cwd);
        const script = { sous: [calling(["terminal", { command: "git status" }]), saying("Done.")] };
        await command.run(script, ALLOWED, { cwd });
        assert.equal(existsSync(marker), false);
        execFileSync("sh", ["-c", "git status || true"], { cwd, env: { PATH: "/usr/bin:/bin" }, stdio: "ignore" });
        assert.equal(existsSync(marker), true, "git itself did not start it either");
      });
    }
  }

  test("B4.5: a global configuration in a HOME that lies in the project is not obeyed", async () => {
    await using command = await openCommand({ "repository/home/.gitconfig": "" });
    const marker = join(command.path, "marker");
    command.write("repository/home/.gitconfig", `[alias]\n\tlook = !touch ${marker}\n`);
    const script = { sous: [calling(["terminal", { command: "git look" }]), saying("Done.")] };
    const env = { HOME: join(command.root, "home"), XDG_CONFIG_HOME: join(command.path, "config") };
    await command.run(script, { allow: ["terminal(git look*)"] }, { env });
    assert.equal(existsSync(marker), false);
  });
});

suite("B4.1: the command that gives the key", () => {
  const KEYS: [what: string, program: string][] = [
    ["by a name that only the project has", "key"],
    ["by a relative path", "./bin/key"],
    ["by a path with a slash", "bin/key"],
    ["by an absolute path into the project", "ROOT/bin/key"],
  ];
  for (const [what, program] of KEYS) {
    test(`B4.1: a program of the project is not asked for the key, ${what}`, async () => {
      await using command = await openCommand({
        "repository/bin/key": "#!/bin/sh\ntouch marker\necho key\n",
        "home/.config/sous/config.yaml": "",
      });
      await chmod(join(command.root, "bin/key"), 0o755);
      const setting = program.replace("ROOT", command.root);
      const text = `model: anthropic/claude-sonnet-4-5\nprovider: { api_key_command: "${setting}" }\n`;
      command.write("home/.config/sous/config.yaml", text);
      const opening = openApplication({
        flags: readRunFlags({ ephemeral: true }),
        cwd: command.root,
        env: { ...command.env, PATH: `${join(command.root, "bin")}:/usr/bin:/bin` },
        ask: undefined,
        warn: () => {},
      });
      await assert.rejects(opening, /is not found outside the project/);
      assert.equal(existsSync(join(command.root, "marker")), false);
    });
  }

  test("B4.1: the command that gives the key is not started in the project, whose files it might obey", async () => {
    await using command = await openCommand({ "home/key": "#!/bin/sh\npwd > $0.folder\necho key\n" });
    const key = join(command.path, "home/key");
    await chmod(key, 0o755);
    const text = `model: anthropic/claude-sonnet-4-5\nprovider: { api_key_command: "${key}" }\n`;
    command.write("home/.config/sous/config.yaml", text);
    await using _application = await openApplication({
      flags: readRunFlags({ ephemeral: true }),
      cwd: command.root,
      env: command.env,
      ask: undefined,
      warn: () => {},
    });
    assert.equal(readFileSync(`${key}.folder`, "utf8"), "/\n");
  });
});
