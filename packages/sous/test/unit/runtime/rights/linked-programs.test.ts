/** Rules about a program hold for it under the name of a link, too. */

import assert from "node:assert/strict";
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, suite, test } from "node:test";
import { linkNames } from "../../../../src/runtime/rights/linked-programs.ts";
import { createPolicy } from "../../../../src/runtime/rights/policy.ts";
import { type TemporaryTree, temporaryTree } from "../../../support/app/tools/temporary-tree.ts";
import { requestFor, rulesFrom } from "../../../support/runtime/rights/requests.ts";

/** In the workspace; their targets need not exist. */
const LINKS: Readonly<Record<string, string>> = {
  g: "/opt/programs/git",
  "deep/g": "/opt/programs/git",
  "deep/chain": "../g",
  "python-of-git": "git",
  git: "/opt/other/git2",
  via: "deep",
  b: "/bin/bash",
  e: "/usr/bin/env",
  tool: "node_modules/tool/start.js",
  round: "trip",
  trip: "round",
};

/** `WORK` is the workspace, `TEMP` a temporary folder. */
const PUSHES = [
  "./g push",
  "./g -C . push",
  "./g 'push' --force",
  ".//g push",
  "./././g push",
  "deep/g push",
  "deep/../g push",
  "./via/g push",
  "./deep/chain push",
  "./via/chain push",
  "./python-of-git push",
  "WORK/g push",
  "WORK/deep/chain push",
  "TEMP/g push",
  "cd deep && ./g push",
  "cd deep && ../g push",
  "cd deep; ls; ./chain push",
  "cd / && WORK/g push",
  "ls && ./g push | cat",
  "CI=1 ./g push > out",
  "timeout 5 ./g push",
  "env ./g push",
  "nice -n 5 nohup ./g push",
  "time ./deep/g push",
  "ls | xargs ./g push",
  "./e ./g push",
  "zokrun ./g push",
  "zokrun run -- ./deep/chain push",
];

suite("B5.3: a program under the name of a link", () => {
  let work: TemporaryTree;
  let temporary: TemporaryTree;
  before(async () => {
    work = await temporaryTree({ copy: "#!/bin/sh\n" });
    temporary = await temporaryTree();
    mkdirSync(join(work.path, "deep"));
    for (const [name, target] of Object.entries(LINKS)) symlinkSync(target, join(work.path, name));
    symlinkSync("/opt/programs/git", join(temporary.path, "g"));
  });
  after(async () => {
    await work[Symbol.asyncDispose]();
    await temporary[Symbol.asyncDispose]();
  });

  const explain = (rules: string[], command: string, more: object = {}, allowsAll = false) => {
    const text = command.replaceAll("WORK", work.path).replaceAll("TEMP", temporary.path);
    const policy = createPolicy({ rules: rulesFrom(...rules), allowsAll });
    return policy.explain(requestFor("terminal", { command: text, ...more }, { cwd: work.path }));
  };
  const decide = (...given: Parameters<typeof explain>) => explain(...given).answer?.effect;

  for (const command of PUSHES) {
    test(`${command} is the program that a rule denies or asks about`, () => {
      assert.equal(decide(["deny terminal(git push*)"], command, {}, true), "deny");
      assert.equal(decide(["ask terminal(git push*)", "allow terminal(*)"], command), "ask");
      assert.notEqual(decide(["allow terminal(git*)"], command), "allow");
    });
  }

  test("the folder that a call names is where the path begins", () => {
    assert.equal(decide(["deny terminal(git push*)"], "./chain push", { cwd: "deep" }, true), "deny");
    assert.equal(decide(["deny terminal(git push*)"], "./chain push", {}, true), "allow");
  });

  test("a rule for the link itself allows it, and other commands of the program are allowed", () => {
    assert.equal(decide(["allow terminal(./g*)"], "./g status"), "allow");
    assert.equal(decide(["deny terminal(git push*)"], "./g status", {}, true), "allow");
    assert.equal(decide(["deny terminal(git push*)", "allow terminal(*)"], "./tool push"), "allow");
  });

  test("a link to a shell is a shell", () => {
    const problemOf = (command: string) => explain([], command).reading?.problem;
    assert.match(problemOf("./b -c ls") ?? "", /code that is not a file/);
    assert.match(problemOf("./e ./b -c ls") ?? "", /code that is not a file/);
    assert.match(problemOf("zokrun ./b -c ls") ?? "", /code that it is given/);
    assert.equal(problemOf("./b scripts/setup.sh"), undefined);
    assert.equal(problemOf("./tool build"), undefined);
  });

  test("links that lead to each other come to an end", () => {
    assert.equal(decide(["deny terminal(git push*)"], "./round push", {}, true), "allow");
  });

  test("a copy, a hard link and a link that does not exist yet are other programs", () => {
    writeFileSync(join(work.path, "original"), "");
    linkSync(join(work.path, "original"), join(work.path, "hard"));
    for (const command of ["./copy push", "./hard push", "ln -s /opt/programs/git new && ./new push"]) {
      assert.equal(
        decide(["deny terminal(original*)", "deny terminal(git push*)"], command, {}, true),
        "allow",
        command,
      );
    }
  });

  const skip = process.platform !== "linux";
  test("links outside of the workspace and of temporary folders keep their own names", { skip }, () => {
    assert.deepEqual(linkNames("/proc/self/exe", ["."], "/nowhere"), []);
    assert.deepEqual(linkNames("/proc/self/exe", ["."], "/proc/self"), [basename(process.execPath)]);
  });
});
