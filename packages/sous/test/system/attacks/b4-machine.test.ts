/** B4.1: programs of a repository, and programs that obey the folder they start in. Judged by markers. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { type Command, calling, openCommand, saying } from "../../support/attacks/whole-command.ts";

function running(command: string): object {
  return { sous: [calling(["terminal", { command }]), saying("Done.")] };
}

const SEARCH = { sous: [calling(["grep", { pattern: "hello" }]), saying("Done.")] };

suite("B4.1: git is not taken from the repository", () => {
  /** A repository with programs called git that leave a marker, and PATH that begins with `first`. */
  async function makesMarker(first: string, program: string): Promise<boolean> {
    await using command = await openCommand();
    for (const place of ["git", "node_modules/.bin/git", "repository/git"]) {
      command.write(`repository/${place}`, "#!/bin/sh\ntouch marker\n");
      await chmod(join(command.root, place), 0o755);
    }
    const env = { PATH: `${first}:/usr/bin:/bin` };
    const allow = [`terminal(${program}*)`];
    const { result } = await command.run(running(`${program} --version`), { allow }, { env });
    assert.equal(result.status, "completed");
    return existsSync(join(command.root, "marker"));
  }

  for (const path of [".", "", "repository", "./node_modules/.bin"]) {
    test(`B4.1: git is not taken from the repository with ${JSON.stringify(path)} first in PATH, when the user allows git`, async () =>
      assert.equal(await makesMarker(path, "git"), false));
    test(`a git that the command names by its path is started with ${JSON.stringify(path)} first in PATH, so the row above can fail`, async () =>
      assert.equal(await makesMarker(path, "./git"), true));
  }
});

suite("B4.1: programs that sous starts by itself", () => {
  /** Obeys a file of the folder in which it is started, as the shims of version managers do. */
  const shim = '#!/bin/sh\n[ -f .tool-versions ] && : > "$0.obeyed"\nexit 1\n';

  /** Whether a shim for rg has obeyed the workspace. */
  async function obeys(script: object): Promise<boolean> {
    await using command = await openCommand({
      "repository/.tool-versions": "x",
      "repository/a.txt": "hello\n",
      "shims/rg": shim,
    });
    await chmod(join(command.path, "shims/rg"), 0o755);
    const env = { PATH: `${join(command.path, "shims")}:/usr/bin:/bin` };
    await command.run(script, { allow: ["terminal(rg*)"] }, { env });
    return existsSync(join(command.path, "shims/rg.obeyed"));
  }

  test("B4.1: a shim that answers for rg is not started in the workspace", async () =>
    assert.equal(await obeys(SEARCH), false));
  test("a shim that a command of the terminal names is started in the workspace, so the row above can fail", async () =>
    assert.equal(await obeys(running("rg hello")), true));

  /** Whether an rg in a folder of programs above the working folder was started. */
  async function startsRg(command: Command, script: object): Promise<boolean> {
    const rg = join(command.path, "other/venv/bin/rg");
    const marker = join(command.path, "marker");
    command.write("other/venv/bin/rg", `#!/bin/sh\n: > ${marker}\nexit 1\n`);
    await chmod(rg, 0o755);
    const given = { cwd: join(command.path, "other/sub"), env: { PATH: `${dirname(rg)}:/usr/bin:/bin` } };
    await command.run(script, { allow: ["terminal(*)"] }, given);
    return existsSync(marker);
  }
  const rows: [what: string, script: object][] = [
    ["grep", SEARCH],
    ["terminal", running("rg hello")],
  ];

  for (const [tool, script] of rows) {
    for (const mark of [".hg", ".jj", ".svn"]) {
      test(`B4.1: ${tool} does not start the programs of a repository with ${mark}`, async () => {
        await using command = await openCommand({ [`other/${mark}/`]: "", "other/sub/a.txt": "hello\n" });
        assert.equal(await startsRg(command, script), false);
      });
    }
    test(`${tool} starts the same program in a folder that is no repository, so the rows above can fail`, async () => {
      await using command = await openCommand({ "other/sub/a.txt": "hello\n" });
      assert.equal(await startsRg(command, script), true);
    });
  }
});
