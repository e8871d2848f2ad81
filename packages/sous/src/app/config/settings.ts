/** Every setting, described once: files, variables, `config explain`, the schema for editors and the reference follow from this. */

import type * as z from "zod";
import { DEFAULT_CONVERSATION } from "../../core/conversation.ts";
import type { Budget } from "../../core/limits.ts";
import { type DelegationLimit, LIMITS, TURNS } from "../../core/words/limits.ts";
import { AGENT_SERVERS_ABOUT, agentServers } from "./agent-servers.ts";
import { ALL_LIMITS, type LimitPath, type LimitSetting } from "./limit-settings.ts";
import { MCP_SERVERS_ABOUT, MCP_VARIABLES_ABOUT, mcpServers } from "./mcp-servers.ts";
import {
  address,
  agentFolders,
  agentNames,
  hosts,
  model,
  modelList,
  permissions,
  prices,
  text,
  variableName,
  variableNames,
} from "./setting-types.ts";
import { aboutOf, duration, flag, fraction, money, whole, word } from "./value-type.ts";

/**
 * A project's file may do this with a setting. `never`: nothing. `lower`: ask for less than the user. `free`: choose, since
 * it gives no rights. `add`: more rules or servers, under the conditions of resolve-settings.ts. `same-provider`: see there.
 */
export type ProjectScope = "never" | "lower" | "free" | "add" | "same-provider";

type Described<Value, Default extends Value | undefined> = {
  readonly type: z.ZodType<Value>;
  /** Undefined: unset until it is set; `null` in a file unsets it. */
  readonly default: Default;
  readonly project: ProjectScope;
  /** The bound that holds while it is unset: a project may not set more. */
  readonly bound?: number | undefined;
  readonly description: string;
  /** The value is never shown. */
  readonly isSecret?: true;
};

export type Setting<Value = unknown> = Described<Value, Value | undefined> & { readonly key: string };

/** A setting that always has a value. */
export type Given<Value> = Described<Value, Value> & { readonly key: string };

const DAY = 86_400;

const UNIT_TYPES: Readonly<Record<keyof Budget, () => z.ZodType<number>>> = {
  tokens: () => whole({ least: 1 }),
  costUsd: money,
  durationMs: () => duration(365 * DAY),
  executions: () => whole({ least: 0 }),
};

export const SETTINGS = {
  model: optional(model(), "same-provider", "The model of the root agent, as provider/model."),
  provider: {
    base_url: optional(address(), "never", "Where the model is asked, instead of the usual address of its provider."),
    api_key_env: optional(
      variableName(),
      "never",
      "The name of the variable that holds the key, instead of the usual one of the provider.",
    ),
    api_key_command: {
      ...optional(
        text({ allowed: "a program with its arguments on one line", example: "pass show anthropic" }),
        "never",
        "A program whose standard output is the key, by its name in PATH or its absolute path, outside the project. It is started in /. No shell reads the line.",
      ),
      isSecret: true,
    },
    timeout: given(
      duration(DAY),
      120,
      "never",
      "How long a server may say nothing, before its answer or in the middle of it. A call that is alive may take longer.",
    ),
    call_timeout: given(
      duration(DAY),
      1200,
      "never",
      "How long one call of the model may take from its beginning to its end.",
    ),
    max_rate_wait: given(
      duration(DAY),
      600,
      "never",
      "How long a call may be refused for the rate limit of the provider before it fails. Such a refusal is no failed attempt.",
    ),
    max_retries: given(
      whole({ least: 0, most: 20 }),
      4,
      "never",
      "How often a call that failed for a passing reason is made again.",
    ),
    max_concurrent_calls: given(
      whole({ least: 1, most: 1000 }),
      16,
      "never",
      "How many calls of one model run at once, over all agents.",
    ),
  },
  agent: {
    ...limitsIn("agent"),
    conversation: {
      max_tokens: given(
        whole({ least: 1 }),
        DEFAULT_CONVERSATION.maxTokens,
        "lower",
        "How large a conversation may become before its oldest turns are dropped.",
      ),
      min_retain_turns: given(
        whole({ least: 1, most: 1000 }),
        DEFAULT_CONVERSATION.minRetainTurns,
        "lower",
        "How many of the last turns are always kept.",
      ),
      prune_threshold: given(
        fraction(1),
        DEFAULT_CONVERSATION.pruneThreshold,
        "lower",
        "The share of max_tokens at which pruning begins.",
      ),
    },
    subagent: {
      ...limitsIn("agent.subagent"),
      telemetry_enabled: given(flag(), true, "never", "Whether the lifecycle of children is logged."),
      persistence_enabled: given(flag(), true, "never", "Whether runs are stored."),
      persistence_path: optional(
        text({ allowed: "the path of a file, or postgres://…", example: "~/runs/sous.db" }),
        "never",
        "The database of runs, instead of $XDG_DATA_HOME/sous/sous.db: a file, or the address of a Postgres database. A path beginning with ~/ is in the home directory.",
      ),
    },
  },
  tools: {
    terminal: {
      timeout: given(duration(DAY), 120, "lower", "How long a command of the terminal tool may take."),
      inert_variables: given(
        variableNames(),
        [],
        "never",
        "Variables that a command may set (NAME=value in front of it) and still be understood by rules, besides CI, NODE_ENV, PORT and the like.",
      ),
    },
    fetch: {
      allow_hosts: given(hosts(), [], "never", "Hosts that the fetch tool may ask without approval."),
    },
  },
  permissions: given(
    permissions(),
    [],
    "add",
    "Rules that decide about a tool call before a person is asked. A project may only ask or deny.",
  ),
  models: {
    allow: given(
      modelList(),
      [],
      "never",
      "Models that a call, or an agent of a project, may name besides those of the run's own provider: provider/model, or provider/*.",
    ),
  },
  prices: given(
    prices(),
    {},
    "never",
    "US dollars per million tokens by model; each has input and output, and may have cache_read and cache_write. Where money is limited, a model needs a price here or in the table of sous.",
  ),
  agents: {
    also_read: given(
      agentFolders(),
      [],
      "never",
      "Folders whose agent files are read besides your own, such as ~/.claude/agents. The name of a folder says which program's files they are; else write it before the path: claude:~/team/agents.",
    ),
    ignore_hooks: given(
      agentNames(),
      [],
      "never",
      "Agents of Claude Code whose hooks are ignored: names, files or folders. Hooks are never run; an agent that is not listed loses the tools that its hooks could refuse, one that is listed has them without those checks.",
    ),
  },
  agent_servers: given(agentServers(), {}, "add", AGENT_SERVERS_ABOUT),
  mcp_servers: given(mcpServers(), {}, "add", MCP_SERVERS_ABOUT),
  mcp_variables: given(variableNames(), [], "never", MCP_VARIABLES_ABOUT),
  metrics: {
    port: optional(
      whole({ least: 0, most: 65_535 }),
      "never",
      "The port on 127.0.0.1 where Prometheus reads the metrics of a run or chat; 0 is any free port. Unset, there is none.",
    ),
  },
  telemetry: {
    otlp_endpoint: optional(
      address(),
      "never",
      "Where traces and metrics are sent, as OTLP over HTTP. It goes before OTEL_EXPORTER_OTLP_ENDPOINT; without both, nothing is sent.",
    ),
    capture_content: given(
      flag(),
      false,
      "never",
      "Whether spans contain messages, and the inputs and results of tools: known secrets are taken out, and each is cut to 8 KB.",
    ),
  },
} as const;

export const ALL_SETTINGS: readonly Setting[] = flattened(SETTINGS, "");

function flattened(group: object, prefix: string): Setting[] {
  return Object.entries(group).flatMap(([name, each]: [string, object]) =>
    isSetting(each) ? [{ ...each, key: prefix + name }] : flattened(each, `${prefix}${name}.`),
  );
}

export function isSetting(each: object): each is Described<unknown, unknown> {
  return "project" in each;
}

/** `SOUS_AGENT_SUBAGENT_MAX_DEPTH`; undefined for what no variable can say. */
export function variableOf({ key, type }: Setting): string | undefined {
  return aboutOf(type)?.fromText === undefined ? undefined : `SOUS_${key.replaceAll(".", "_").toUpperCase()}`;
}

function given<Value>(
  type: z.ZodType<Value>,
  fallback: NoInfer<Value>,
  project: ProjectScope,
  description: string,
): Described<Value, Value> {
  return { description, type, default: fallback, project };
}

function optional<Value>(
  type: z.ZodType<Value>,
  project: ProjectScope,
  description: string,
): Described<Value, undefined> {
  return { description, type, default: undefined, project };
}

/** The limits of one group, by the last word of their keys. What they become is in `configuration.ts`. */
function limitsIn(group: string): object {
  const inside = ALL_LIMITS.filter(([, { key }]) => key.slice(0, key.lastIndexOf(".")) === group);
  return Object.fromEntries(
    inside.map(([path, setting]) => [setting.key.slice(group.length + 1), limitOf(path, setting)]),
  );
}

function limitOf(path: LimitPath, { about, most, perMessage }: LimitSetting): Described<unknown, unknown> {
  const name = path.slice(path.lastIndexOf(".") + 1);
  if (path === "maxTurns") return given(whole({ least: 1, most: TURNS.max }), TURNS.root, "lower", about);
  if (Object.hasOwn(UNIT_TYPES, name))
    return { ...optional(UNIT_TYPES[name as keyof Budget](), "lower", about), bound: perMessage };
  const row = LIMITS[name as DelegationLimit];
  if ("words" in row) return given(word<string>(row.words), row.default, "free", about);
  return given(whole({ least: row.min, most: most ?? row.max }), row.default, "lower", about);
}
