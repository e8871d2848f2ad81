/** Every setting by itself: what it takes, what it refuses, and which variable says the same. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import type { AgentServer, Configuration } from "../../../../src/app/config/configuration.ts";
import { configurationSchema } from "../../../../src/app/config/explain.ts";
import { ALL_SETTINGS, variableOf } from "../../../../src/app/config/settings.ts";
import type { McpServer } from "../../../../src/core/configuration.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { ConfigurationFolder } from "../../../support/app/config/configuration-files.ts";
import { DEFAULT_CONFIGURATION } from "../../../support/app/config/default-configuration.ts";

const folder = new ConfigurationFolder();
after(() => folder[Symbol.dispose]());

type Row = {
  /** Texts of YAML and what becomes of them; the last one of each can also be said by the variable. */
  good: [yaml: string, value: unknown][];
  bad: [yaml: string, message: RegExp][];
  read?: (configuration: Configuration) => unknown;
};

const wholes = (least: number, most: number | undefined, above: RegExp = /must be at most/): Row["bad"] => [
  [String(least - 1), least === 1 ? /must be greater than 0/ : new RegExp(`must be at least ${least}`)],
  ['"many"', /must be a whole number/],
  ["1.5", /must be a whole number/],
  [".nan", /must be a whole number/],
  ["[1]", /must be a whole number/],
  ...(most === undefined ? [] : [[String(most + 1), above] satisfies Row["bad"][number]]),
];
const addresses: Row["bad"] = [
  ["'http://['", /must be an address that begins with http/],
  ["ftp://example.com", /http/],
  ['"http://"', /http/],
  ["http://me:secret-word@example.com", /must not contain a name or a password/],
  ["5", /must be a text/],
];
const flags: Row["bad"] = [
  ["yes", /must be true or false/],
  ["1", /must be true or false/],
];
const times: Row["bad"] = [
  ["0", /must be greater than 0/],
  ["-1", /must be greater than 0/],
  ["5 minutes", /must be a time such as/],
  ["999999h", /must be at most/],
  [".inf", /must be at most/],
];

/** One that starts `claude-code-acp`. */
const server = (name: string, given: Partial<AgentServer>): AgentServer => ({
  name,
  command: "claude-code-acp",
  args: [],
  cwd: "/",
  env: {},
  defaultMode: undefined,
  model: undefined,
  timeoutMs: 1_800_000,
  maxCostUsd: undefined,
  origin: "user.yaml:1",
  ...given,
});

const mcp = (name: string, given: Pick<McpServer, "transport"> & Partial<McpServer>): McpServer => ({
  name,
  startTimeoutMs: 30_000,
  callTimeoutMs: 120_000,
  tools: undefined,
  deny: [],
  agents: undefined,
  isDisabled: false,
  scope: "user",
  origin: "user.yaml:1",
  ...given,
});

/** By key. A setting that is not here, or is here and is none, fails the first test. */
const TABLE: Record<string, Row> = {
  model: {
    good: [
      ["null", undefined],
      ["anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"],
    ],
    bad: [
      ["claude", /must be provider\/model/],
      ["external/claude", /cannot be an external agent/],
      ["/x", /must be provider\/model/],
      ["3", /must be a text/],
      ['"a/b\\nc"', /must be provider\/model/],
    ],
    read: ({ model }) => model,
  },
  "provider.base_url": {
    good: [["http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"]],
    bad: addresses,
    read: ({ provider }) => provider.baseUrl,
  },
  "provider.api_key_env": {
    good: [["MY_KEY", "MY_KEY"]],
    bad: [["sk-ant-123", /the name of a variable, not its value/]],
    read: ({ provider }) => provider.apiKeyEnv,
  },
  "provider.api_key_command": {
    good: [["pass show key", "pass show key"]],
    bad: [
      ['""', /a program with its arguments/],
      ["[pass, show]", /must be a text/],
    ],
    read: ({ provider }) => provider.apiKeyCommand,
  },
  "provider.timeout": {
    good: [
      ["90", 90_000],
      ["500ms", 500],
      ["2h", 7_200_000],
      ["5m", 300_000],
    ],
    bad: times,
    read: ({ provider }) => provider.timeout * 1000,
  },
  "provider.max_rate_wait": {
    good: [
      ["30m", 1_800_000],
      ["30", 30_000],
    ],
    bad: times,
    read: ({ provider }) => provider.maxRateWait * 1000,
  },
  "provider.call_timeout": {
    good: [
      ["45m", 2_700_000],
      ["30", 30_000],
    ],
    bad: times,
    read: ({ provider }) => provider.callTimeout * 1000,
  },
  "provider.max_retries": { good: [["0", 0]], bad: wholes(0, 20), read: ({ provider }) => provider.maxRetries },
  "provider.max_concurrent_calls": {
    good: [["1", 1]],
    bad: wholes(1, 1000),
    read: ({ provider }) => provider.maxConcurrentCalls,
  },
  "agent.max_turns": { good: [["1000", 1000]], bad: wholes(1, 1000), read: ({ agent }) => agent.maxTurns },
  "agent.budget": {
    good: [
      ["2", 2],
      ["$0.50", 0.5],
    ],
    bad: [
      ["0", /must be greater than 0/],
      ["2 EUR", /must be an amount/],
    ],
    read: ({ agent }) => agent.budget.costUsd,
  },
  "agent.max_tokens_total": {
    good: [["200000", 200_000]],
    bad: wholes(1, undefined),
    read: ({ agent }) => agent.budget.tokens,
  },
  "agent.timeout": {
    good: [
      ["90", 90_000],
      ["2m", 120_000],
    ],
    bad: times,
    read: ({ agent }) => agent.budget.durationMs,
  },
  "agent.conversation.max_tokens": {
    good: [["5000", 5000]],
    bad: wholes(1, undefined),
    read: ({ agent }) => agent.conversation.maxTokens,
  },
  "agent.conversation.min_retain_turns": {
    good: [["2", 2]],
    bad: wholes(1, 1000),
    read: ({ agent }) => agent.conversation.minRetainTurns,
  },
  "agent.conversation.prune_threshold": {
    good: [
      ["1", 1],
      ["0.5", 0.5],
    ],
    bad: [
      ["0", /must be greater than 0/],
      ["1.01", /must be at most 1/],
      ["half", /must be a number/],
    ],
    read: ({ agent }) => agent.conversation.pruneThreshold,
  },
  "agent.subagent.max_depth": {
    good: [
      ["1", 1],
      ["10", 10],
    ],
    bad: wholes(1, 10, /must be at most 10 \(allowed: 1–10\)/),
    read: ({ agent }) => agent.limits.maxDepth,
  },
  "agent.subagent.default_max_turns": {
    good: [["1000", 1000]],
    bad: wholes(1, 1000),
    read: ({ agent }) => agent.limits.defaultMaxTurns,
  },
  "agent.subagent.output_max_size": {
    good: [["1024", 1024]],
    bad: wholes(1024, undefined),
    read: ({ agent }) => agent.limits.outputMaxSize,
  },
  "agent.subagent.telemetry_enabled": {
    good: [["false", false]],
    bad: flags,
    read: ({ agent }) => agent.subagent.telemetryEnabled,
  },
  "agent.subagent.persistence_enabled": {
    good: [["false", false]],
    bad: flags,
    read: ({ agent }) => agent.subagent.persistenceEnabled,
  },
  "agent.subagent.persistence_path": {
    good: [
      ["~/runs.db", "/home/ada/runs.db"],
      ["/data/runs.db", "/data/runs.db"],
    ],
    bad: [["[]", /must be a text/]],
    read: ({ agent }) => agent.subagent.persistencePath,
  },
  "agent.subagent.max_executions": {
    good: [
      ["null", undefined],
      ["0", 0],
    ],
    bad: wholes(0, undefined),
    read: ({ agent }) => agent.limits.children.executions,
  },
  "agent.subagent.max_total_tokens": {
    good: [["1", 1]],
    bad: wholes(1, undefined),
    read: ({ agent }) => agent.limits.children.tokens,
  },
  "agent.subagent.max_total_time": {
    good: [
      ["90", 90_000],
      ["2m", 120_000],
    ],
    bad: times,
    read: ({ agent }) => agent.limits.children.durationMs,
  },
  "agent.subagent.max_total_cost": {
    good: [
      ["2", 2],
      ["$0.50", 0.5],
    ],
    bad: [
      ["0", /must be greater than 0/],
      ["-1", /must be greater than 0/],
      ["2 EUR", /must be an amount/],
      [".inf", /must be an amount/],
    ],
    read: ({ agent }) => agent.limits.children.costUsd,
  },
  "agent.subagent.max_concurrent": {
    good: [["1", 1]],
    bad: wholes(1, 1000),
    read: ({ agent }) => agent.limits.maxConcurrent,
  },
  "agent.subagent.on_full": {
    good: [["refuse", "refuse"]],
    bad: [["wait", /allowed: queue, refuse/]],
    read: ({ agent }) => agent.limits.onFull,
  },
  "agent.subagent.place": {
    good: [["children", "children"]],
    bad: [["everything", /allowed: asked, children/]],
    read: ({ agent }) => agent.limits.place,
  },
  "agent.subagent.summary": {
    good: [["never", "never"]],
    bad: [["true", /allowed: auto, always, never/]],
    read: ({ agent }) => agent.limits.summary,
  },
  "tools.terminal.timeout": { good: [["30s", 30_000]], bad: times, read: ({ tools }) => tools.terminal.timeout * 1000 },
  "tools.terminal.inert_variables": {
    good: [["[APP_ENV, DATABASE_URL]", ["APP_ENV", "DATABASE_URL"]]],
    bad: [
      ["APP_ENV", /must be a list/],
      ["[A=1]", /must be the name of a variable/],
      ["[1]", /must be the name of a variable/],
    ],
    read: ({ tools }) => tools.terminal.inertVariables,
  },
  "tools.fetch.allow_hosts": {
    good: [
      ['[Docs.Example.com, "*.example.org"]', ["docs.example.com", "*.example.org"]],
      ["[one.example, two.example]", ["one.example", "two.example"]],
    ],
    bad: [
      ["example.com", /must be a list/],
      ["[https://example.com]", /must be a host name/],
      ["[a/b]", /must be a host name/],
      ['["*"]', /must be a host name/],
      ["[1]", /must be a host name/],
    ],
    read: ({ tools }) => tools.fetch.allowHosts,
  },
  permissions: {
    good: [
      [
        '[{ allow: "terminal(git status*)" }, { ask: fetch }]',
        [
          { effect: "allow", pattern: "terminal(git status*)", origin: "user.yaml:1" },
          { effect: "ask", pattern: "fetch", origin: "user.yaml:1" },
        ],
      ],
    ],
    bad: [
      ["{ allow: x }", /must be a list of rules/],
      ["[x]", /must be a rule/],
      ["[{ allow: x, deny: y }]", /exactly one of allow, ask and deny/],
      ["[{}]", /exactly one of allow, ask and deny/],
      ["[{ alow: x }]", /permissions\[0\]\.alow is not known/],
      ["[{ allow: 3 }]", /must be a tool/],
      ['[{ deny: "rm -rf" }]', /must be a tool/],
      ['[{ deny: "terminal(x) and more" }]', /must be a tool/],
    ],
    read: ({ permissions }) => permissions,
  },
  "models.allow": {
    good: [
      ["[]", []],
      ['[openai/gpt-5, "ollama/*"]', ["openai/gpt-5", "ollama/*"]],
    ],
    bad: [
      ["openai/gpt-5", /must be a list/],
      ['["*"]', /must be provider\/model/],
      ['["*/*"]', /must be provider\/model/],
      ["[openai]", /must be provider\/model/],
      ["[external/claude]", /external agents \(external\/\) are not models/],
      ['["external/*"]', /external agents \(external\/\) are not models/],
      ['["openai/gpt-*"]', /must be provider\/model/],
      ["[OpenAI/gpt-5]", /must be provider\/model/],
      ["[openai/../x]", /must be provider\/model/],
      ["[1]", /must be provider\/model/],
    ],
    read: ({ models }) => models.allow,
  },
  "agents.also_read": {
    good: [
      ["[]", []],
      [
        '["~/.claude/agents", /srv/agents, "claude:~/team agents"]',
        ["~/.claude/agents", "/srv/agents", "claude:~/team agents"],
      ],
    ],
    bad: [
      ["~/.claude/agents", /must be a list/],
      ["[agents]", /must be a folder that begins with/],
      ["[../agents]", /must be a folder that begins with/],
      ['["codex:/srv/agents"]', /must be a folder that begins with/],
      ['["/srv/a\\nb"]', /must be a folder that begins with/],
      ["[1]", /must be a folder that begins with/],
    ],
    read: ({ agents }) => agents.alsoRead,
  },
  "agents.ignore_hooks": {
    good: [
      ["[]", []],
      ["[reviewer, .claude/agents/]", ["reviewer", ".claude/agents/"]],
    ],
    bad: [
      ["reviewer", /must be a list/],
      ['[""]', /must be the name of an agent, a file or a folder/],
      ["[1]", /must be the name of an agent, a file or a folder/],
    ],
    read: ({ agents }) => agents.ignoreHooks,
  },
  prices: {
    good: [
      ["{ ollama/llama3.2: { input: 0, output: 0 } }", { "ollama/llama3.2": { input: 0, output: 0 } }],
      [
        "{ a/b: { input: 0.5, output: 1.5, cache_read: 0.05, cache_write: 0.6 } }",
        { "a/b": { input: 0.5, output: 1.5, cachedInput: 0.05, cacheWrite: 0.6 } },
      ],
    ],
    bad: [
      ["[]", /must be prices by provider\/model/],
      ["{ llama: { input: 0, output: 0 } }", /must be the name of a model/],
      ["{ a/b: 3 }", /must have input and output/],
      ["{ a/b: { input: 1 } }", /must have input and output/],
      ["{ a/b: { input: -1, output: 0 } }", /must be 0 or more/],
      ["{ a/b: { input: free, output: 0 } }", /must be a number of US dollars/],
      ["{ a/b: { input: .inf, output: 0 } }", /must be a number of US dollars/],
      ["{ a/b: { input: 1, output: 0, cached: 1 } }", /is not known/],
    ],
    read: ({ prices }) => ({ ...prices }),
  },
  agent_servers: {
    good: [
      ["{ claude: { command: claude-code-acp, args: [] } }", { claude: server("claude", {}) }],
      [
        '{ "Claude Code": { type: custom, command: claude-code-acp, args: [--acp], env: { A: b }, default_mode: plan, default_model: opus, timeout: 5m, max_cost: $2 } }',
        {
          "Claude Code": server("Claude Code", {
            args: ["--acp"],
            env: { A: "b" },
            defaultMode: "plan",
            model: "opus",
            timeoutMs: 300_000,
            maxCostUsd: 2,
          }),
        },
      ],
      // As JetBrains writes it, and what an editor has installed: sous cannot start that.
      [
        "{ Junie: { command: claude-code-acp, use_idea_mcp: true }, gemini: { type: registry, favorite_models: [a] } }",
        { Junie: server("Junie", {}) },
      ],
    ],
    bad: [
      ["[x]", /servers by name/],
      ["{ claude: x }", /must have command/],
      ["{ claude: { args: [] } }", /must have command/],
      ["{ claude: { command: [x] } }", /must be a text/],
      ["{ claude: { command: x, url: y } }", /agent_servers\.claude\.url is not known/],
      ['{ " a": { command: x } }', /must be a name/],
      ['{ "a,b": { command: x } }', /must be a name/],
      ["{ claude: { type: custom } }", /must have command/],
      ["{ claude: { command: x, type: remote } }", /must be one of these words/],
      ["{ claude: { command: x, timeout: 2d } }", /must be at most 24h/],
      ["{ claude: { command: x, max_cost: 0 } }", /must be greater than 0/],
      ['{ "Claude Code": { command: x }, claude-code: { command: y } }', /has the same short name as Claude Code/],
    ],
    read: ({ agentServers }) => ({ ...agentServers }),
  },
  mcp_servers: {
    good: [
      ["{}", {}],
      [
        "{ one: { command: x, args: [y], env: { A: b } }, two: { url: http://x, type: http } }",
        {
          one: mcp("one", { transport: { type: "stdio", command: "x", args: ["y"], env: { A: "b" }, cwd: "/" } }),
          two: mcp("two", { transport: { type: "http", url: "http://x", headers: {} } }),
        },
      ],
      [
        "{ one: { command: [x, y], args: [z], type: local, environment: { A: b }, timeout: 5m, start_timeout: 5, enabled: false } }",
        {
          one: mcp("one", {
            transport: { type: "stdio", command: "x", args: ["y", "z"], env: { A: "b" }, cwd: "/" },
            ...{ callTimeoutMs: 300_000, startTimeoutMs: 5000, isDisabled: true },
          }),
        },
      ],
      [
        '{ "github.com/x/y": { url: https://x, headers: { A: b }, type: sse, includeTools: [a, "b*"], deny: [c], disabledTools: [d], agents: [sous] } }',
        {
          "github.com/x/y": mcp("github.com/x/y", {
            transport: { type: "sse", url: "https://x", headers: { A: "b" } },
            ...{ tools: ["a", "b*"], deny: ["c", "d"], agents: ["sous"] },
          }),
        },
      ],
      [
        "{ ms: { httpUrl: http://x, timeout: 60000 }, s: { serverUrl: http://x, timeout: 60, type: streamable-http } }",
        {
          ms: mcp("ms", { transport: { type: "http", url: "http://x", headers: {} }, callTimeoutMs: 60_000 }),
          s: mcp("s", { transport: { type: "http", url: "http://x", headers: {} }, callTimeoutMs: 60_000 }),
        },
      ],
    ],
    bad: [
      ["[x]", /servers by name/],
      ["{ one: x }", /must have command or url/],
      ["{ one: { args: [] } }", /must have command or url/],
      ["{ one: { command: x, args: y } }", /must be a list of texts/],
      ["{ one: { command: [] } }", /must be a text/],
      ["{ one: { command: x, env: { A: [1] } } }", /must be names with texts/],
      ["{ one: { url: x, type: ws } }", /must be stdio, http or sse/],
      ["{ one: { command: x, url: y } }", /mcp_servers\.one has command and url/],
      ["{ one: { command: x, httpUrl: y } }", /has command and url/],
      ["{ one: { command: x, type: http } }", /has the type http and no url/],
      ["{ one: { url: http://x, type: stdio } }", /has the type stdio and no command/],
      ["{ one: { comand: x, url: http://x } }", /mcp_servers\.one\.comand is not known/],
      ["{ one: { command: x, timeout: 0 } }", /must be more than 0 and at most 24h/],
      ["{ one: { command: x, timeout: 2d } }", /must be more than 0 and at most 24h/],
      ["{ one: { command: x, timeout: long } }", /must be a time such as/],
      ["{ one: { command: x, disabled: maybe } }", /must be true or false/],
      ['{ "a b": { command: x }, a_b: { command: y } }', /has the same short name as a b/],
      ['{ "\\e[31m": { command: x } }', /must be a name of letters/],
    ],
    read: ({ mcpServers }) => ({ ...mcpServers }),
  },
  mcp_variables: {
    good: [["[GITHUB_TOKEN, OTHER]", undefined]],
    bad: [
      ["GITHUB_TOKEN", /must be a list/],
      ["[ghp-123]", /must be the name of a variable/],
    ],
  },
  "metrics.port": {
    good: [
      ["9464", 9464],
      ["0", 0],
    ],
    bad: wholes(0, 65_535),
    read: ({ metrics }) => metrics.port,
  },
  "telemetry.otlp_endpoint": {
    good: [["http://127.0.0.1:4318", "http://127.0.0.1:4318"]],
    bad: addresses,
    read: ({ telemetry }) => telemetry.otlpEndpoint,
  },
  "telemetry.capture_content": {
    good: [["true", true]],
    bad: flags,
    read: ({ telemetry }) => telemetry.captureContent,
  },
};

/** `agent.max_turns` and `3` as one line of YAML. */
function yamlOf(key: string, value: string): string {
  const parts = key.split(".");
  return parts.length === 1
    ? `${key}: ${value}\n`
    : `${parts.join(": { ")}: ${value}${" }".repeat(parts.length - 1)}\n`;
}

test("E2: the table has every setting, and no others", () => {
  assert.deepEqual(Object.keys(TABLE).sort(), ALL_SETTINGS.map(({ key }) => key).sort());
});

suite("E3: each setting", () => {
  for (const [key, { good, bad, read }] of Object.entries(TABLE)) {
    test(`the setting ${key} takes what is allowed and says what is not`, async () => {
      for (const [yaml, value] of good) {
        const { configuration } = await folder.load({ user: yamlOf(key, yaml), env: { HOME: "/home/ada" } });
        if (read !== undefined) assert.deepEqual(read(configuration), value, yaml);
      }
      for (const [yaml, message] of bad) {
        const problems = await folder.problems({ user: yamlOf(key, yaml) });
        assert.equal(problems.length, 1, yaml);
        assert.match(problems[0]?.message ?? "", message, yaml);
        assert.ok(problems[0]?.message.startsWith(key), yaml);
        assert.ok(
          problems[0]?.fix !== "" && problems[0]?.location.kind === "file" && problems[0].location.line === 1,
          yaml,
        );
      }
    });
  }
});

suite("E1: the variable of each setting", () => {
  for (const setting of ALL_SETTINGS) {
    const name = variableOf(setting);
    const row = TABLE[setting.key];
    if (name === undefined || row?.read === undefined) continue;
    const { read } = row;
    test(`the variable ${name} says the same as the setting`, async () => {
      assert.equal(name, `SOUS_${setting.key.toUpperCase().replaceAll(".", "_")}`);
      const [yaml = "", value] = row.good.at(-1) ?? [];
      const env = { [name]: yaml.replaceAll(/[[\]]/g, ""), HOME: "/home/ada" };
      const { configuration, origins } = await folder.load({ env });
      assert.deepEqual(read(configuration), value);
      assert.deepEqual(origins.get(setting.key)?.origin, { layer: "variable", where: name });
    });
  }
});

test("E1: only rules, models, prices, agents and servers have no variable", () => {
  const without = ALL_SETTINGS.filter((setting) => variableOf(setting) === undefined).map(({ key }) => key);
  assert.deepEqual(without, [
    "permissions",
    "models.allow",
    "prices",
    "agents.also_read",
    "agents.ignore_hooks",
    "agent_servers",
    "mcp_servers",
  ]);
});

test("E2: nothing set is as the requirements say", async () => {
  const { configuration, warnings } = await folder.load({});
  assert.deepEqual(warnings, []);
  assert.deepEqual(configuration, DEFAULT_CONFIGURATION);
});

test("E1: the schema for editors is as it was promised; UPDATE_SNAPSHOTS=1 updates it", () => {
  const snapshots = join(import.meta.dirname, "../../../snapshots");
  assertGolden("config-schema.json", [JSON.stringify(configurationSchema(), undefined, 2)], snapshots);
});
