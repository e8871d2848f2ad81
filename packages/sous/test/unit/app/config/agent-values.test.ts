/** Single values of agent files: which are refused and with which words, and what a restriction takes away. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { AgentDialect, AgentScope, ReadAgent } from "../../../../src/app/config/agents/file.ts";
import { readAgentFile } from "../../../../src/app/config/agents/read.ts";
import { OUR_TOOLS } from "../../../../src/app/config/agents/tools.ts";
import { checkPattern } from "../../../../src/runtime/rights/rule-pattern.ts";

function readText(dialect: AgentDialect, text: string, scope: AgentScope = "project"): ReadAgent {
  return readAgentFile({ file: "agents/probe.md", text, dialect, scope, checkRule: checkPattern });
}

function read(dialect: AgentDialect, front: string, scope: AgentScope = "project"): ReadAgent {
  return readText(dialect, `---\ndescription: Probes.\n${front}\n---\nDo it.\n`, scope);
}

function said({ problems }: ReadAgent): string[] {
  return problems.map(
    ({ severity, code, line, column, message }) => `${severity} ${code} ${line}:${column} ${message}`,
  );
}

function rulesOf({ agent }: ReadAgent): string[] | undefined {
  return agent?.rules.map(({ effect, pattern }) => `${effect} ${pattern}`);
}

function onlyOf({ agent }: ReadAgent): string[] | undefined {
  return agent?.only.map(({ pattern }) => pattern);
}

suite("a value of the wrong kind keeps an agent from being loaded, and the message says what belongs there", () => {
  const ROWS: readonly [AgentDialect, front: string, expected: string][] = [
    ["sous", "name: 5", "error SOUS-A003 3:7 the name of an agent is text"],
    ["sous", "notes: maybe", "error SOUS-A003 3:8 notes is true or false"],
    ["sous", "output_schema: [text]", "error SOUS-A003 3:16 output_schema is a JSON Schema"],
    ["opencode", "disable: maybe", "error SOUS-A003 3:10 disable is true or false"],
  ];
  for (const [dialect, front, expected] of ROWS) {
    test(`the value in a file of ${dialect} is refused: ${front}`, () => {
      const found = read(dialect, front);
      assert.equal(found.agent, undefined);
      assert.deepEqual(said(found), [expected]);
    });
  }

  test("front matter that is a list keeps an agent from being loaded", () => {
    const found = readText("sous", "---\n- name\n- description\n---\nDo it.\n");
    assert.equal(found.agent, undefined);
    assert.deepEqual(said(found), ["error SOUS-A002 2:1 the front matter is not a list of `key: value`"]);
  });
});

suite("model: external/NAME is an agent of agent_servers", () => {
  const servers = ["Claude Code", "codex"];
  const withModel = (model: string, known: readonly string[] | undefined = servers): ReadAgent => {
    const text = `---\ndescription: Probes.\nmodel: ${model}\n---\nDo it.\n`;
    return readAgentFile({ file: "agents/probe.md", text, dialect: "sous", scope: "project", servers: known });
  };

  test("a model names an agent server by its configured name, or by its short name", () => {
    for (const model of ["external/Claude Code", "external/claude-code"])
      assert.equal(withModel(model).agent?.model, "external/claude-code");
    assert.equal(withModel("external/codex").agent?.model, "external/codex");
  });

  test("an agent server that is not known is an error with its line and the known names", () => {
    const found = withModel("external/gemini");
    assert.equal(found.agent, undefined);
    assert.deepEqual(said(found), [
      'error SOUS-A003 3:8 there is no agent server "external/gemini"; known are external/claude-code, external/codex',
    ]);
    assert.deepEqual(said(withModel("external/gemini", [])), [
      'error SOUS-A003 3:8 there is no agent server "external/gemini"; none is configured',
    ]);
    assert.equal(withModel('"external/"').agent, undefined);
  });

  test("any agent server is taken where the configuration is not known, as when a file is reviewed", () => {
    const text = "---\ndescription: Probes.\nmodel: external/gemini\n---\nDo it.\n";
    assert.equal(readText("claude", text).agent?.model, "external/gemini");
  });
});

test("an empty value of a switch of opencode says nothing", () => {
  const found = read("opencode", "disable:");
  assert.deepEqual([found.agent?.name, said(found)], ["probe", []]);
});

test("a description has at most 8192 characters", () => {
  const described = (length: number) => readText("sous", `---\ndescription: ${"d".repeat(length)}\n---\nDo it.\n`);
  assert.equal(described(8192).agent?.description?.length, 8192);
  assert.equal(described(8193).agent, undefined);
  assert.equal(said(described(8193))[0], "error SOUS-A003 2:14 description is longer than 8192 characters");
});

suite("a text that is something else is left out, and the message says what was found", () => {
  const ROWS: readonly [value: string, kind: string][] = [
    ["[a, b]", "a list"],
    ["{ a: b }", "a map"],
    ["5", "a number"],
    ["true", "a boolean"],
  ];
  for (const [value, kind] of ROWS) {
    test(`a text that is ${kind} is left out`, () => {
      const found = read("sous", `nickname: ${value}`);
      assert.deepEqual([found.agent?.name, found.agent?.nickname], ["probe", undefined]);
      assert.deepEqual(said(found), [`warning SOUS-A003 3:11 nickname is text; found ${kind}`]);
    });
  }
});

test("a rule that allows and is not understood is told, and the agent is loaded without it", () => {
  const found = read("sous", 'permissions: [{ allow: "terminal(a; b)" }]', "user");
  assert.deepEqual(rulesOf(found), []);
  assert.match(said(found).join("\n"), /^warning SOUS-A006 3:\d+ .*$/);
});

suite("a list of tools that are denied", () => {
  test("a list of denied tools may be a star for all of them", () => {
    const { agent } = read("sous", 'deny: "*"');
    assert.deepEqual(agent?.deny, [...OUR_TOOLS, "mcp__*"]);
  });

  test("a list of denied tools may name the tool for children, which then wins over the permission to have them", () => {
    const { agent } = read("sous", "delegate: true\ndeny: [subagent]");
    assert.deepEqual([agent?.delegate, agent?.origins.fields.delegate], [false, { line: 4, text: "subagent" }]);
  });

  test("a denied path of more than three stars denies the folder before the first of them", () => {
    const denied = (path: string) => rulesOf(read("claude", `disallowedTools: [Write(${path})]`));
    assert.deepEqual(denied("docs/a*b*c*d*e"), ["deny write_file(docs/**)"]);
    assert.deepEqual(denied("a*b*c*d*e"), ["deny write_file(**)"]);
    assert.equal(denied("a*b*c*d")?.length, 8);
  });
});

test("a hook that can refuse children takes them away", () => {
  const front = 'tools: [Read, Task]\nhooks: { PreToolUse: [{ matcher: "Task|Bash" }] }';
  const { agent } = read("claude", front);
  assert.deepEqual([agent?.delegate, agent?.deny], [false, ["terminal"]]);
  assert.equal(read("claude", "tools: [Read, Task]").agent?.delegate, true);
});

suite("permissions of opencode for parts of what a tool does", () => {
  test("permissions before a statement about every call are kept only when they restrict", () => {
    const closed = read("opencode", 'permission: { bash: { "git *": allow, "*": deny } }');
    assert.deepEqual([closed.agent?.deny, onlyOf(closed), rulesOf(closed)], [["terminal"], [], []]);
    const open = read("opencode", 'permission: { bash: { "rm *": deny, "mv *": ask, "*": allow } }', "user");
    assert.deepEqual(rulesOf(open), ["allow terminal", "deny terminal(rm *)", "ask terminal(mv *)"]);
  });

  test("permissions close again what an exception has opened", () => {
    const found = read("opencode", 'permission: { bash: { "*": deny, "git *": allow, "git push*": deny } }');
    assert.deepEqual(onlyOf(found), ["terminal(git *)"]);
    assert.deepEqual(rulesOf(found), ["deny terminal(git push*)"]);
  });

  const NO_PATTERN = "fetch cannot be limited by a pattern here: it is left out";
  test("permissions that open a tool without patterns leave it denied, and say so", () => {
    const found = read("opencode", 'permission: { webfetch: { "*": deny, "https://a.example/*": allow } }');
    assert.deepEqual([found.agent?.deny, onlyOf(found)], [["fetch"], []]);
    assert.deepEqual(said(found), [`warning SOUS-A006 3:38 ${NO_PATTERN}`]);
    assert.deepEqual(said(read("opencode", "permission: { webfetch: deny }")), []);
  });

  test("permissions that deny a part of a tool without patterns deny all of it, and say so", () => {
    const found = read("opencode", 'permission: { webfetch: { "*": ask, "https://a.example/*": deny } }');
    assert.deepEqual([found.agent?.deny, rulesOf(found)], [["fetch"], ["ask fetch"]]);
    assert.deepEqual(found.agent?.origins.deny.fetch, { line: 3, text: "webfetch https://a.example/*: deny" });
    assert.deepEqual(said(found), [`warning SOUS-A006 3:37 ${NO_PATTERN}`]);
  });

  test("permissions that ask about a part of a tool without patterns ask about all of it", () => {
    const found = read("opencode", 'permission: { grep: { "*": allow, "secret*": ask } }');
    assert.deepEqual([found.agent?.deny, rulesOf(found), said(found)], [[], ["ask grep"], []]);
  });

  test("permissions for an unknown tool are told, and the agent is loaded", () => {
    const found = read("opencode", "permission: { telescope: allow, submarine: deny }");
    assert.deepEqual([found.agent?.name, found.agent?.deny, rulesOf(found)], ["probe", [], []]);
    assert.deepEqual(said(found), [
      "warning SOUS-A006 3:15 sous has no tool telescope: it is left out",
      "warning SOUS-A006 3:33 sous has no tool submarine: it is left out",
    ]);
  });
});

suite("how a model is asked", () => {
  const asking = ({ agent }: ReadAgent) => {
    const { temperature, effort, toolChoice, providerOptions } = agent ?? {};
    return JSON.parse(JSON.stringify({ temperature, effort, toolChoice, providerOptions }));
  };

  const READ: readonly [AgentDialect, front: string, expected: object][] = [
    [
      "sous",
      "temperature: 0.2\neffort: high\ntool_choice: required",
      { temperature: 0.2, effort: "high", toolChoice: "required" },
    ],
    ["sous", 'temperature: "0.2"', { temperature: 0.2 }],
    ["sous", "temperature: 0\neffort: None", { temperature: 0, effort: "none" }],
    ["sous", "tool_choice: grep", { toolChoice: { tool: "grep" } }],
    ["sous", "tool_choice: { tool: grep }", { toolChoice: { tool: "grep" } }],
    ["sous", "temperature:\neffort:\ntool_choice:\nprovider_options:", {}],
    ["claude", "effort: max", { effort: "max" }],
    ["gemini", "temperature: 2", { temperature: 2 }],
    ["opencode", "temperature: 0.1\nreasoningEffort: xhigh", { temperature: 0.1, effort: "xhigh" }],
    ["opencode", "variant: low", { effort: "low" }],
    ["opencode", "options:\n  reasoningEffort: low", { effort: "low" }],
  ];
  for (const [dialect, front, expected] of READ) {
    test(`the option of a model in a file of ${dialect} is refused: ${JSON.stringify(front)}`, () => {
      const found = read(dialect, front);
      assert.deepEqual(asking(found), expected);
      assert.deepEqual(said(found), []);
    });
  }

  for (const value of ["Bash", "nothing", "false", "[grep]", "{ tool: grep, more: 1 }", "{ type: tool }"]) {
    test(`tool_choice: ${value} may be meant as a restriction, so the agent is not loaded`, () => {
      const found = read("sous", `tool_choice: ${value}`, "user");
      assert.equal(found.agent, undefined);
      assert.deepEqual(said(found), ["error SOUS-A003 3:14 tool_choice is auto, none, required or a tool of sous"]);
    });
  }

  const WARNED: readonly [AgentDialect, front: string, message: string][] = [
    ["sous", "temperature: hot", "3:14 temperature is a number from 0 to 2, so this one has no effect"],
    ["sous", "temperature: 7", "3:14 temperature is a number from 0 to 2, so this one has no effect"],
    ["gemini", "temperature: -1", "3:14 temperature is a number from 0 to 2, so this one has no effect"],
    ["sous", "temperature: .nan", "3:14 temperature is a number from 0 to 2, so this one has no effect"],
    [
      "claude",
      "effort: 7",
      "3:9 effort is one of none, minimal, low, medium, high, xhigh, max, so this one has no effect",
    ],
    [
      "sous",
      "tools: [grep]\ntool_choice: glob",
      "4:14 tool_choice names glob, which the agent does not have, so it has no effect",
    ],
  ];
  for (const [dialect, front, message] of WARNED) {
    test(`${dialect}: ${JSON.stringify(front)} is a warning`, () => {
      const found = read(dialect, front);
      assert.deepEqual(said(found), [`warning SOUS-A003 ${message}`]);
      assert.notEqual(found.agent, undefined);
    });
  }

  test("an effort that is almost one of them is suggested", () => {
    assert.deepEqual(
      read("sous", "effort: hihg").problems.map(({ fix }) => fix),
      ["did you mean high?"],
    );
  });

  test("options that opencode hands to a provider have no effect besides the effort", () => {
    const found = read("opencode", "options:\n  reasoningEffort: low\n  store: true");
    assert.deepEqual(asking(found), { effort: "low" });
    assert.deepEqual(said(found), [
      "warning SOUS-A005 3:1 options has no effect here: options of the provider are not passed on",
    ]);
  });

  test("provider_options count in a file of the user, and never in one of a project", () => {
    const front = "provider_options:\n  anthropic:\n    mcpServers: [{ type: url, url: https://example.org, name: x }]";
    const own = read("sous", front, "user");
    assert.deepEqual(said(own), []);
    assert.deepEqual(Object.keys(own.agent?.providerOptions ?? {}), ["anthropic"]);
    assert.doesNotMatch(JSON.stringify(own.agent?.origins), /example/, "the values are not shown");
    const project = read("sous", front);
    assert.equal(project.agent?.providerOptions, undefined);
    assert.deepEqual(said(project), [
      "warning SOUS-A007 3:1 provider_options has no effect in a file of a project: such options can send what the agent reads elsewhere",
    ]);
    for (const dialect of ["claude", "gemini", "opencode"] as const)
      assert.equal(read(dialect, front, "user").agent?.providerOptions, undefined, dialect);
  });

  test("provider_options that are not options by provider keep the agent from being loaded", () => {
    for (const [value, message] of [
      ["[a]", "provider_options must be an object by provider, such as { openai: { … } }"],
      ["{ openai: fast }", "provider_options: openai must be an object of options"],
    ]) {
      const found = read("sous", `provider_options: ${value}`, "user");
      assert.equal(found.agent, undefined);
      assert.deepEqual(said(found), [`error SOUS-A003 3:19 ${message}`]);
    }
  });
});
