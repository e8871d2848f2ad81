/** An agent as a Markdown file gives it, in any dialect, and what was found wrong with the file. */

import type { PermissionRule } from "../../core/configuration.ts";
import type { Effort, ProviderOptions, ToolChoice } from "../../core/model-options.ts";
import type { AgentFileCode } from "../../core/problem.ts";
import type { YamlDocument } from "../yaml/document.ts";

/** Whose keys and tool names a file uses; decided by the folder it lies in, never by what it says. */
export type AgentDialect = "sous" | "claude" | "gemini" | "opencode";

/** Project files may add agents and narrow rights; only the user's own may allow something. */
export type AgentScope = "user" | "project";

export type AgentSource = {
  /** As it is named to people. */
  readonly file: string;
  readonly text: string | Uint8Array;
  readonly dialect: AgentDialect;
  readonly scope: AgentScope;
  /** Of an agent whose file does not name it; the name of the file when unset. */
  readonly name?: string | undefined;
  /** What is wrong with the pattern of a rule; undefined for a good one. */
  readonly checkRule?: ((pattern: string) => string | undefined) | undefined;
  /** The names in `agent_servers`, for `model: external/NAME`; undefined when they are not known. */
  readonly servers?: readonly string[] | undefined;
  /** The names in `mcp_servers` and `.mcp.json`; undefined when they are not known. */
  readonly mcpServers?: readonly string[] | undefined;
  /** The setting `agents.ignore_hooks`: names of agents, and files and folders as they are named to people. */
  readonly ignoreHooks?: readonly string[] | undefined;
};

/** An `error` keeps the agent from being loaded. */
export type AgentProblem = {
  readonly code: AgentFileCode;
  readonly file: string;
  readonly severity: "error" | "warning";
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly fix: string;
};

/** Which line of the file says so, in its own words; 0 for what no line says. */
export type FieldOrigin = { readonly line: number; readonly text: string };
export type Origins = Readonly<Record<string, FieldOrigin>>;

export type AgentFile = {
  readonly name: string;
  readonly nickname: string | undefined;
  readonly description: string | undefined;
  readonly instructions: string;
  /** Exactly these tools of ours, and these entries for tools of MCP servers (`mcp-entries.ts`); undefined is what its parent passes on. */
  readonly tools: readonly string[] | undefined;
  /** Tools that neither the agent nor anything below it may use, in the same way. */
  readonly deny: readonly string[];
  /** For the calls of this agent. Deny wins over ask, and ask over allow; together with other rules the stricter holds. */
  readonly rules: readonly PermissionRule[];
  /** A tool that is named here may only make calls that one of its patterns covers. */
  readonly only: readonly PermissionRule[];
  /** `provider/model`; `inherit` or undefined is the parent's. */
  readonly model: string | undefined;
  readonly maxTurns: number | undefined;
  readonly timeoutMs: number | undefined;
  /** The largest answer of one call; where tokens or money are limited, this much is reserved for it. */
  readonly maxOutputTokens: number | undefined;
  readonly temperature?: number | undefined;
  readonly effort?: Effort | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  /** Of the user's own files only. Never shown: a value may be a secret. */
  readonly providerOptions?: ProviderOptions | undefined;
  /** False: a person can run it, and no other agent can call it. */
  readonly callable?: false | undefined;
  /** Whether it may have children of its own. */
  readonly delegate: boolean;
  /** Whether it reads the notes of the project. */
  readonly notes: boolean;
  /** JSON Schema of its answer. */
  readonly outputSchema: Readonly<Record<string, unknown>> | undefined;
  readonly file: string;
  readonly dialect: AgentDialect;
  readonly scope: AgentScope;
  readonly origins: { readonly tools: Origins; readonly deny: Origins; readonly fields: Origins };
};

export type ReadAgent = { readonly agent: AgentFile | undefined; readonly problems: readonly AgentProblem[] };

/** The two halves of an agent file: the settings between the dashes, and the text below them. */
export type FrontMatter = {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly at: YamlDocument["at"];
  readonly body: string;
};
