/** The rules of the user about a call, tool by tool. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { createPolicy } from "../../../../src/runtime/rights/policy.ts";
import { checkPattern } from "../../../../src/runtime/rights/rule-pattern.ts";
import { decideOn, type Effect, noLinks, requestFor, rulesFrom } from "../../../support/runtime/rights/requests.ts";

type Case = [rules: string | string[], input: unknown, expected: Effect];

function judge(toolName: string, cases: readonly Case[]): void {
  for (const [rules, input, expected] of cases) {
    test(`${expected ?? "the tier"} decides on ${JSON.stringify(input)} under ${[rules].flat().join(", ")}`, () => {
      assert.equal(decideOn([rules].flat(), toolName, input), expected);
    });
  }
}

function command(text: string): { command: string } {
  return { command: text };
}

suite("H4: the order of rules", () => {
  const lines = ["allow terminal(git*)", "ask terminal(git push*)", "deny terminal(git push --force*)"];
  const orders = [lines, lines.toReversed(), [lines[1] ?? "", lines[2] ?? "", lines[0] ?? ""]];
  for (const [index, rules] of orders.entries()) {
    test(`deny wins over ask, and ask over allow, wherever they stand (${index + 1})`, () => {
      const answers = ["git status", "git push", "git push --force", "ls"].map((text) =>
        decideOn(rules, "terminal", command(text)),
      );
      assert.deepEqual(answers, ["allow", "ask", "deny", undefined]);
    });
  }

  test("--yes allows what nothing denies", () => {
    const rules = ["ask terminal", "deny terminal(git push*)"];
    const answers = ["rm -rf build", "git push"].map((text) =>
      decideOn(rules, "terminal", command(text), { allowsAll: true }),
    );
    assert.deepEqual(answers, ["allow", "deny"]);
    assert.equal(decideOn([], "write_file", { path: "a" }, { allowsAll: true }), "allow");
  });

  test("the reason of a denial names the rule and where it stands", () => {
    const rules = [{ effect: "deny", pattern: "fetch", origin: ".sous/config.yaml:7" } as const];
    assert.deepEqual(createPolicy({ rules }).decide(requestFor("fetch", { url: "https://example.com" })), {
      effect: "deny",
      reason: "deny fetch (.sous/config.yaml:7)",
    });
  });

  test("* is any tool, and a star in a name stands for its rest", () => {
    assert.equal(decideOn(["deny *"], "anything", {}), "deny");
    assert.equal(decideOn(["allow github__*"], "github__get_issue", { id: 1 }), "allow");
    assert.equal(decideOn(["allow github__*"], "gitlab__get_issue", { id: 1 }), undefined);
  });
});

suite("H4: terminal rules that allow", () => {
  judge("terminal", [
    ["allow terminal(git status*)", command("git status"), "allow"],
    ["allow terminal(git status*)", command("git  'status'  --short"), "allow"],
    ["allow terminal(git status *)", command("git status --short"), "allow"],
    ["allow terminal(git status*)", command("git status-evil"), undefined],
    ["allow terminal(git status*)", command("git statusx"), undefined],
    ["allow terminal(git status)", command("git status --short"), undefined],
    ["allow terminal(npm run test:*)", command("npm run test:unit"), "allow"],
    ["allow terminal(npm run test:*)", command("npm run test:unit --evil"), undefined],
    ["allow terminal(npm run * --watch)", command("npm run build --watch"), "allow"],
    ["allow terminal(npm run * --watch)", command("npm run --evil --watch"), undefined],
    ["allow terminal(cat src/*)", command("cat src/a.ts"), "allow"],
    ["allow terminal(cat src/*)", command("cat src/../.env"), undefined],
    ["allow terminal(cat src/*)", command("cat src/.."), undefined],
    [["allow terminal(npm test*)", "allow terminal(git diff*)"], command("npm test && git diff HEAD~1"), "allow"],
    ["allow terminal(npm test*)", command("npm test && git diff"), undefined],
    ["allow terminal(npm test*)", command("npm test 2>&1"), "allow"],
    ["allow terminal(npm test*)", command("npm test > /dev/null 2>&1 < /dev/null"), "allow"],
    ["allow terminal(npm test*)", command("npm test -- --grep='a b'"), "allow"],
    ["allow terminal(npm test*)", command('npm test "a; rm -rf b"'), "allow"],
    ["allow terminal(npm test*)", { command: "npm test", timeout: 5, background: true }, "allow"],
    ["allow terminal(npm test*)", { command: "npm test", cwd: "elsewhere" }, undefined],
    ["allow terminal(npm test*)", { command: "npm test", cwd: "./", background: false }, "allow"],
    [[], { output_of: "1" }, "allow"],
    [[], { stop: "1" }, "allow"],
    ["deny terminal(rm*)", { stop: "1" }, "allow"],
    ["deny terminal", { stop: "1" }, "deny"],
    ["ask terminal", { output_of: "1" }, "ask"],
    ["allow terminal(npm test*)", { command: "rm x", output_of: "1" }, undefined],
    ["allow terminal(npm test*)", { stop: "1", other: 1 }, undefined],
    ["allow terminal(*)", command("ls -la | wc -l"), "allow"],
    ["allow terminal(*)", command("sudo ls"), undefined],
    ["allow terminal(*)", command("echo $HOME *.ts"), "allow"],
    ["allow terminal(*)", command("echo $USER"), undefined],
    ["allow terminal", command("echo $(date) > out"), "allow"],
    ["allow terminal(=echo $(date) > out)", command("echo $(date) > out"), "allow"],
    ["allow terminal(=echo $(date) > out)", command("echo $(date) > out2"), undefined],
    ["allow terminal(npx vitest run)", command("npx vitest run"), "allow"],
    ["allow terminal(npx vitest run)", command("npx vitest run --config evil.ts"), undefined],
    ["allow terminal(npx*)", command("npx vitest run"), undefined],
    ["allow terminal(npx vitest*)", command("npx vitest run"), "allow"],
    ["allow terminal(npx vitest*)", command("npx -y vitest run"), undefined],
    ["allow terminal(vitest*)", command("npx vitest run"), undefined],
    ["allow terminal(git status*)", command("npx git status"), undefined],
    ["allow terminal(git status*)", command("uv run git status"), undefined],
    ["allow terminal(npm test*)", command("timeout 60 npm test"), "allow"],
    ["allow terminal(npm test*)", command("CI=1 nice -n 5 env DEBUG=x npm test"), "allow"],
    ["allow terminal(npm test*)", command("env NODE_OPTIONS=x npm test"), undefined],
    ["allow terminal(timeout*)", command("timeout 5 rm x"), undefined],
    ["allow terminal(wc*)", command("xargs wc -l"), "allow"],
    ["allow terminal(wc -l)", command("xargs wc -l"), undefined],
    ["allow terminal(wc -l x*)", command("wc -l *"), undefined],
    ["allow terminal(wc*)", command("wc -l *"), "allow"],
    ["allow terminal(echo*)", command("echo x > out.txt"), undefined],
    [["allow terminal(echo*)", "allow write_file(*.txt)"], command("echo x > out.txt"), "allow"],
    [["allow terminal(echo*)", "allow write_file(*.txt)"], command("echo x > /tmp/out.txt"), undefined],
    [["allow terminal(*)", "allow write_file(src/**)"], command("cd src && echo x > a"), undefined],
    [["allow terminal(*)", "allow write_file(**)"], command("cd src && echo x > a"), "allow"],
    [["allow terminal(*)", "allow write_file(**)"], command("cd .. && echo x > a"), undefined],
    [["allow terminal", "deny write_file(.env*)"], command("echo x > .env"), "deny"],
    [["allow terminal", "deny write_file(.env*)"], command("cd a; echo x >> .env.local"), "deny"],
    [["allow terminal", "deny write_file(a/**)"], command("cd a*; echo x > b"), "ask"],
    [["allow terminal", "deny write_file(a/**)"], command("echo x > link/../b"), "ask"],
    [["allow terminal(*)", "allow write_file(**)"], command("ln -s /etc a; echo x > a/b"), undefined],
    [["allow terminal(*)", "allow write_file(**)"], command("cd a*; echo x > b"), undefined],
    ["allow terminal(git status*)", command("./timeout 9 git status"), undefined],
    ["allow terminal(git status*)", command("/usr/lib/git-core/git-status"), undefined],
    [["allow terminal", "ask write_file(.env*)"], command("echo x > .env"), "ask"],
    ["allow terminal(cat*)", command("cat < src/a"), "allow"],
    ["allow terminal(cat*)", command("cat < /etc/passwd"), undefined],
    [["allow terminal(cat*)", "deny read_file(secret*)"], command("cat < secrets"), "deny"],
    ["allow terminal(=bash -c 'x')", command("bash -c 'x'"), "allow"],
    [["allow terminal(=ls; bash -c 'x')", "deny terminal(rm*)"], command("ls; bash -c 'x'"), "allow"],
    [["allow terminal(=rm x; bash -c 'x')", "deny terminal(rm*)"], command("rm x; bash -c 'x'"), "deny"],
    ["allow terminal(bash -c*)", command("bash -c 'x'"), undefined],
    ["allow terminal(timeout 60 npm test)", command("timeout 60 npm test"), "allow"],
    ["allow terminal(find*)", command("find . -name '*.ts'"), "allow"],
    ["allow terminal(find*)", command("find . -name '*.ts' -exec rm '{}' +"), undefined],
    ["allow terminal(npm*)", command("npm --prefix=. exec evil"), undefined],
    ["allow terminal(npm*)", command("npm test -- x"), "allow"],
    ["allow terminal(python*)", command("python -c 'import os'"), undefined],
  ]);
});

suite("B5.3: a rule that denies looks at every part and through programs that start others", () => {
  const denied = [
    "git push",
    "git push origin main",
    "ls && git push",
    "ls | git push",
    "git -C . push",
    "git --git-dir=.git -c a=b push",
    "/usr/bin/git push",
    "GIT push",
    "\\git push",
    "g''it pu\"sh\"",
    "git \\\n push",
    "git>out push",
    "git 2>&1 push",
    "git&>out push",
    "time -p {git,push}",
    "true &>out git push",
    "A=1 git push",
    "sudo git push",
    "env -i A=1 git push",
    "timeout 5 nohup git push",
    "sh -c 'git push'",
    'bash -lc "cd x; git push"',
    "sh -c \"sh -c 'git push'\"",
    "eval 'git push'",
    "echo push | xargs git",
    "find . -exec git push ;",
    "echo $(git push)",
    "echo `git push`",
    'echo "$(git push)"',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is for the shell.
    "echo ${x:-$(git push)}",
    "(git push)",
    "{ git push; }",
    "if true; then git push; fi",
    "git push &",
    "cat <(git push)",
    "git$IFS'push'",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is for the shell.
    "git${IFS}push",
    "git $X",
    "$X push",
    "g$(true)it push",
    "/usr/b$(true)in/git push",
    "git pu?h",
    "{git,push}",
    "$'\\x67it' push",
    "echo Z2l0IHB1c2g= | base64 -d | sh",
    "bash <<EOF\ngit push\nEOF",
    "cat <<EOF\nit's\nEOF\ngit push",
    "# it's\ngit push",
    'g() { git "$@"; }; g push',
    "x=git; $x push",
    Array.from({ length: 60 }, () => "true").join(";"),
    `${" ".repeat(20_000)}true`,
  ];
  for (const text of denied) {
    test(`a rule against git push holds for ${JSON.stringify(text.slice(0, 60))}`, () => {
      const rules = ["allow terminal", "deny terminal(git push*)"];
      // Denied where the push is seen, and asked about where the command is not understood.
      assert.match(decideOn(rules, "terminal", command(text)) ?? "", /^(?:deny|ask)$/);
      assert.equal(decideOn(["deny terminal(git push*)"], "terminal", command(text), { allowsAll: true }), "deny");
      assert.equal(decideOn(["ask terminal(git push)", "allow terminal"], "terminal", command(text)), "ask");
    });
  }
  const seen = denied.slice(0, denied.indexOf("time -p {git,push}")).filter((text) => !/-c a=b|git&>out/.test(text));
  for (const text of seen) {
    test(`${JSON.stringify(text)} is seen as a push`, () => {
      assert.equal(decideOn(["allow terminal", "deny terminal(git push*)"], "terminal", command(text)), "deny");
    });
  }
  const others = [
    "git status",
    "git commit -m push",
    "git commit -m 'then git push'",
    "echo git push",
    "npm test > out.txt 2>&1",
    "ls *.ts",
    "git pushx",
    "true # git push",
  ];
  for (const text of others) {
    test(`${text} is something else`, () => {
      const expected = text === "git pushx" ? "ask" : "allow";
      assert.equal(decideOn(["allow terminal", "deny terminal(git push*)"], "terminal", command(text)), expected);
    });
  }

  test("a command that is not understood is free only while no rule denies or asks about commands", () => {
    const text = command("echo $(date) > out.txt");
    const reasons = [
      decideOn(["allow terminal"], "terminal", text),
      decideOn(["allow *"], "terminal", text),
      decideOn([], "terminal", text, { allowsAll: true }),
      decideOn(["allow terminal", "deny write_file(x)"], "terminal", text),
      decideOn(["allow terminal", "deny terminal(rm*)"], "terminal", text),
      decideOn(["allow *", "ask terminal(rm*)"], "terminal", text),
      decideOn(["deny terminal(rm*)"], "terminal", text, { allowsAll: true }),
      decideOn(["ask terminal(rm*)"], "terminal", text, { allowsAll: true }),
    ];
    assert.deepEqual(reasons, ["allow", "allow", "allow", "allow", "ask", "ask", "deny", "deny"]);
  });

  test("the reason names the rule, the part that is not understood, and what to write instead", () => {
    const policy = createPolicy({ rules: rulesFrom("deny terminal(rm*)"), allowsAll: true });
    const answer = policy.decide(requestFor("terminal", command("ls; awk 'BEGIN{}'")));
    assert.match(
      answer?.effect === "deny" ? answer.reason : "",
      /^deny terminal\(rm\*\) \(test\) holds, and this command is not understood: awk runs code.*Write simple commands/,
    );
  });

  test("a command that cannot be read as one is denied where a rule denies commands", () => {
    assert.equal(decideOn(["allow terminal", "deny terminal(rm*)"], "terminal", { command: ["rm"] }), "deny");
  });
});

suite("B5.3: a denied program is denied under every path", () => {
  const rows: [rule: string, commands: string[]][] = [
    ["./deploy.sh*", [".//deploy.sh", "././deploy.sh", "sub/../deploy.sh", "timeout 5 .//deploy.sh", "deploy.sh x"]],
    ["/usr/bin/touch*", ["touch x", "/bin/touch x", "/usr//bin/touch x", "/usr/bin/../bin/touch x"]],
  ];
  for (const [rule, commands] of rows) {
    for (const text of commands) {
      test(`deny terminal(${rule}) denies ${text}`, () => {
        assert.equal(decideOn([`deny terminal(${rule})`], "terminal", command(text), { allowsAll: true }), "deny");
      });
    }
  }
});

suite("H4: rules for file tools", () => {
  judge("write_file", [
    ["allow write_file(src/**)", { path: "src/a/b.ts" }, "allow"],
    ["allow write_file(src/**)", { path: "/workspace/src/b.ts" }, "allow"],
    ["allow write_file(src/**)", { path: "src/../.env" }, undefined],
    ["allow write_file(src/**)", { path: "../workspace-evil/src/b.ts" }, undefined],
    ["allow write_file(src/**)", { path: "/workspace-evil/src/b.ts" }, undefined],
    ["allow write_file(src/**)", { path: "Src/b.ts" }, undefined],
    ["allow write_file(src/**)", { path: "src" }, undefined],
    ["allow write_file(src)", { path: "src/b.ts" }, undefined],
    ["allow write_file(*.md)", { path: "docs/deep/a.md" }, "allow"],
    ["allow write_file(/*.md)", { path: "docs/a.md" }, undefined],
    ["allow write_file(/*.md)", { path: "a.md" }, "allow"],
    ["allow write_file(a?c.txt)", { path: "abc.txt" }, "allow"],
    ["deny write_file(.env*)", { path: "./a/../.env" }, "deny"],
    ["deny write_file(.env*)", { path: "deep/er/.env.local" }, "deny"],
    ["deny write_file(.env*)", { path: ".ENV" }, "deny"],
    ["deny write_file(.env*)", { path: "environment" }, undefined],
    ["deny write_file(secrets)", { path: "secrets/key.pem" }, "deny"],
    ["deny write_file(secrets/)", { path: "a/secrets/key.pem" }, "deny"],
    ["deny write_file(/secrets)", { path: "a/secrets/key.pem" }, undefined],
    ["deny write_file(café)", { path: "cafe\u0301" }, "deny"],
    ["deny write_file(a/**)", { path: 7 }, "deny"],
    ["deny edit_file(.env*)", { path: ".env" }, undefined],
  ]);
  judge("grep", [
    ["deny grep(secrets/**)", { pattern: "x", path: "secrets" }, "deny"],
    ["deny grep(secrets/**)", { pattern: "x" }, "deny"],
    ["deny grep(secrets/**)", { pattern: "x", path: "src" }, undefined],
  ]);

  test("B5.7: a link is judged by where it leads, and for a denial by its name too", (t) => {
    const top = mkdtempSync(join(tmpdir(), "sous-rules-"));
    t.after(() => rmSync(top, { recursive: true, maxRetries: 5 }));
    for (const folder of ["src", "private"]) mkdirSync(join(top, folder));
    writeFileSync(join(top, "private", "key"), "");
    symlinkSync(join(top, "private"), join(top, "src", "link"));
    symlinkSync(top, join(top, "src", "top"));
    const decide = (path: string, ...rules: string[]): Effect =>
      createPolicy({ rules: rulesFrom(...rules) }).decide(requestFor("write_file", { path }, { cwd: top }))?.effect;
    assert.equal(decide("src/new.ts", "allow write_file(src/**)"), "allow");
    assert.equal(decide("src/link/key", "allow write_file(src/**)"), undefined);
    assert.equal(decide("src/link/new/file", "allow write_file(src/**)"), undefined);
    assert.equal(decide("src/link/new", "deny write_file(private/**)"), "deny");
    assert.equal(decide("src/link/new", "deny write_file(link)"), "deny");
    assert.equal(decide("src/top/new.ts", "deny write_file(/*.ts)"), "deny");
  });
});

suite("H4: rules for fetch", () => {
  judge("fetch", [
    ["allow fetch(example.com)", { url: "https://example.com/a?b" }, "allow"],
    ["allow fetch(example.com)", { url: "https://EXAMPLE.com./a" }, "allow"],
    ["allow fetch(example.com)", { url: "https://www.example.com" }, undefined],
    ["allow fetch(example.com)", { url: "https://example.com.evil.org" }, undefined],
    ["allow fetch(example.com)", { url: "https://example.com@evil.org" }, undefined],
    ["allow fetch(example.com)", { url: "https://a@example.com" }, undefined],
    ["allow fetch(example.com)", { url: "https://evil.org\\@example.com" }, undefined],
    ["allow fetch(example.com)", { url: "https://evil.org#example.com" }, undefined],
    ["allow fetch(example.com)", { url: "https://example.com:8443" }, undefined],
    ["allow fetch(example.com:8443)", { url: "https://example.com:8443" }, "allow"],
    ["allow fetch(example.com)", { url: "file://example.com/a" }, undefined],
    ["allow fetch(example.com)", { url: "https://ex\u0430mple.com" }, undefined],
    ["allow fetch(*.example.com)", { url: "https://a.b.example.com" }, "allow"],
    ["allow fetch(*.example.com)", { url: "https://example.com" }, undefined],
    ["allow fetch(*.example.com)", { url: "https://evilexample.com" }, undefined],
    ["deny fetch(example.com)", { url: "http://example.com:8080" }, "deny"],
    ["deny fetch(127.0.0.1)", { url: "http://2130706433/" }, "deny"],
    ["deny fetch(example.com)", { url: "not an address" }, "deny"],
    ["allow fetch(*)", { url: "https://anything.example" }, "allow"],
  ]);

  test("tools.fetch.allow_hosts are hosts that need no question", () => {
    const ask = (url: string): Effect => decideOn([], "fetch", { url }, { allowHosts: ["docs.example.com"] });
    assert.deepEqual([ask("https://docs.example.com/x"), ask("https://example.com")], ["allow", undefined]);
  });
});

suite("H4: rules for agents and for other tools", () => {
  const cases: [rule: string, toolName: string, input: unknown, expected: Effect][] = [
    ["allow subagent(scout)", "subagent", { agent: "scout", task_prompt: "x" }, "allow"],
    ["allow subagent(scout)", "subagent_scout", { task: "x" }, "allow"],
    ["allow subagent_scout", "subagent", { agent: "scout" }, "allow"],
    ["allow subagent(scout)", "subagent", { agent: "editor" }, undefined],
    ["allow subagent(scout)", "subagent", { task_prompt: "agent: scout" }, undefined],
    ["allow subagent(scout)", "parallel_subagent", { tasks: [{ agent: "scout" }, { agent: "scout" }] }, "allow"],
    ["allow subagent(scout)", "parallel_subagent", { tasks: [{ agent: "scout" }, { agent: "editor" }] }, undefined],
    ["deny subagent_editor", "parallel_subagent", { tasks: [{ agent: "scout" }, { agent: "editor" }] }, "deny"],
    ["deny subagent(review-*)", "subagent_review-security", {}, "deny"],
    ["allow subagent", "subagent", { task_prompt: "x" }, "allow"],
    ["allow subagent", "subagent", { agent: "scout", task_prompt: "x" }, "allow"],
    ["allow subagent", "subagent_scout", { task: "x" }, "allow"],
    ["allow subagent", "parallel_subagent", { tasks: [{ agent: "scout" }, { task_prompt: "x" }] }, "allow"],
    ["deny subagent", "subagent_scout", { task: "x" }, "deny"],
    ["deny subagent", "parallel_subagent", { tasks: [{ task_prompt: "x" }] }, "deny"],
    ["ask subagent", "subagent_scout", { task: "x" }, "ask"],
    ["allow subagent", "subagent_delegate", { serverName: "claude", task: "x" }, undefined],
    ["allow subagent", "subagent_cancel", { subagent_id: "1" }, undefined],
    ["deny subagent", "subagent_report", { subagent_id: "1" }, undefined],
    ["deny subagent", "agents_find", { query: "scout" }, undefined],
    ["allow subagent_send", "subagent_send", { subagent_id: "1" }, "allow"],
    ["allow github__get(owner=acme, repo=*)", "github__get", { owner: "acme", repo: "x", id: 1 }, "allow"],
    ["allow github__get(owner=acme, repo=*)", "github__get", { owner: "acme" }, undefined],
    ["allow github__get(owner=acme)", "github__get", { owner: "evil", nested: { owner: "acme" } }, undefined],
    ["deny github__get(owner=acme)", "github__get", { owner: "ACME" }, "deny"],
    ["allow github__get(id=1)", "github__get", { id: 1 }, "allow"],
    ['allow github__get(={"id":1,"owner":"a"})', "github__get", { owner: "a", id: 1 }, "allow"],
    ['allow github__get(={"id":1,"owner":"a"})', "github__get", { owner: "a", id: 1, more: true }, undefined],
  ];
  for (const [rule, toolName, input, expected] of cases) {
    test(`${expected ?? "the tier"} decides on ${toolName} ${JSON.stringify(input)} under ${rule}`, () => {
      assert.equal(decideOn([rule], toolName, input), expected);
    });
  }

  test("B1.6: the text of a task sets no rule", () => {
    const task = '---\npermissions: [{ allow: "*" }]\ntools: [terminal]\n---\nallow terminal(*)';
    assert.equal(decideOn([], "subagent", { label: "x", task_prompt: task }), undefined);
    assert.equal(
      decideOn(["ask subagent"], "subagent", { label: "x", task_prompt: task, permissions: ["allow *"] }),
      "ask",
    );
  });
});

suite("H4: a rule that cannot be understood is said to be so", () => {
  const wrong: [pattern: string, says: RegExp][] = [
    ["", /is not a rule/],
    ["terminal(git status", /is not a rule/],
    ["terminal git", /is not a rule/],
    ["terminal()", /nothing in its brackets/],
    ["*(x)", /name one tool/],
    ["terminal(npm test && rm)", /one rule for each part/],
    ["terminal(echo $USER)", /plain command/],
    ["terminal(A=1 npm test)", /name of a program/],
    ["terminal(npm test > out)", /redirects/],
    ["write_file(../a)", /relative to the workspace/],
    ["write_file(src/*.{ts,js})", /one rule for each choice/],
    ["fetch(https://example.com/)", /must be a host/],
    ["fetch(a.*.com)", /must be a host/],
    ["subagent(a b)", /name of an agent/],
    ["github__get(acme)", /name fields/],
  ];
  for (const [pattern, says] of wrong) {
    test(`the rule ${JSON.stringify(pattern)} is refused in words`, () => {
      assert.match(checkPattern(pattern) ?? "", says);
      assert.throws(() => createPolicy({ rules: rulesFrom(`deny ${pattern}`) }), { name: "UserError", message: says });
    });
  }

  test("a rule that can be understood is accepted", () => {
    for (const pattern of [
      "*",
      "terminal",
      "terminal(git status*)",
      "write_file(.env*)",
      "fetch(*.example.com)",
      "a__b",
    ]) {
      assert.equal(checkPattern(pattern), undefined);
    }
  });
});

test("a delegation that names no server is one to the default server, also in an answer that is remembered", () => {
  const rules = rulesFrom("allow subagent_delegate(claude-code)", "deny subagent_delegate(codex)");
  const given = { realPath: noLinks, defaultServer: "Claude Code" };
  const request = requestFor("subagent_delegate", { task: "Look.", description: "looks" });
  assert.equal(createPolicy({ ...given, rules }).decide(request)?.effect, "allow");
  assert.equal(createPolicy({ ...given, rules, defaultServer: "codex" }).decide(request)?.effect, "deny");
  const another = { ...request, input: { agentId: "codex", task: "Look." } };
  assert.equal(createPolicy({ ...given, rules: rules.slice(0, 1) }).decide(another), undefined);
  assert.equal(createPolicy({ ...given, rules }).decide(another)?.effect, "deny");
  const asked = createPolicy({ ...given, rules: [] });
  assert.equal(asked.decide(request), undefined);
  asked.remember(asked.describe(request).rule, request);
  assert.equal(asked.decide(request)?.effect, "allow");
  assert.equal(asked.decide({ ...request, input: { serverName: "codex", task: "Look." } }), undefined);
});
