/** Judgements of many rules about many calls, the text a person is asked with, and what is wrong with a rule. */

import { test } from "node:test";
import { describeAction } from "../../../../src/runtime/rights/action-text.ts";
import { createPolicy } from "../../../../src/runtime/rights/policy.ts";
import { checkPattern } from "../../../../src/runtime/rights/rule-pattern.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { noLinks, requestFor, rulesFrom } from "../../../support/runtime/rights/requests.ts";

function compare(name: string, lines: readonly string[]): void {
  assertGolden(`judgements-${name}.txt`, lines, import.meta.dirname);
}

const command = (text: string, more: object = {}): [string, unknown] => ["terminal", { command: text, ...more }];
const path = (tool: string, given: string): [string, unknown] => [tool, { path: given }];

const CALLS: readonly [toolName: string, input: unknown][] = [
  command("git status"),
  command("git status --short"),
  command("git push"),
  command("git push --force origin main"),
  command("git   'push'"),
  command("git status && rm -rf dist"),
  command("rm -rf dist"),
  command("timeout 5 git push"),
  command("npx git push"),
  command("npm run build"),
  command("npm run build:all"),
  command("echo $(git push)"),
  command("git push > out.txt"),
  command("cat < .env"),
  command("ls *"),
  command("ls", { cwd: "packages/core" }),
  command("ls", { background: true }),
  command(""),
  ["terminal", {}],
  path("read_file", "a.ts"),
  path("read_file", "src/a.ts"),
  path("read_file", "src/deep/er/a.ts"),
  path("read_file", "./src/../.env"),
  path("read_file", ".ENV"),
  path("read_file", "/etc/passwd"),
  path("read_file", "../up"),
  path("read_file", "~/x"),
  path("write_file", "src/a.ts"),
  path("edit_file", "docs/a.md"),
  path("list_files", "src"),
  path("list_files", "."),
  ["grep", { pattern: "x", path: "src" }],
  ["grep", { pattern: "x" }],
  ["glob", { pattern: "src/**" }],
  ["read_file", { path: 5 }],
  ["fetch", { url: "https://example.com/a?b" }],
  ["fetch", { url: "https://www.example.com:8443/" }],
  ["fetch", { url: "http://EXAMPLE.com." }],
  ["fetch", { url: "not an address" }],
  ["subagent", { agent: "scout", task_prompt: "Look." }],
  ["subagent", { task_prompt: "Look." }],
  ["subagent_scout", { task_prompt: "Look." }],
  [
    "parallel_subagent",
    {
      tasks: [
        { agent: "scout", task_prompt: "a" },
        { agent: "judge", task_prompt: "b" },
      ],
    },
  ],
  ["parallel_subagent", { tasks: [{ task_prompt: "a" }] }],
  ["github__get_issue", { id: 1, repo: "a/b" }],
  ["github__get_issue", { id: "1", repo: "a/c", nested: { x: [1] } }],
  ["other", null],
  ["other", "text"],
  ["subagent_delegate", { serverName: "Claude Code", task: "Look.", description: "looks" }],
  ["subagent_delegate", { serverName: "claude-code", task: "Look.", description: "looks" }],
  ["subagent_delegate", { serverName: "codex", task: "Look.", description: "looks" }],
  ["subagent_delegate", { task: "Look.", description: "looks" }],
];

const PATTERNS = [
  "subagent_delegate",
  "subagent_delegate(Claude Code)",
  "subagent_delegate(external/claude-code)",
  "subagent_delegate(serverName=claude-code)",
  "subagent_delegate(claude*)",
  "subagent_delegate(*)",
  "*",
  "terminal",
  "terminal(*)",
  "terminal(git*)",
  "terminal(git *)",
  "terminal(git push*)",
  "terminal(git push)",
  "terminal(git push --force*)",
  "terminal(* push*)",
  "terminal(npm run build)",
  "terminal(rm*)",
  "terminal(ls)",
  "terminal(cd packages/*)",
  "terminal(=git push)",
  "terminal(=git   'push')",
  "read_file",
  "read_file(*)",
  "read_file(**)",
  "read_file(src/**)",
  "read_file(src/*.ts)",
  "read_file(**/a.ts)",
  "read_file(.env)",
  "read_file(**/.env*)",
  "read_file(/etc/**)",
  "read_file(=src/a.ts)",
  "write_file(src/**)",
  "edit_file(*.md)",
  "list_files(src)",
  "list_files(src/secret/**)",
  "grep(src/**)",
  "glob(**)",
  "fetch",
  "fetch(example.com)",
  "fetch(*.example.com)",
  "fetch(www.example.com:8443)",
  "subagent",
  "subagent(scout)",
  "subagent(s*)",
  "subagent_scout",
  "subagent_*",
  "parallel_subagent",
  "github__*",
  "github__get_issue(repo=a/b)",
  "github__get_issue(repo=a/*)",
  "github__get_issue(id=1)",
  "github__get_issue(id=1,repo=a/b)",
  "other",
];

test("each rule allows, asks about and denies exactly these calls", () => {
  const lines: string[] = [];
  for (const pattern of PATTERNS) {
    lines.push(pattern);
    for (const effect of ["allow", "ask", "deny"]) {
      const policy = createPolicy({ rules: rulesFrom(`${effect} ${pattern}`), realPath: noLinks });
      const met = CALLS.flatMap(([tool, input], index) => {
        const answer = policy.decide(requestFor(tool, input));
        return answer === undefined ? [] : `${index}${answer.effect === effect ? "" : ` ${answer.effect}`}`;
      });
      lines.push(`  ${effect}: ${met.join(", ") || "none"}`);
    }
  }
  compare("rules", lines);
});

test("each call is shown to a person exactly so, wide and narrow", () => {
  const strange: readonly [string, unknown][] = [
    command("echo a\u001b[2Jb\u202ec\u200bd"),
    command(`echo '${"x".repeat(200)}'`),
    command("cat <<'EOF'\none\n\n\n\n\ntwo\nEOF"),
    command(`echo a${" ".repeat(20)}b        c         d`),
    command("echo 漢字 é 😀"),
    ["write_file", { path: "a.txt", content: "y".repeat(3000) }],
    ["write_file", { path: "a.txt", content: "y".repeat(2000) }],
    ["edit_file", { path: "a.txt", old: "one\r\ntwo", new: "", all: true }],
  ];
  const lines = [...CALLS, ...strange].flatMap(([tool, input], index) =>
    [76, 30].flatMap((width) => [
      `${index} at ${width}`,
      ...JSON.stringify(describeAction(requestFor(tool, input), { realPath: noLinks, width }), undefined, 1)
        .split("\n")
        .map((line) => `  ${line}`),
    ]),
  );
  compare("shown", lines);
});

test("each judgement names what it rests on", () => {
  const rules = rulesFrom("allow terminal(git*)", "ask terminal(git push*)", "deny read_file(**/.env*)", "allow fetch");
  const policy = createPolicy({ rules, realPath: noLinks });
  const lines = CALLS.map(
    ([tool, input], index) => `${index} ${JSON.stringify(policy.explain(requestFor(tool, input)))}`,
  );
  compare("explained", lines);
});

test("a rule that cannot be read is told exactly so", () => {
  const wrong = [
    "",
    " ",
    "(",
    "terminal(",
    "terminal()",
    "terminal)",
    "terminal(a",
    "terminal(a) b",
    "ter minal",
    "terminal(echo $x)",
    "terminal(a && b)",
    "terminal(a > b)",
    "terminal(a | b)",
    "terminal(?)",
    "terminal([a])",
    "terminal(a*b*c)",
    "terminal(=)",
    "read_file()",
    "read_file(a/../b)",
    "read_file({a,b})",
    "read_file(a b)",
    "read_file(a\\b)",
    "read_file(!a)",
    "fetch(https://a.b)",
    "fetch(a b)",
    "fetch(a/b)",
    "fetch(*)",
    "fetch(*.)",
    "fetch(a:99999)",
    "subagent()",
    "subagent(a b)",
    "subagent(a,b)",
    "subagent_",
    "subagent_delegate()",
    "subagent_delegate(a,b)",
    "subagent_delegate(agentId=a)",
    "github__x(a)",
    "github__x(=)",
    "github__x(a=)",
    "github__x(=b)",
    "github__x(a=b,a=c)",
    "read_file(../**)",
    "é",
    `terminal(${"x".repeat(100)} && y)`,
    `terminal(${"x".repeat(5000)})`,
    `${"x".repeat(200)}(`,
    ...PATTERNS,
  ];
  compare(
    "wrong",
    wrong.map((pattern) => `${pattern.slice(0, 60)} → ${checkPattern(pattern) ?? "can be read"}`),
  );
});
