/** B4: settings that lie elsewhere by links, names that fold, folders of settings as workspaces. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
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

suite("B4.5: a file that settings lead to by links is not written", () => {
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
