/** B4.5, B5.1: redirections to paths that only the kernel follows to their end, judged by the files. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { calling, type Flags, openCommand, saying } from "../../support/attacks/whole-command.ts";

const FILES = { "repository/.git/refs/heads/": "", "repository/deep/er/": "", "outside/sub/": "" };
const RULES: Flags = { allow: ["terminal(echo*)", "terminal(cd*)", "write_file"] };
const DENIED = 'permissions: [ { deny: "write_file(.git/**)" } ]\n';
const NEW = ".git/config.worktree";

type Row = [how: string, links: Record<string, string>, command: string, file: string];

const GUARDED: Row[] = [
  ["a link that goes up from a link", { r: ".git/refs", hk: "r/../config.worktree" }, "echo x > hk", NEW],
  ["such a link further up", { r: ".git/refs/heads", hk: "./r/../../hooks" }, "echo x > hk", ".git/hooks"],
  ["a chain of such links", { r: ".git/refs", one: "two", two: "r/../config.worktree" }, "echo x > one", NEW],
  ["a path of the process behind cd", {}, "cd .git && echo x > /proc/self/cwd/config.worktree", NEW],
  ["the same of its thread", {}, "cd .git && echo x > /proc/thread-self/cwd/config.worktree", NEW],
  ["a link to it", { ".git/p": "/proc/self/cwd" }, "cd .git && echo x > p/config.worktree", NEW],
];
const OUTSIDE: Row[] = [
  ["a link that goes up from a link out", { r: "../outside/sub", o: "r/../new" }, "echo x > o", "../outside/new"],
  [
    "a link in a linked folder",
    { "a/b/c/inner": "../../../deep/er", "deep/er/d": "../../../outside/new" },
    "echo x > a/b/c/inner/d",
    "../outside/new",
  ],
];

suite("B4.5: a redirection is judged by the file that the kernel opens", () => {
  for (const [allowed, rows, flags, configuration] of [
    ["--yes", GUARDED, { yes: true }, ""],
    ["rules", GUARDED, RULES, ""],
    ["rules and one that denies", GUARDED, RULES, DENIED],
    ["rules", OUTSIDE, RULES, ""],
  ] as const) {
    for (const [how, links, command, file] of rows) {
      test(`B4.5: a redirection through ${how} writes nothing with ${allowed}`, async () => {
        await using tree = await openCommand({ ...FILES, "home/.config/sous/config.yaml": configuration });
        for (const [name, target] of Object.entries(links)) {
          mkdirSync(dirname(join(tree.root, name)), { recursive: true });
          symlinkSync(target, join(tree.root, name));
        }
        await tree.run({ sous: [calling(["terminal", { command }]), saying("Done.")] }, flags);
        assert.equal(existsSync(join(tree.root, file)), false);
      });
    }
  }

  test("B4.5: a redirection through links that stay among ordinary files writes, so the rows above can fail", async () => {
    await using tree = await openCommand(FILES);
    symlinkSync("deep/er", join(tree.root, "inner"));
    symlinkSync("inner/../new.txt", join(tree.root, "ordinary"));
    await tree.run({ sous: [calling(["terminal", { command: "echo x > ordinary" }]), saying("Done.")] }, RULES);
    assert.equal(existsSync(join(tree.root, "deep/new.txt")), true);
  });
});
