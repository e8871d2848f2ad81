/** B4: settings that lie elsewhere by links, names that fold, folders of settings as workspaces, helpers that obey a folder. */

import assert from "node:assert/strict";
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { type Command, calling, openCommand, saying } from "../../support/attacks/whole-command.ts";

const EVIL = "EVIL-71c0";

function writing(...paths: string[]): object {
  return { sous: [calling(...paths.map((path) => ["write_file", { path, content: EVIL }] as const)), saying("Done.")] };
}

function isWritten(file: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8").includes(EVIL);
}

function link({ path, root }: Command, from: string, to: string): void {
  mkdirSync(dirname(join(path, "home", from)), { recursive: true });
  symlinkSync(join(root, to), join(path, "home", from));
}

suite("B4.5: what settings lead to by links is not written", () => {
  const rows: [from: string, to: string][] = [
    [".config/sous/config.yaml", "sous/config.yaml"],
    [".config/sous/agents", "sous/agents"],
    [".config/sous/agents/x.md", "x.md"],
    [".claude/settings.json", "claude.json"],
    [".ssh/config", "ssh-config"],
    [".config/git/config", "git-settings"],
    [".config/fish/config.fish", "config.fish"],
    [".vim/vimrc", "vim-settings"],
  ];
  for (const [from, to] of rows) {
    for (const isThere of [true, false]) {
      test(`B4.5: ~/${from} is not written by way of ${isThere ? "a link to a file" : "a link to what is not there yet"}`, async () => {
        await using command = await openCommand(isThere && !to.endsWith("agents") ? { [`repository/${to}`]: "" } : {});
        link(command, from, to);
        const target = to.endsWith("agents") ? `${to}/evil.md` : to;
        await command.run(writing(target), { yes: true });
        assert.equal(isWritten(join(command.root, target)), false);
      });
    }
  }

  test("another file is written, so the rows above can fail", async () => {
    await using command = await openCommand();
    await command.run(writing("notes.txt"), { yes: true });
    assert.equal(isWritten(join(command.root, "notes.txt")), true);
  });
});

suite("B4.5: names that fold, and folders of settings", () => {
  for (const path of ["site-packages/a:b.pth", "x:y.code-workspace", "x:y.desktop", "z:z.instructions.md"]) {
    test(`B4.5: ${path} is what its ending says`, async () => {
      await using command = await openCommand();
      await command.run(writing(path), { yes: true });
      assert.equal(isWritten(join(command.root, path)), false);
    });
  }
  for (const folder of [".ssh", ".claude", ".vim", ".gnupg"]) {
    test(`B4.5: ~/${folder} as the workspace is still a folder of settings`, async () => {
      await using command = await openCommand({ [`home/${folder}/`]: "" });
      const cwd = join(command.path, "home", folder);
      await command.run(writing("config", "settings.json"), { allow: ["write_file"] }, { cwd });
      assert.deepEqual(
        ["config", "settings.json"].filter((name) => isWritten(join(cwd, name))),
        [],
      );
    });
  }
});

test("B5.1: a redirection does not write through a hard link", async () => {
  await using command = await openCommand({ "outside.txt": "" });
  linkSync(join(command.path, "outside.txt"), join(command.root, "inside.txt"));
  const script = { sous: [calling(["terminal", { command: `echo ${EVIL} > inside.txt` }]), saying("Done.")] };
  await command.run(script, { yes: true });
  assert.equal(isWritten(join(command.path, "outside.txt")), false);
});

suite("B4.1: programs of ours", () => {
  /** Obeys a file of the folder in which it is started, as the shims of version managers do. */
  const shim = '#!/bin/sh\n[ -f .tool-versions ] && : > "$0.obeyed"\nexit 1\n';

  test("B4.1: a shim that answers for rg is not started in the workspace", async () => {
    await using command = await openCommand({
      "repository/.tool-versions": "x",
      "repository/a.txt": "hello\n",
      "shims/rg": shim,
    });
    chmodSync(join(command.path, "shims/rg"), 0o755);
    const script = { sous: [calling(["grep", { pattern: "hello" }]), saying("Done.")] };
    const env = { PATH: `${join(command.path, "shims")}:/usr/bin:/bin` };
    await command.run(script, {}, { env });
    assert.equal(existsSync(join(command.path, "shims/rg.obeyed")), false);
  });

  for (const mark of [".hg", ".jj", ".svn"]) {
    test(`B4.1: the programs of a repository with ${mark} are not ours`, async () => {
      await using command = await openCommand({
        [`other/${mark}/`]: "",
        "other/sub/a.txt": "hello\n",
        "other/venv/bin/rg": "",
      });
      const rg = join(command.path, "other/venv/bin/rg");
      writeFileSync(rg, `#!/bin/sh\n: > ${join(command.path, "marker")}\nexit 1\n`);
      chmodSync(rg, 0o755);
      const script = { sous: [calling(["grep", { pattern: "hello" }]), saying("Done.")] };
      const env = { PATH: `${dirname(rg)}:/usr/bin:/bin` };
      await command.run(script, {}, { cwd: join(command.path, "other/sub"), env });
      assert.equal(existsSync(join(command.path, "marker")), false);
    });
  }
});
