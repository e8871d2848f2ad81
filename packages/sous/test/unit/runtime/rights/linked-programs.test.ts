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
  "deep/er/g": "/opt/programs/git",
  lower: "deep/er/under",
  upper: "lower/../g",
  std: "/dev/stdin",
  "std.mk": "std",
  "node_modules/.bin/zok": "/opt/programs/git",
  "deep/node_modules/.bin/veyl": "../../chain",
  ".venv/bin/zokpy": "/opt/programs/git",
  test: "/opt/programs/zokrun",
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
  // `..` behind a link leads to the folder above its target.
  "lower/../g push",
  "./lower/../g push",
  "WORK/lower/../g push",
  "./lower/.././g push",
  "./lower/../../g push",
  "./upper push",
  "cd lower && ../g push",
  "cd deep && ../lower/../g push",
  "timeout 5 lower/../g push",
  "zokrun lower/../g push",
  "zokrun -- lower/../g push",
  "zokrun run ./upper push",
  // Forms of `cd`.
  "cd -- deep && ./chain push",
  "cd -L deep && ./chain push",
  "cd -L -- deep && ./chain push",
  "cd -- . && ./g push",
  "cd -; TEMP/g push",
  // Globs that find a link.
  "zokrun ./g* push",
  "zokrun ./[fgh] push",
  "zokrun ./? push",
  "zokrun -- deep/chai? push",
  "zokrun */chain push",
  "zokrun ./d*p/ch* push",
  "veyl exec WORK/? push",
  "veyl exec WORK/d*/chain push",
  "zokrun TEMP/? push",
  "cd deep && zokrun ./ch* push",
  // Programs of a project behind the programs that start them.
  "npx zok push",
  "npx --no zok push",
  "npm exec -- zok push",
  "bunx zok push",
  "pnpm zok push",
  "yarn zok push",
  "timeout 5 npx zok push",
  "cd deep && npx veyl push",
  "cd deep && npx zok push",
  "uv run zokpy push",
  "poetry run zokpy push",
];

/** The folder is known only when they run, or what a path in it leads to. */
const LOST = [
  "cd - ; ./g push",
  "cd -P deep && ./chain push",
  "cd d*p && ./chain push",
  "cd . . ; ./g push",
  "cd none more || ./g push",
  "cd ''; ./g push",
  "cd -e . ; ./g push",
  "cd a; cd b; cd c; cd d; cd e; ./g push",
  "cd -; zokrun ./g push",
  "cd -; zokrun -- deep/chain push",
  "cd -; zokrun ./g* push",
  "cd -; timeout 5 ./g push",
  "cd -; env deep/g push",
  "cd d*p; time ./chain push",
  "cd -; bash ./std",
  "cd -; python3 std.mk",
  "zokrun /proc/self/cwd/g push",
  "zokrun /proc/thread-self/cwd/g push",
  "zokrun -- /proc/self/root/tmp/g push",
  "zokrun //proc/self/./cwd/g push",
];

/** Interpreters with a link that leads to their input. */
const DEVICES = [
  "bash ./std",
  "sh ./std",
  "zsh ./std.mk",
  "python3 ./std",
  "python3 -u std.mk",
  "perl ./std",
  "ruby ./std",
  "node ./std",
  "node std.mk",
  "tsx ./std",
  "npx tsx ./std",
  "php ./std",
  "deno ./std",
  "make -f ./std",
  "make -f std.mk all",
  "gmake -f WORK/std",
  "bash deep/../std",
  "bash WORK/std",
  "cd deep && bash ../std",
  "timeout 5 bash ./std",
  "env python3 ./std",
];

suite("B5.3: a program under the name of a link", () => {
  let work: TemporaryTree;
  let temporary: TemporaryTree;
  before(async () => {
    work = await temporaryTree({ copy: "#!/bin/sh\n" });
    temporary = await temporaryTree();
    for (const folder of ["deep/er/under", "node_modules/.bin", "deep/node_modules/.bin", ".venv/bin"])
      mkdirSync(join(work.path, folder), { recursive: true });
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

  for (const command of LOST) {
    test(`${command} is not understood`, () => assert.notEqual(explain([], command).reading?.problem, undefined));
  }

  for (const command of DEVICES) {
    test(`${command} runs its input`, () => assert.notEqual(explain([], command).reading?.problem, undefined));
  }

  test("a link with the name of a program that starts nothing is what it leads to", () => {
    for (const start of ["", "timeout 5 ", "env ", "cd deep; ."]) {
      assert.equal(decide(["deny terminal(git push*)"], `${start}./test git push`, {}, true), "deny");
      assert.match(explain([], `${start}./test bash -c ls`).reading?.problem ?? "", /code that it is given/);
    }
  });

  test("a program without a slash is looked for in those folders of PATH that lie in the workspace or a temporary one", () => {
    const { PATH } = process.env;
    const deny = ["deny terminal(git push*)"];
    const commands = [
      "",
      "zokrun ",
      "zokrun run -- ",
      "timeout 5 ",
      "env ",
      "nice -n 5 ",
      "time ",
      "cd deep && ",
    ].flatMap((start) => [`${start}zok push`, `${start}veyl push`]);
    const answers = () => new Set(commands.map((command) => decide(deny, command, {}, true)));
    assert.deepEqual([...answers()], ["allow"]);
    try {
      process.env.PATH = `${work.path}/node_modules/.bin:${work.path}/deep/node_modules/.bin:/usr/bin:/bin`;
      assert.deepEqual([...answers()], ["deny"]);
      assert.equal(decide(deny, "test git push", {}, true), "allow");
      process.env.PATH = `${work.path}:/usr/bin:/bin`;
      assert.equal(decide(deny, "env test git push", {}, true), "deny");
    } finally {
      process.env.PATH = PATH;
    }
  });

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
