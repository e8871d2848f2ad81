/** Every setting, described once: files, variables, `config explain`, the schema for editors and the reference follow from this. */

import { DEFAULT_CONVERSATION } from "../core/conversation.ts";
import { AGENT_SERVERS_ABOUT, agentServers } from "./agent-servers.ts";
import { ALSO_READ_ABOUT, agentFolders, agentNames, IGNORE_HOOKS_ABOUT } from "./agent-settings.ts";
import { MCP_SERVERS_ABOUT, MCP_VARIABLES_ABOUT, mcpServers } from "./mcp-servers.ts";
import {
  address,
  hosts,
  model,
  modelList,
  permissions,
  prices,
  text,
  variableName,
  variableNames,
} from "./setting-types.ts";
import {
  duration,
  flag,
  fraction,
  type Given,
  money,
  type ProjectScope,
  type Setting,
  type ValueType,
  whole,
  word,
} from "./value-type.ts";

const DAY = 86_400;

export const SETTINGS = {
  model: optional("model", model(), "same-provider", "The model of the root agent, as provider/model."),
  baseUrl: optional(
    "provider.base_url",
    address(),
    "never",
    "Where the model is asked, instead of the usual address of its provider.",
  ),
  apiKeyEnv: optional(
    "provider.api_key_env",
    variableName(),
    "never",
    "The name of the variable that holds the key, instead of the usual one of the provider.",
  ),
  apiKeyCommand: {
    ...optional(
      "provider.api_key_command",
      text({ allowed: "a program with its arguments on one line", example: "pass show anthropic" }),
      "never",
      "A program whose standard output is the key, by its name in PATH or its absolute path, outside the project. It is started in /. No shell reads the line.",
    ),
    isSecret: true,
  },
  timeout: given(
    "provider.timeout",
    duration(DAY),
    120,
    "never",
    "How long a server may say nothing, before its answer or in the middle of it. A call that is alive may take longer.",
  ),
  callTimeout: given(
    "provider.call_timeout",
    duration(DAY),
    1200,
    "never",
    "How long one call of the model may take from its beginning to its end.",
  ),
  maxRetries: given(
    "provider.max_retries",
    whole({ least: 0, most: 20 }),
    4,
    "never",
    "How often a call that failed for a passing reason is made again.",
  ),
  maxConcurrentCalls: given(
    "provider.max_concurrent_calls",
    whole({ least: 1, most: 1000 }),
    16,
    "never",
    "How many calls of one model run at once, over all agents.",
  ),
  maxTurns: given("agent.max_turns", whole({ least: 1, most: 1000 }), 50, "lower", "How many turns the root may take."),
  budget: optional(
    "agent.budget",
    money(),
    "lower",
    "How many US dollars one run or chat may spend, its children included. The model needs a known price.",
  ),
  maxTokensTotal: optional(
    "agent.max_tokens_total",
    whole({ least: 1 }),
    "lower",
    "How many tokens one run or chat may spend, in and out, its children included.",
  ),
  runTimeout: optional(
    "agent.timeout",
    duration(365 * DAY),
    "lower",
    "How long one run or chat may work, its children included.",
  ),
  maxTokens: given(
    "agent.conversation.max_tokens",
    whole({ least: 1 }),
    DEFAULT_CONVERSATION.maxTokens,
    "lower",
    "How large a conversation may become before its oldest turns are dropped.",
  ),
  minRetainTurns: given(
    "agent.conversation.min_retain_turns",
    whole({ least: 1, most: 1000 }),
    DEFAULT_CONVERSATION.minRetainTurns,
    "lower",
    "How many of the last turns are always kept.",
  ),
  pruneThreshold: given(
    "agent.conversation.prune_threshold",
    fraction(1),
    DEFAULT_CONVERSATION.pruneThreshold,
    "lower",
    "The share of max_tokens at which pruning begins.",
  ),
  maxDepth: given(
    "agent.subagent.max_depth",
    whole({ least: 1, most: 10 }),
    3,
    "lower",
    "The deepest level that may exist; the root is 0.",
  ),
  defaultMaxTurns: given(
    "agent.subagent.default_max_turns",
    whole({ least: 1, most: 1000 }),
    10,
    "lower",
    "How many turns a child may take when neither the call nor its definition says; called as `subagent_NAME` it has 100 then.",
  ),
  outputMaxSize: given(
    "agent.subagent.output_max_size",
    whole({ least: 1024 }),
    4096,
    "lower",
    "How many bytes of a child's report its parent reads; the whole is stored.",
  ),
  telemetryEnabled: given(
    "agent.subagent.telemetry_enabled",
    flag(),
    true,
    "never",
    "Whether the lifecycle of children is logged.",
  ),
  persistenceEnabled: given("agent.subagent.persistence_enabled", flag(), true, "never", "Whether runs are stored."),
  persistencePath: optional(
    "agent.subagent.persistence_path",
    text({ allowed: "the path of a file", example: "~/runs/sous.db" }),
    "never",
    "The database of runs, instead of $XDG_DATA_HOME/sous/sous.db. A path beginning with ~/ is in the home directory.",
  ),
  maxExecutions: optional(
    "agent.subagent.max_executions",
    whole({ least: 0 }),
    "lower",
    "How many children may start in one chat or run.",
  ),
  maxTotalTokens: optional(
    "agent.subagent.max_total_tokens",
    whole({ least: 1 }),
    "lower",
    "How many tokens all children together may spend.",
  ),
  maxTotalTime: optional(
    "agent.subagent.max_total_time",
    duration(365 * DAY),
    "lower",
    "How long children may run, in sum. It counts while a child runs.",
  ),
  maxTotalCost: optional(
    "agent.subagent.max_total_cost",
    money(),
    "lower",
    "How many US dollars all children together may spend.",
  ),
  maxConcurrent: given(
    "agent.subagent.max_concurrent",
    whole({ least: 1, most: 1000 }),
    5,
    "lower",
    "How many children that are not waiting for children run at once; also the default of parallel_subagent.",
  ),
  onFull: given(
    "agent.subagent.on_full",
    word(["queue", "refuse"]),
    "queue",
    "free",
    "What happens to a child when no slot is free: it waits, or it is refused.",
  ),
  summary: given(
    "agent.subagent.summary",
    word(["auto", "always", "never"]),
    "auto",
    "free",
    "When a child is asked for a summary at its end.",
  ),
  terminalTimeout: given(
    "tools.terminal.timeout",
    duration(DAY),
    120,
    "lower",
    "How long a command of the terminal tool may take.",
  ),
  inertVariables: given(
    "tools.terminal.inert_variables",
    variableNames(),
    [],
    "never",
    "Variables that a command may set (NAME=value in front of it) and still be understood by rules, besides CI, NODE_ENV, PORT and the like.",
  ),
  allowHosts: given(
    "tools.fetch.allow_hosts",
    hosts(),
    [],
    "never",
    "Hosts that the fetch tool may ask without approval.",
  ),
  permissions: given(
    "permissions",
    permissions(),
    [],
    "add",
    "Rules that decide about a tool call before a person is asked. A project may only ask or deny.",
  ),
  allowModels: given(
    "models.allow",
    modelList(),
    [],
    "never",
    "Models that a call, or an agent of a project, may name besides those of the run's own provider: provider/model, or provider/*.",
  ),
  prices: given(
    "prices",
    prices(),
    {},
    "never",
    "US dollars per million tokens by model; each has input and output, and may have cache_read and cache_write. Where money is limited, a model needs a price here or in the table of sous.",
  ),
  alsoRead: given("agents.also_read", agentFolders(), [], "never", ALSO_READ_ABOUT),
  ignoreHooks: given("agents.ignore_hooks", agentNames(), [], "never", IGNORE_HOOKS_ABOUT),
  agentServers: given("agent_servers", agentServers(), {}, "add", AGENT_SERVERS_ABOUT),
  mcpServers: given("mcp_servers", mcpServers(), {}, "add", MCP_SERVERS_ABOUT),
  mcpVariables: given("mcp_variables", variableNames(), [], "never", MCP_VARIABLES_ABOUT),
  metricsPort: optional(
    "metrics.port",
    whole({ least: 0, most: 65_535 }),
    "never",
    "The port on 127.0.0.1 where Prometheus reads the metrics of a run or chat; 0 is any free port. Unset, there is none.",
  ),
  otlpEndpoint: optional(
    "telemetry.otlp_endpoint",
    address(),
    "never",
    "Where traces and metrics are sent, as OTLP over HTTP. It goes before OTEL_EXPORTER_OTLP_ENDPOINT; without both, nothing is sent.",
  ),
  captureContent: given(
    "telemetry.capture_content",
    flag(),
    false,
    "never",
    "Whether spans contain messages, and the inputs and results of tools: known secrets are taken out, and each is cut to 8 KB.",
  ),
} as const satisfies Readonly<Record<string, Setting>>;

export const ALL_SETTINGS: readonly Setting[] = Object.values(SETTINGS);

/** `SOUS_AGENT_SUBAGENT_MAX_DEPTH`; undefined for what no variable can say. */
export function variableOf({ key, type }: Setting): string | undefined {
  return type.fromText === undefined ? undefined : `SOUS_${key.replaceAll(".", "_").toUpperCase()}`;
}

function given<Value>(
  key: string,
  type: ValueType<Value>,
  fallback: NoInfer<Value>,
  project: ProjectScope,
  description: string,
): Given<Value> {
  return { key, description, type, default: fallback, project };
}

function optional<Value>(
  key: string,
  type: ValueType<Value>,
  project: ProjectScope,
  description: string,
): Setting<Value> & { readonly default: undefined } {
  return { key, description, type, default: undefined, project };
}
