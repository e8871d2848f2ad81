/** An agent as a Markdown file gives it, in any dialect, what was found wrong with the file, and the definition it becomes. */

import { type AgentDefinition, type AgentOptions, agent } from "../../../core/agent.ts";
import { oneLine, shortened } from "../../../core/clean-text.ts";
import type { PermissionRule } from "../../../core/configuration.ts";
import type { Effort, ProviderOptions, ToolChoice } from "../../../core/model-options.ts";
import type { Tool } from "../../../core/tool.ts";
import type { AgentFileCode } from "../problem.ts";
import type { YamlDocument } from "../yaml/document.ts";
import { deniedNames, denies, grants } from "./mcp-entries.ts";

/** The dialect of a file's keys and tool names; decided by the folder it lies in, never by what it says. */
export type AgentDialect = "sous" | "claude" | "gemini" | "opencode";

/** Project files may add agents and narrow rights; only the user's own may allow something. */
export type AgentScope = "user" | "project";

export type AgentSource = {
  /** The file as it is named to people. */
  readonly file: string;
  readonly text: string | Uint8Array;
  readonly dialect: AgentDialect;
  readonly scope: AgentScope;
  /** The name of an agent whose file does not name it; the name of the file when unset. */
  readonly name?: string | undefined;
  /** Says what is wrong with the pattern of a rule; undefined for a good one. */
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

/** The line of the file that says so, in its own words; 0 for what no line says. */
export type FieldOrigin = { readonly line: number; readonly text: string };
type Origins = Readonly<Record<string, FieldOrigin>>;

/** The values of keys. A key that a file does not have gives no field; a draft sets them by name. */
export type AgentFields = {
  readonly name: string;
  readonly nickname?: string;
  readonly description?: string;
  /** `provider/model`; `inherit` or undefined is the parent's. */
  readonly model?: string | undefined;
  readonly maxTurns?: number;
  readonly timeoutMs?: number;
  /** The largest answer of one call; where tokens or money are limited, this much is reserved for it. */
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly effort?: Effort;
  readonly toolChoice?: ToolChoice;
  /** Only the user's own files have them. Never shown: a value may be a secret. */
  readonly providerOptions?: ProviderOptions;
  /** True when it reads the notes of the project. */
  readonly notes?: boolean;
  /** JSON Schema of its answer. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** As a child it works in another process: `sous worker`. */
  readonly place?: "worker";
};

/** Fields that are options of `agent()` as they are. */
const PASSED_ON = [
  "nickname",
  "timeoutMs",
  "maxOutputTokens",
  "outputSchema",
  "temperature",
  "effort",
  "providerOptions",
  "place",
] as const satisfies (keyof AgentFields & keyof AgentOptions)[];

export type AgentFile = AgentFields & {
  readonly notes: boolean;
  readonly instructions: string;
  /** Exactly these tools of ours, and these entries for tools of MCP servers (`mcp-entries.ts`); undefined is what its parent passes on. */
  readonly tools: readonly string[] | undefined;
  /** Tools that neither the agent nor anything below it may use, in the same way. */
  readonly deny: readonly string[];
  /** The rules for the calls of this agent. Deny wins over ask, and ask over allow; together with other rules the stricter holds. */
  readonly rules: readonly PermissionRule[];
  /** A tool that is named here may only make calls that one of its patterns covers. */
  readonly only: readonly PermissionRule[];
  /** False: a person can run it, and no other agent can call it. */
  readonly callable?: false | undefined;
  /** True when it may have children of its own. */
  readonly delegate: boolean;
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

/** The things that the file cannot know. */
export type Passed = {
  /** The tools that a file may name. */
  readonly tools: readonly Tool[];
  /** True when agents may have children at all. */
  readonly delegates: boolean;
  /** Texts that they read besides their instructions: `whole` with the notes of the project. */
  readonly notes?: { readonly whole: string; readonly facts: string } | undefined;
  /** The rules of the file about single calls; undefined when it has none. */
  readonly rules: AgentDefinition["rules"];
};

export function toDefinition(file: AgentFile, { tools, delegates, notes, rules }: Passed): AgentDefinition {
  const names = tools.map(({ name }) => name);
  return agent({
    ...described(file, notes),
    model: file.model === "inherit" ? undefined : file.model,
    tools: file.tools === undefined ? undefined : tools.filter(({ name }) => grants(file, name)),
    deny: deniedNames(file, names),
    delegate: file.delegate && delegates,
    maxTurns: file.maxTurns,
    toolChoice: choiceAmong(file, tools),
    rules,
    fixed: true,
  });
}

/** Max length of the description in a request: its author may be a stranger, and some write a page. */
const MAX_DESCRIPTION = 1000;

/** The options that a file gives its agent, wherever it stands in the tree. */
export function described(file: AgentFile, notes: Passed["notes"]) {
  return {
    ...(Object.fromEntries(PASSED_ON.map((name) => [name, file[name]])) as Pick<AgentFile, (typeof PASSED_ON)[number]>),
    name: file.name,
    description: shortened(oneLine(file.description), MAX_DESCRIPTION) || undefined,
    instructions: file.instructions === "" ? undefined : file.instructions,
    notes: file.notes ? notes?.whole : notes?.facts,
  };
}

/** Undefined where it would force a tool that the agent does not have here: options of a command may take tools away. */
export function choiceAmong(file: AgentFile, tools: readonly Tool[]): ToolChoice | undefined {
  const { toolChoice } = file;
  const left = tools.filter(({ name }) => grants(file, name) && !denies(file, name));
  if (toolChoice === "required") return left.length > 0 || file.delegate ? toolChoice : undefined;
  if (typeof toolChoice !== "object") return toolChoice;
  return left.some(({ name }) => name === toolChoice.tool) ? toolChoice : undefined;
}
