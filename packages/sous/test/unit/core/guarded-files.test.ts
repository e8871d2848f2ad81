/** The table of guarded files: every row is found at any depth and in any spelling, and nothing else by accident. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { guardOf } from "../../../src/core/guarded-files.ts";
import { NAME_ROWS } from "../../../src/core/guarded-names.ts";

const nothing = (): boolean => false;
const effectOf = (path: string): string => guardOf(`/project/${path}`, { top: "/project" }, nothing)?.effect ?? "free";

suite("B4.5: the table of guarded files", () => {
  for (const { effect, names, reason } of NAME_ROWS) {
    test(`B4.5: ${effect}: ${reason}`, () => {
      for (const name of names.split(" ")) {
        const path = name.replaceAll("*", "x") + (name.endsWith("/") ? "any" : "");
        const spellings =
          effect === "free" ? [path, path.toUpperCase()] : [path, path.toUpperCase(), `${path}.`, `${path} `];
        for (const each of spellings.flatMap((spelling) => [spelling, `packages/one/${spelling}`]))
          assert.equal(effectOf(each), effect, each);
      }
    });
  }

  test("B4.5: a free folder with a dot does not free what lies in it", () => {
    assert.equal(effectOf(".storybook/main.ts"), "free");
    assert.equal(effectOf(".storybook/.npmrc"), "ask");
    assert.equal(effectOf(".storybook/.git/config"), "refuse");
    assert.equal(effectOf(".storybook/AGENTS.md"), "ask");
    assert.equal(effectOf(".gitignore/x"), "ask");
  });

  test("B4.5: names are judged from the top of the project, so the folders above it do not count", () => {
    const places = { top: "/home/me/.claude/worktrees/one", homes: ["/home/me"] };
    const isRepository = (path: string): boolean => path === "/home/me/.claude/worktrees/one/.git";
    assert.equal(guardOf("/home/me/.claude/worktrees/one/src/main.ts", places, isRepository), undefined);
    assert.equal(guardOf("/home/me/.claude/worktrees/one/src/main.ts", places, nothing)?.effect, "refuse");
    assert.equal(guardOf("/home/me/.claude/worktrees/one/.claude/x", places, isRepository)?.effect, "refuse");
    assert.equal(guardOf("/home/me/.claude/settings.json", places, nothing)?.effect, "refuse");
    assert.equal(guardOf("/home/me/.bash_aliases", places, nothing)?.effect, "refuse");
  });

  test("B4.5: the programs and settings of the whole machine are asked about when it is the workspace", () => {
    for (const path of ["/etc/profile.d/x.sh", "/usr/bin/git", "/var/spool/cron/crontabs/me", "/root/x"])
      assert.equal(guardOf(path, { top: "/" }, nothing)?.effect, "ask", path);
    assert.equal(guardOf("/usr/src/app/main.ts", { top: "/usr/src/app" }, nothing), undefined);
  });

  test("B4.5: a path that is too long to be judged is refused at once", () => {
    assert.equal(effectOf("a/".repeat(2_000_000)), "refuse");
    assert.equal(effectOf(`${" ".repeat(8000)}x`), "free");
  });
});
