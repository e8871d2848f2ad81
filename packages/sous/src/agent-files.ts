/** The tools of the command line and the agents of files, for programs: with the programs and the variables of this machine. */

import { stat } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import type { AgentDialect, AgentProblem } from "./app/config/agents/file.ts";
import { toDefinition } from "./app/config/agents/file.ts";
import { dialectOf } from "./app/config/agents/folders.ts";
import { loadAgentFiles } from "./app/config/agents/load.ts";
import { openPrograms } from "./app/process/programs.ts";
import { builtInTools as allTools } from "./app/tools/built-in.ts";
import type { AgentDefinition } from "./core/agent.ts";
import { UserError } from "./core/errors.ts";
import { nearest } from "./core/nearest.ts";
import { ABOVE_0, kindOf, listOf, type OptionKinds, TEXT, TEXTS, withFunctions, wordOf } from "./core/option-kinds.ts";
import { checkOptions } from "./core/options.ts";
import type { Tool } from "./core/tool.ts";
import type { BuiltInToolName } from "./core/words/tools.ts";
import { systemHost } from "./machine/host.ts";
import { gitFoldersOf } from "./runtime/rights/command-reading.ts";
import { fileRules } from "./runtime/rights/policy.ts";
import { checkPattern } from "./runtime/rights/rule-pattern.ts";

/** The choice of tools, and the folder they work in. */
export type BuiltInToolsOptions = {
  /** The workspace that files cannot leave; the working directory of the run when unset. */
  readonly root?: string | undefined;
  /** Only these; all when unset. */
  readonly only?: readonly BuiltInToolName[] | undefined;
  /** The time that one command of `terminal` may take; 120,000 when unset. */
  readonly terminalTimeoutMs?: number | undefined;
  /** Hosts that `fetch` may be redirected to without a question. */
  readonly allowHosts?: readonly string[] | undefined;
};

const TOOLS_OPTIONS: OptionKinds<BuiltInToolsOptions> = {
  root: TEXT,
  // The names are checked against those that there are.
  only: kindOf(TEXTS.wants, TEXTS.takes, TEXTS.found),
  terminalTimeoutMs: ABOVE_0,
  allowHosts: TEXTS,
};

/**
 * The tools of the command line under the same rights: `write_file`, `edit_file`, `terminal` and `fetch` ask before they run, and
 * without `approve` they are refused. Throws a `UserError` for a name that no tool has.
 */
export function builtInTools(options: BuiltInToolsOptions = {}): Tool[] {
  checkOptions("builtInTools()", options, TOOLS_OPTIONS);
  const { root, only, terminalTimeoutMs, allowHosts } = options;
  const { environment } = systemHost();
  const programs = openPrograms({ environment });
  const gitFolders = (command: string) => gitFoldersOf(command, { home: environment.HOME });
  const tools = allTools({ root, programs, terminalTimeoutMs, environment, allowHosts, gitFolders });
  if (only === undefined) return tools;
  const names = tools.map(({ name }) => name);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const meant = nearest(unknown, names);
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    throw new UserError(`No built-in tool is called ${JSON.stringify(unknown)}${hint} (there are ${names.join(", ")})`);
  }
  return tools.filter(({ name }) => only.some((each) => each === name));
}

/** The folder of agent files, and what their agents may use. */
export type LoadAgentsOptions = {
  readonly folder: string;
  /** The dialect of the files' keys and tool names; by default from the name of the folder (`.claude/agents`), else ours. */
  readonly dialect?: AgentDialect | undefined;
  /** The tools that files may name, by our names; the built-in ones when unset. */
  readonly tools?: readonly Tool[] | undefined;
};

const LOAD_OPTIONS: OptionKinds<LoadAgentsOptions> = {
  folder: TEXT,
  dialect: wordOf("sous", "claude", "gemini", "opencode"),
  tools: listOf("tools", withFunctions<Tool>("execute")),
};

/** Agents from files, and what was found wrong with the files. */
export type AgentsFromFiles = {
  /** Can be called by others. A file with an error has none. */
  readonly agents: readonly AgentDefinition[];
  /** Are only run as roots: those that opencode calls `primary`. */
  readonly primary: readonly AgentDefinition[];
  readonly problems: readonly AgentProblem[];
};

/**
 * Reads a folder of agent files as the command line does. What a file denies, asks about or limits holds here too: it is in the
 * `tools`, `deny` and `rules` of its definition. The folder counts as the user's own, so a file may also allow something.
 * Throws a `UserError` when there is no such folder.
 */
export async function loadAgents(given: string | LoadAgentsOptions): Promise<AgentsFromFiles> {
  const options: LoadAgentsOptions = typeof given === "string" ? { folder: given } : given;
  checkOptions("loadAgents()", options, LOAD_OPTIONS);
  const { folder, dialect, tools = builtInTools() } = options;
  if (folder === undefined) throw new UserError("loadAgents() needs folder, the path of a folder of agent files");
  const path = resolve(folder);
  const isFolder = await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!isFolder) throw new UserError(`There is no folder of agent files at ${path}`);
  const { HOME = "" } = systemHost().environment;
  const reading = { home: isAbsolute(HOME) ? HOME : undefined };
  const { agents, problems } = await loadAgentFiles({
    userFolders: [{ path, dialect: dialect ?? dialectOf(path) }],
    projectFiles: [],
    checkRule: checkPattern,
  });
  const define = (isCallable: boolean): AgentDefinition[] =>
    agents
      .filter(({ callable = true }) => callable === isCallable)
      .map((file) => toDefinition(file, { tools, delegates: true, rules: fileRules(file, reading) }));
  return { agents: define(true), primary: define(false), problems };
}
