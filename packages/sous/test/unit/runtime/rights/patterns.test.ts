/** Rules at the edges: several stars in a word, files that cannot be looked at, links that lead nowhere, answers of before. */

import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { createPolicy } from "../../../../src/runtime/rights/policy.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";
import { decideOn, type Effect, requestFor, rulesFrom } from "../../../support/runtime/rights/requests.ts";

const run = (rule: string, text: string): Effect => decideOn([rule], "terminal", { command: text });

suite("H4: a word of a rule with several stars", () => {
  const ALLOWED: readonly [rule: string, command: string, expected: Effect][] = [
    ["npm run te*it*ch", "npm run test:unit:watch", "allow"],
    ["npm run te*it*ch", "npm run teitch", "allow"],
    ["npm run te*it*ch", "npm run build", undefined],
    ["npm run te*it*ch", "npm run xxitch", undefined],
    ["npm run te*it*ch", "npm run test:watch", undefined],
    ["npm run te*it*ch", "npm run test:unit", undefined],
    ["npm run te*ch*ch", "npm run te-ch", undefined],
    ["npm run te*ch*ch", "npm run te-ch-ch", "allow"],
    ["cat a*b*c", "cat a/b-c", undefined],
    ["cat a*b*c", "cat a-b/c", undefined],
    ["cat a*/b*c", "cat a1/b2c", "allow"],
  ];
  for (const [pattern, text, expected] of ALLOWED) {
    test(`allow ${pattern} | ${text} | ${expected ?? "the tier decides"}`, () => {
      assert.equal(run(`allow terminal(${pattern})`, text), expected);
    });
  }

  test("a rule that denies finds the parts between several stars in their order only, and across folders", () => {
    assert.equal(run("deny terminal(git p*s*h)", "git push"), "deny");
    assert.equal(run("deny terminal(git p*s*h)", "git publish"), "deny");
    assert.equal(run("deny terminal(git p*s*h)", "git pull"), undefined);
    assert.equal(run("deny terminal(cat a*b*c)", "cat a/x/b/c"), "deny");
  });
});

test("H4: a package that one starter of packages hands to another is not allowed by its name", () => {
  assert.equal(run("allow terminal(npx vitest*)", "npx vitest"), "allow");
  assert.equal(run("allow terminal(npx vitest*)", "npx npx vitest"), undefined);
  assert.equal(run("allow terminal(npx npx vitest)", "npx npx vitest"), "allow");
});

test("H4: a rule for every host touches every address, also one with a name and a password", () => {
  for (const url of ["https://example.com", "http://a:b@example.com:8080/x"])
    assert.equal(decideOn(["deny fetch(*)"], "fetch", { url }), "deny");
});

test("H4: a search from a folder touches a rule for files at any depth below it", () => {
  const grep = (path: string) => decideOn(["deny grep(src/**/key.pem)"], "grep", { pattern: "x", path });
  assert.deepEqual([grep("src/deep/er"), grep("src"), grep("."), grep("docs")], ["deny", "deny", "deny", undefined]);
});

test("H4: the paths of a rule with a root begin there, for rules that allow as for rules that deny", () => {
  const decide = (effect: "allow" | "deny", root: string | undefined): Effect => {
    const rules = [{ effect, pattern: "write_file(/docs/**)", origin: "test", root }];
    const policy = createPolicy({ rules, realPath: (path) => path });
    return policy.decide(requestFor("write_file", { path: "a.md" }, { cwd: "/project/docs" }))?.effect;
  };
  assert.deepEqual([decide("allow", "/project"), decide("allow", undefined)], ["allow", undefined]);
  assert.deepEqual([decide("deny", "/project"), decide("deny", undefined)], ["deny", undefined]);
});

test("H4: answers of before add up, each for its own action and its own agent", () => {
  const policy = createPolicy({ rules: rulesFrom("ask terminal") });
  const decide = (command: string, agent = "scout") =>
    policy.decide(requestFor("terminal", { command }, { agent }))?.effect;
  for (const rule of rulesFrom("allow terminal(=git status)", "allow terminal(=ls)", "allow terminal(=ls)"))
    policy.remember(rule, requestFor("terminal", {}));
  assert.deepEqual([decide("git status"), decide("ls"), decide("pwd")], ["allow", "allow", "ask"]);
  assert.equal(decide("ls", "reviewer"), "ask");
});

test("B5.7: a link that leads in a circle is judged by its name", async () => {
  await using tree = await temporaryTree({ "src/": "" });
  symlinkSync("two", join(tree.path, "src/one"));
  symlinkSync("one", join(tree.path, "src/two"));
  const decide = (...rules: string[]): Effect =>
    createPolicy({ rules: rulesFrom(...rules) }).decide(
      requestFor("write_file", { path: "src/one/file" }, { cwd: tree.path }),
    )?.effect;
  assert.equal(decide("deny write_file(src/one/**)"), "deny");
  assert.equal(decide("deny write_file(docs/**)"), undefined);
  assert.equal(decide("allow write_file(src/**)"), "allow");
});

suite("B5.3: a file that a command would write", () => {
  const RULES = rulesFrom("allow terminal(echo*)", "allow write_file");
  const decide = (cwd: string, file: string, asked: string[] = []) =>
    createPolicy({ rules: RULES, guards: { top: cwd, asked } }).decide(
      requestFor("terminal", { command: `echo x > ${file}` }, { cwd }),
    );

  test("a file that a command would write and that cannot be looked at is refused", async () => {
    await using tree = await temporaryTree({});
    assert.equal(decide(tree.path, "plain.txt")?.effect, "allow");
    const answer = decide(tree.path, "n".repeat(300));
    assert.equal(answer?.effect, "deny");
    assert.match(answer?.reason ?? "", /hard link/);
  });

  test("a file that a command would write is judged by its name where the workspace is gone", async () => {
    await using tree = await temporaryTree({});
    const gone = join(tree.path, "gone");
    assert.equal(decide(gone, "plain.txt")?.effect, "allow");
    assert.equal(decide(gone, "plain.txt", [join(gone, "plain.txt")])?.effect, "ask");
  });

  test("a file that a command would write may make a repository of its folder, so a person is asked where that cannot be looked at", async () => {
    await using tree = await temporaryTree({});
    const write = (path: string) =>
      createPolicy({ rules: RULES, guards: { top: tree.path } }).decide(
        requestFor("write_file", { path }, { cwd: tree.path }),
      )?.effect;
    assert.deepEqual([write("n/objects/x"), write(`${"n".repeat(300)}/objects/x`)], ["allow", "ask"]);
  });
});
