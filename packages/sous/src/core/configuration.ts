/** The settings of the command line once they are read, checked and merged: what `config/` makes and `cli/` uses. */

import type { ConversationLimits } from "./conversation.ts";
import type { Price } from "./usage.ts";

export type PermissionEffect = "allow" | "ask" | "deny";

/** One rule: `terminal(git status*)`, `write_file(.env*)`, `fetch(example.com)`, or a tool alone. */
export type PermissionRule = {
  readonly effect: PermissionEffect;
  readonly pattern: string;
  /** For people: the file and line, the flag or the answer it came from. */
  readonly origin: string;
  /** The folder that its paths are relative to, for a rule of a project; the workspace when unset. */
  readonly root?: string | undefined;
};

export type ProviderSettings = {
  readonly baseUrl: string | undefined;
  readonly apiKeyEnv: string | undefined;
  /** An argument list in one line; its standard output is the key. */
  readonly apiKeyCommand: string | undefined;
  /** Of silence. */
  readonly timeoutMs: number;
  /** Of one call, from its beginning to its end. */
  readonly callTimeoutMs: number;
  readonly maxRetries: number;
  readonly maxConcurrentCalls: number;
};

/** As in requirement E2; undefined is unlimited. */
export type SubagentSettings = {
  readonly maxDepth: number;
  readonly defaultMaxTurns: number;
  readonly outputMaxSize: number;
  readonly telemetryEnabled: boolean;
  readonly persistenceEnabled: boolean;
  readonly persistencePath: string | undefined;
  readonly maxExecutions: number | undefined;
  readonly maxTotalTokens: number | undefined;
  /** Seconds. */
  readonly maxTotalTime: number | undefined;
  readonly maxTotalCost: number | undefined;
  readonly maxConcurrent: number;
  readonly onFull: "queue" | "refuse";
  readonly summary: "auto" | "always" | "never";
};

/** An agent of others that is started as a program and speaks ACP: one entry of `agent_servers`. */
export type AgentServer = {
  /** As it is written there: `Claude Code`. */
  readonly name: string;
  /** A program in PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  /** Where the program is started. Its sessions work in the folder of the run. */
  readonly cwd: string;
  /** Besides the few variables that every program gets. */
  readonly env: Readonly<Record<string, string>>;
  /** The mode of its sessions; undefined is the agent's own. Only the user's own configuration has one. */
  readonly defaultMode: string | undefined;
  readonly model: string | undefined;
  /** How long one run of it may take. */
  readonly timeoutMs: number;
  /** USD that one prompt may cost. Only the user's own configuration has it. */
  readonly maxCostUsd: number | undefined;
  /** For people: the file and line it came from. */
  readonly origin?: string | undefined;
};

/** A server of tools that speaks MCP. */
export type McpServer = {
  readonly name: string;
  readonly transport: McpTransport;
  /** From its start, or the first request, to its list of tools. */
  readonly startTimeoutMs: number;
  /** Of one call. */
  readonly callTimeoutMs: number;
  /** Which of its tools are offered, as it names them; may hold `*`. Undefined is all. */
  readonly tools: readonly string[] | undefined;
  /** Which are not, in the same way. */
  readonly deny: readonly string[];
  /** The agents that get its tools, by name; `sous` is the root. Undefined is every agent that may use them. */
  readonly agents: readonly string[] | undefined;
  readonly isDisabled: boolean;
  /** Why it cannot be started as it is written, such as a variable that is not set; it is disabled then. For people. */
  readonly problem?: string | undefined;
  /** Whose file names it. */
  readonly scope: "user" | "project";
  /** For people: the file and line it came from. */
  readonly origin?: string | undefined;
};

/** Of a server whose entry does not say. */
export const MCP_TIMEOUTS = { startTimeoutMs: 30_000, callTimeoutMs: 120_000 } as const;

/** How a server is reached: a program that is started, or an address. `http` tries SSE when the server knows nothing newer. */
export type McpTransport =
  | {
      readonly type: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      /** Besides the few variables that every program gets. */
      readonly env: Readonly<Record<string, string>>;
      /** Undefined is the workspace. */
      readonly cwd: string | undefined;
    }
  | { readonly type: "http" | "sse"; readonly url: string; readonly headers: Readonly<Record<string, string>> };

/** What leaves the process besides logs. Only the user's own configuration has it. */
export type TelemetrySettings = {
  /** Of the endpoint for Prometheus; 0 is any free one, undefined is none. */
  readonly metricsPort: number | undefined;
  /** Where OTLP goes; undefined when only the variables of OpenTelemetry may say. */
  readonly otlpEndpoint: string | undefined;
  /** Spans contain messages, and the inputs and results of tools. */
  readonly capturesContent: boolean;
};

export type Configuration = {
  /** `provider/model`; undefined when none was chosen. */
  readonly model: string | undefined;
  readonly provider: ProviderSettings;
  readonly agent: {
    readonly maxTurns: number;
    /** US dollars for the whole tree; undefined is unlimited, as for the next two. */
    readonly budget: number | undefined;
    /** For the whole tree. */
    readonly maxTokensTotal: number | undefined;
    /** Seconds for the whole tree. */
    readonly timeout: number | undefined;
    readonly conversation: ConversationLimits;
    readonly subagent: SubagentSettings;
  };
  readonly tools: {
    readonly terminal: {
      readonly timeoutMs: number;
      /** Variables that a command may set and still be understood by rules. */
      readonly inertVariables: readonly string[];
    };
    readonly fetch: { readonly allowHosts: readonly string[] };
  };
  readonly permissions: readonly PermissionRule[];
  readonly models: { readonly allow: readonly string[] };
  /** US dollars per million tokens, by `provider/model`. */
  readonly prices: Readonly<Record<string, Price>>;
  /** About agent files. Only the user's own configuration has it. */
  readonly agents: {
    /** Folders, each with its dialect before a colon where its name does not say it. */
    readonly alsoRead: readonly string[];
    /** Names of agents, files or folders. */
    readonly ignoreHooks: readonly string[];
  };
  /** By name, those of the user first. */
  readonly agentServers: Readonly<Record<string, AgentServer>>;
  /** By name, those of the user first; those that are disabled among them. */
  readonly mcpServers: Readonly<Record<string, McpServer>>;
  readonly telemetry: TelemetrySettings;
};
