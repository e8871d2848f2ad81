/**
 * Programs that another repository names than the one around the working folder, with the real git and the terminal tool: one below
 * the project that a command goes to. Each row leaves a marker when git is started by a person there.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { openPrograms } from "../../../../src/app/process/programs.ts";
import { terminalTool } from "../../../../src/app/tools/terminal.ts";
import { agent } from "../../../../src/core/agent.ts";
import { gitFoldersOf } from "../../../../src/runtime/rights/command-reading.ts";
import { createRuntime } from "../../../../src/runtime.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../../src/testing/steps.ts";
import { GitRepositories, type Repository, VARIABLES } from "../../../support/app/process/git-repositories.ts";

let repositories: GitRepositories;
before(() => {
  repositories = new GitRepositories();
});
after(() => repositories[Symbol.dispose]());

type Call = { command: string; cwd?: string };

/** What the model reads of a command in a project that is not trusted, or is. */
async function ask({ root }: Repository, call: Call, isTrusted = false): Promise<string> {
  const environment = { PATH: VARIABLES.PATH, HOME: VARIABLES.HOME };
  const gitFolders = (command: string) => gitFoldersOf(command, { home: VARIABLES.HOME });
  await using programs = openPrograms({ environment, workspace: { cwd: root, projects: [{ root, isTrusted }] } });
  const tool = terminalTool({ programs, root, timeoutMs: 20_000, environment, gitFolders });
  const model = scriptedModel({ lead: [[calls("terminal", call)], [says("Done.")]] });
  const runtime = createRuntime({ approve: () => ({ allow: true }), host: { cwd: root, environment } });
  let heard = "";
  await runtime.run(agent({ name: "lead", model, tools: [tool] }), "Go.", {
    onEvent: (event) => {
      if (event.type === "tool-call-end") heard = event.output;
    },
  });
  return heard;
}

/** A project with a repository of its own in `sub/r`, which names programs, and the same as a bare one in `sub/b.git`. */
function nested(): Repository {
  const outer = repositories.make();
  const inner = join(outer.root, "sub/r");
  mkdirSync(join(outer.root, "sub"));
  cpSync(join(repositories.place, "clean"), inner, { recursive: true });
  const named = `[user]\n\tname = a\n\temail = a\n[remote "origin"]\n\turl = .\n\tuploadpack = ${outer.program}\n\treceivepack = ${outer.program}\n[trailer "see"]\n\tcmd = ${outer.program}\n[tar "x"]\n\tcommand = ${outer.program}\n`;
  writeFileSync(join(inner, ".git/config"), named, { flag: "a" });
  cpSync(join(inner, ".git"), join(outer.root, "sub/b.git"), { recursive: true });
  symlinkSync("sub/r", join(outer.root, "link"));
  return outer;
}

const COMMIT = "commit --allow-empty -m x --trailer see=1";
const ATTEMPTS: readonly Call[] = [
  { command: "git -C sub/r fetch origin" },
  { command: "git -C sub/r push origin HEAD:y" },
  { command: `git -C sub/r ${COMMIT}` },
  { command: `git -C sub/r commit --allow-empty -m ${"word".repeat(200)} --trailer see=1` },
  { command: "git -C sub/r archive --format=x HEAD" },
  { command: "git -C sub -C r fetch origin" },
  { command: "git -C ./sub/../sub/r fetch origin" },
  { command: "git -C link fetch origin" },
  { command: "git -C sub/r/.git fetch origin" },
  { command: "git --git-dir=sub/b.git fetch origin" },
  { command: "git --git-dir sub/r/.git fetch origin" },
  { command: "git -C sub --git-dir=r/.git fetch origin" },
  { command: "cd sub/r && git fetch origin" },
  { command: "cd sub; cd r; git fetch origin" },
  { command: `cd sub/r && git ${COMMIT}` },
  { command: "cd sub && git -C r fetch origin" },
  { command: "timeout 9 git -C sub/r fetch origin" },
  { command: "env git -C sub/r fetch origin" },
  { command: "git fetch origin", cwd: "sub/r" },
  { command: "git -C r fetch origin", cwd: "sub" },
  { command: "git -C sub/? fetch origin" },
  { command: "(cd sub/r; git fetch origin)" },
  { command: "cd $(echo sub/r) && git fetch origin" },
  { command: "for i in sub/r; do git -C $i fetch origin; done" },
  { command: "bash -c 'cd sub/r && git fetch origin'" },
  { command: "GIT_DIR=sub/b.git git fetch origin" },
  { command: `F=sub; pushd $F/r; git ${COMMIT}` },
];

suite("B4.5: git in another repository of a project that is not trusted", () => {
  for (const call of ATTEMPTS) {
    const where = call.cwd === undefined ? "" : `, in ${call.cwd}`;
    test(`B4.5: no program of the repository is started by ${call.command.slice(0, 80)}${where}`, async () => {
      const repository = nested();
      await ask(repository, call);
      assert.equal(existsSync(repository.marker), false);
      const cwd = join(repository.root, call.cwd ?? ".");
      spawnSync("bash", ["-c", call.command], { cwd, env: VARIABLES, timeout: 20_000 });
      assert.equal(existsSync(repository.marker), true, "git itself did not start it either");
    });
  }

  test("programs of a repository below a trusted project are its own, and run", async () => {
    const repository = nested();
    await ask(repository, { command: "git -C sub/r fetch origin" }, true);
    assert.equal(existsSync(repository.marker), true);
  });
});

suite("git works in other repositories of a project that is not trusted", () => {
  const honest: readonly string[] = [
    "git -C sub/r status --short",
    "cd sub/r && git log -1 --format=%s",
    `git -C sub/r commit --allow-empty -m "${"a long message ".repeat(30)}"`,
    "git log -1 -- *",
    "for i in 1 2; do git -C sub/r log -1; done",
    "echo $(git rev-parse HEAD)",
    "git -C sub/r archive HEAD | wc -c",
  ];
  for (const command of honest) {
    test(`it does what it is asked for: ${command.slice(0, 60)}`, async () => {
      const heard = await ask(nested(), { command });
      assert.doesNotMatch(heard, /fatal|not started|exit code [1-9]/);
    });
  }

  test("B4.5: where a command that is not understood could go to more folders than are looked at, git says why it does nothing", async () => {
    const repository = repositories.make();
    for (let index = 0; index < 5100; index++)
      mkdirSync(join(repository.root, "many", String(index)), { recursive: true });
    assert.match(await ask(repository, { command: "echo $(git status)" }), /git is not started here before sous trust/);
    assert.match(await ask(repository, { command: "git status" }), /On branch/);
    rmSync(join(repository.root, "many"), { recursive: true });
    assert.match(await ask(repository, { command: "echo $(git status)" }), /On branch/);
  });
});
