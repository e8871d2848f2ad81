/** A restriction that is not understood must not become full access: such an agent is not loaded. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { MODEL_ALIASES } from "../../../../src/app/config/agents/fields.ts";
import type { AgentDialect, AgentScope, ReadAgent } from "../../../../src/app/config/agents/file.ts";
import { readAgentFile } from "../../../../src/app/config/agents/read.ts";
import { PRICES } from "../../../../src/runtime/budget/prices.ts";
import { checkPattern } from "../../../../src/runtime/rights/rule-pattern.ts";

const DIALECTS: readonly AgentDialect[] = ["sous", "claude", "gemini", "opencode"];

function read(dialect: AgentDialect, front: string, scope: AgentScope = "project"): ReadAgent {
  const text = `---\n${dialect === "opencode" ? "" : "name: probe\n"}description: Probes.\n${front}\n---\nDo it.\n`;
  return readAgentFile({ file: "agents/probe.md", text, dialect, scope, checkRule: checkPattern });
}

const LOOK_LIKE_RESTRICTIONS = [
  "allowed_tools: [read_file]",
  "allowed-tools: Read",
  "allowedTools: [Read]",
  "tool: Read",
  "Tools: Read",
  "toolz: Read",
  "tols: Read",
  "disallowed_tools: Bash",
  "disallowed-tools: Bash",
  "disalowedTools: Bash",
  "excluded_tools: [Bash]",
  "permision: { edit: deny }",
  "permisions: { edit: deny }",
  "permission_mode: plan",
  "permissionmode: plan",
  "perms: readonly",
  "denied: [Bash]",
  "denny: [Bash]",
  "allow: [Read]",
  "readonly: true",
  "read_only: true",
  "read-only: true",
  "sandbox: strict",
  "sandboxed: true",
  "max_turn: 3",
  "max_steps: 3",
  "maxturns: 3",
  "MaxTurns: 3",
  "timeout_minutes: 3",
  "time_out: 3",
  "timeouts: 3",
  "network: off",
  "write_access: none",
  "restrict_to: docs",
  "policies: []",
  "budget_usd: 1",
  "require_approval: true",
  "isolated: true",
];

suite("C1: a key that looks like a restriction and is not understood keeps the agent from being loaded", () => {
  for (const dialect of DIALECTS) {
    for (const line of LOOK_LIKE_RESTRICTIONS) {
      test(`a file of ${dialect} is not loaded with ${line}`, () => {
        const { agent, problems } = read(dialect, line);
        assert.equal(agent, undefined);
        const errors = problems.filter(({ severity }) => severity === "error");
        assert.deepEqual(
          errors.map(({ code, line, column }) => `${code} ${line}:${column}`),
          [`SOUS-A004 ${dialect === "opencode" ? "3:1" : "4:1"}`],
        );
      });
    }
  }
});

suite("a restriction whose value is not understood keeps the agent from being loaded", () => {
  const VALUES: readonly [AgentDialect, string][] = [
    ["sous", "tools: 5"],
    ["sous", "tools: true"],
    ["sous", "tools: { read: true }"],
    ["sous", "tools: [read_file, 5]"],
    ["sous", "deny: { terminal: true }"],
    ["sous", "deny: [termnal]"],
    ["sous", "deny: [shell]"],
    ["sous", "max_turns: ten"],
    ["sous", "max_turns: -1"],
    ["sous", "max_turns: 1.5"],
    ["sous", "max_turns: 1001"],
    ["sous", "max_turns:"],
    ["sous", "timeout: 0"],
    ["sous", "timeout: -5m"],
    ["sous", "timeout: 5 parsecs"],
    ["sous", "delegate: maybe"],
    ["sous", "permissions: { deny: terminal }"],
    ["sous", "permissions: [deny terminal]"],
    ["sous", "permissions: [{ forbid: terminal }]"],
    ["sous", "permissions: [{ deny: termnal }]"],
    ["sous", 'permissions: [{ deny: "terminal(a; b)" }]'],
    ["sous", 'permissions: [{ deny: "read_file({a,b})" }]'],
    ["sous", "tools: [fetch(example.com)]"],
    ["claude", "tools: { Read: true }"],
    ["claude", "disallowedTools: Bsah"],
    ["claude", "disallowedTools: [Bash, Wrtie]"],
    ["claude", "permissionMode: readonly"],
    ["claude", "permissionMode: [plan]"],
    ["claude", "maxTurns: many"],
    ["claude", "hooks: ./check.sh"],
    ["claude", "hooks: { PreToolUse: [{ hooks: [] }] }"],
    ["claude", 'hooks: { PreToolUse: [{ matcher: "*" }] }'],
    ["claude", 'hooks: { PreToolUse: [{ matcher: "Bash.*" }] }'],
    ["claude", "hooks: { PermissionRequest: [{ matcher: Edit|Nonsense }] }"],
    ["claude", 'tools: "Read, Bash(git log | sh:*)"'],
    ["gemini", "tools: { read_file: true }"],
    ["gemini", "timeout_mins: soon"],
    ["gemini", "kind: distant"],
    ["opencode", "tools: [read]"],
    ["opencode", "tools: { bash: no thanks }"],
    ["opencode", "permission: never"],
    ["opencode", "permission: [deny]"],
    ["opencode", "permission: { edit: false }"],
    ["opencode", "permission: { bash: { '*': nope } }"],
    ["opencode", "permission: { bassh: deny }"],
    ["opencode", "permission: { webfech: ask }"],
    ["opencode", "steps: none"],
    ["opencode", "mode: secondary"],
  ];
  for (const [dialect, line] of VALUES) {
    test(`a file of ${dialect} is not loaded with ${line}`, () => {
      const { agent, problems } = read(dialect, line);
      assert.equal(agent, undefined);
      assert.ok(problems.some(({ severity, fix }) => severity === "error" && fix !== ""));
    });
  }
});

suite("other keys that are not understood are told, and the agent is loaded", () => {
  const KEYS = ["colour: blue", "author: somebody", "version: 2", "icon: star"];
  for (const dialect of DIALECTS) {
    for (const line of KEYS) {
      test(`a file of ${dialect} is loaded and told of ${line}`, () => {
        const { agent, problems } = read(dialect, line);
        assert.equal(agent?.name, "probe");
        assert.equal(problems.filter(({ severity }) => severity === "warning").length, 1);
      });
    }
  }
  test("the warning names the key that was meant", () => {
    assert.match(read("sous", "colour: blue").problems[0]?.fix ?? "", /color/);
    assert.match(read("sous", "maxTurns: 3").problems[0]?.fix ?? "", /max_turns/);
    assert.match(read("claude", "max_turns: 3").problems[0]?.fix ?? "", /maxTurns/);
  });
});

suite("B4.3: a permission that a project gives itself is ignored", () => {
  const LINES: readonly [AgentDialect, string][] = [
    ["sous", 'permissions: [{ allow: "terminal(rm*)" }]'],
    ["claude", "permissionMode: bypassPermissions"],
    ["claude", "permissionMode: acceptEdits"],
    ["opencode", "permission: allow"],
    ["opencode", "permission: { bash: allow }"],
    ["opencode", 'permission: { bash: { "*": ask, "rm *": allow } }'],
    ["opencode", 'permission: { bash: { "*": deny, "rm *": allow } }'],
    ["opencode", "tools: { bash: true }"],
  ];
  for (const [dialect, line] of LINES) {
    test(`a project allows nothing in a file of ${dialect}: ${line}`, () => {
      const { agent } = read(dialect, line);
      assert.ok(agent !== undefined);
      assert.deepEqual(
        agent.rules.filter(({ effect }) => effect === "allow"),
        [],
      );
    });
  }
  test("a call that the user allows in a file of his own is allowed", () => {
    const { agent } = read("sous", 'permissions: [{ allow: "terminal(git status*)" }]', "user");
    assert.deepEqual(agent?.rules, [
      { effect: "allow", pattern: "terminal(git status*)", origin: "agents/probe.md:4" },
    ]);
  });
});

suite("B4.6: the front matter of strangers", () => {
  const bomb = `a: &a [${"x,".repeat(9)}x]\n${"bcdefghi"
    .split("")
    .map((name, index) => `${name}: &${name} [${`*${"abcdefghi"[index]},`.repeat(9)}*${"abcdefghi"[index]}]`)
    .join("\n")}`;
  const HOSTILE: Record<string, string> = {
    "an alias bomb": bomb,
    "a tag": "tools: !!js/function 'function () {}'",
    "5 MB of keys": "k: v\n".repeat(1_000_000),
    "a thousand levels": `tools: ${"[".repeat(1000)}${"]".repeat(1000)}`,
    "the same key twice": "tools: [read_file]\ntools: [terminal]",
    "a key that would change all objects": "__proto__: { tools: [terminal] }",
    "half a list": "tools: [read_file",
  };
  for (const [what, front] of Object.entries(HOSTILE)) {
    test(`front matter with ${what} is refused in bounded time and with its line`, () => {
      const started = process.cpuUsage();
      const { agent, problems } = read("sous", front);
      assert.equal(agent, undefined);
      assert.ok(problems.length >= 1 && (problems[0]?.line ?? 0) >= 1);
      const { user, system } = process.cpuUsage(started);
      // What is opened up takes hours, or all memory.
      assert.ok(user + system < 20_000_000, `${user + system} µs`);
    });
  }
  test("a text of more than 64 KB is refused", () => {
    const text = `---\nname: long\n---\n${"x".repeat(64 * 1024 + 1)}`;
    const { agent, problems } = readAgentFile({ file: "long.md", text, dialect: "sous", scope: "user" });
    assert.equal(agent, undefined);
    assert.equal(problems.length, 1);
  });
  test("an agent without a name is refused", () => {
    for (const name of ["", " ", "<agent-name>", "{{name}}"]) assert.equal(named(name), undefined, name);
  });

  test("an agent with a name that the runtime needs gets another one", () => {
    for (const name of [
      "spawn",
      "delegate",
      "wait",
      "cancel",
      "list",
      "send",
      "report",
      "sous",
      "subagent",
      " report ",
    ])
      assert.equal(named(name), `${name.trim()}-agent`);
  });
});

test("an unknown key is shown whole up to 60 characters, and cut behind them", () => {
  const said = (key: string) => read("sous", `${key}: 1`).problems.map(({ message }) => message);
  const key = "q".repeat(60);
  assert.deepEqual(said(key), [`the key "${key}" is not understood and has no effect`]);
  assert.deepEqual(said(`${key}z`), [`the key "${key}..." is not understood and has no effect`]);
});

test("short names of models stand for models whose price is known", () => {
  for (const model of Object.values(MODEL_ALIASES)) {
    const [provider = "", name = ""] = model.split("/");
    assert.ok(PRICES[provider]?.[name] !== undefined, model);
  }
});

suite("of what is not understood a message repeats the beginning", () => {
  const long = "xy".repeat(80);
  const messages = (dialect: AgentDialect, front: string) =>
    read(dialect, front).problems.map(({ message }) => message);
  const ROWS: readonly [AgentDialect, front: string, expected: RegExp][] = [
    ["sous", `model: ${long}`, new RegExp(`^the model "${long.slice(0, 60)}" is not known`)],
    ["sous", `${long}: 1`, new RegExp(`"${long.slice(0, 60)}\\.\\.\\."`)],
    ["sous", `${long.slice(0, 61)}: 1`, new RegExp(`"${long.slice(0, 60)}\\.\\.\\."`)],
    ["sous", `${long.slice(0, 60)}: 1`, new RegExp(`"${long.slice(0, 60)}"`)],
    [
      "sous",
      `permissions: [{ deny: "${long}" }]`,
      new RegExp(`^the rule "${long.slice(0, 80)}" names no tool of sous$`),
    ],
    [
      "opencode",
      `permission: { edit: "${long}" }`,
      new RegExp(`^edit: found "${long.slice(0, 59)} instead of a permission$`),
    ],
  ];
  for (const [dialect, front, expected] of ROWS) {
    test(`a file of ${dialect} with ${JSON.stringify(front.slice(0, 40))} is told the mistake in words`, () => {
      const said = messages(dialect, front);
      assert.ok(
        said.some((message) => expected.test(message)),
        said.join("\n"),
      );
    });
  }

  test("a nickname is on one line and has at most 100 characters", () => {
    const nickname = (text: string) => read("sous", `nickname: ${JSON.stringify(text)}`).agent?.nickname;
    assert.equal(nickname("the \n\t scout"), "the scout");
    assert.equal(nickname(long), long.slice(0, 100));
  });
});

function named(name: string): string | undefined {
  const text = `---\nname: ${JSON.stringify(name)}\n---\nDo it.\n`;
  return readAgentFile({ file: "agents/x.md", text, dialect: "sous", scope: "user" }).agent?.name;
}

suite("front matter that is not YAML", () => {
  const LOST = [
    "- tools: Read",
    "**tools:** Read",
    "* `tools`: Read",
    "\u00a0tools: Read",
    "\ufefftools: Read",
    "\uff1a tools\uff1a Read",
    "> disallowedTools: Bash",
    "1. **permissionMode**: plan",
    "?tools: Read",
  ];
  for (const line of LOST)
    test(`a restriction is not read as part of a text: ${JSON.stringify(line)}`, () => {
      const { agent, problems } = readAgentFile({
        file: "agents/probe.md",
        text: `---\nname: probe\ndescription: Use it. Example: this\n${line}\n---\nDo it.\n`,
        dialect: "claude",
        scope: "project",
      });
      assert.equal(agent, undefined);
      assert.match(problems[0]?.message ?? "", /looks like a setting and stands inside description/);
    });

  for (const end of ["\u2028", "\u2029", "\u0085", "\v", "\f"])
    test(`a line that ends for editors only hides no restriction: ${JSON.stringify(end)}`, () => {
      const fronts = [
        `description: One${end}tools: Read`,
        `tools: Read${end}description: It may: Write, Edit`,
        `description: One # two${end}tools: Read`,
        `description: "One${end}  tools:Read"`,
      ];
      for (const front of fronts) {
        const { agent } = readAgentFile({
          file: "agents/probe.md",
          text: `---\nname: probe\n${front}\n---\nDo it.\n`,
          dialect: "claude",
          scope: "project",
        });
        assert.equal(agent, undefined, front);
      }
    });

  test("text behind the end of the document is not left out", () => {
    for (const dialect of DIALECTS) assert.equal(read(dialect, "...\nmax_turns: 1\nsteps: 1").agent, undefined);
  });

  test("words that only look like a setting stay text", () => {
    const text = "---\nname: probe\ndescription: Use it: now\n\n- Context: a test\n  user: hi: there\n---\nDo it.\n";
    assert.ok(readAgentFile({ file: "agents/probe.md", text, dialect: "claude", scope: "project" }).agent);
  });
});

test("a permission that lost its indentation keeps an agent from being loaded", () => {
  for (const line of [
    "bash: deny",
    "edit: ask",
    "write: false",
    "bash: { '*': deny }",
    "task: deny",
    "\u00a0bash: deny",
  ])
    assert.equal(read("opencode", `permission:\n${line}`).agent, undefined, line);
  assert.ok(read("opencode", "task: Write the tests.").agent);
});
