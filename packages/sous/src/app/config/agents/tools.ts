/** The names that tools have in each dialect, and which of ours they are. */

import { childTools, TOOL_ROWS, toolRow } from "../../../core/words/tools.ts";
import type { AgentDialect } from "./file.ts";
import { normalKey } from "./known-keys.ts";
import { EVERY_MCP_TOOL, mcpEntry } from "./mcp-entries.ts";

/** The built-in tools of the command line. */
export const OUR_TOOLS: readonly string[] = TOOL_ROWS.map(([name]) => name);

/** Tools that ask before they run. */
export const ASKING_TOOLS: readonly string[] = [
  ...OUR_TOOLS.filter((name) => toolRow(name)?.tier === "confirm"),
  EVERY_MCP_TOOL,
];
/** Tools that change something, or may: what a server does is not known. `fetch` is not among them. */
export const CHANGING_TOOLS: readonly string[] = [
  ...OUR_TOOLS.filter((name) => toolRow(name)?.effect !== "read"),
  EVERY_MCP_TOOL,
];

/** The meaning of a name: a tool of ours or of MCP servers, the right to have children, a tool that only the other program has, or nothing. */
export type ToolMeaning = { tool: string } | { mcp: string } | "children" | "elsewhere" | "unknown";

export function meaningOf(name: string, dialect: AgentDialect): ToolMeaning {
  const names = NAMES[dialect];
  const ours = Object.hasOwn(names, name) ? names[name] : undefined;
  if (ours !== undefined) return ours === CHILDREN ? "children" : { tool: ours };
  const mcp = mcpEntry(name, dialect);
  if (mcp !== undefined) return { mcp };
  if (ELSEWHERE[dialect].includes(name) || FOREIGN.test(name)) return "elsewhere";
  return "unknown";
}

/** Every name that means something in a dialect, for suggestions. */
export function namesOf(dialect: AgentDialect): string[] {
  return [...Object.keys(NAMES[dialect]), ...ELSEWHERE[dialect]];
}

/** True when a word is the name of a tool in any dialect, however it is spelled. */
export function isToolWord(word: string): boolean {
  return DIALECTS.some((dialect) => namesOf(dialect).some((name) => normalKey(name) === normalKey(word)));
}

const DIALECTS: readonly AgentDialect[] = ["sous", "claude", "gemini", "opencode"];

const CHILDREN = "(children)";
/** Tools of plugins, and names that only begin like those of servers. */
const FOREIGN = /^(mcp_|discovered_tool_)/;

const CLAUDE = { ...namesIn("claude"), Task: CHILDREN, Agent: CHILDREN };

const OURS = {
  ...Object.fromEntries(OUR_TOOLS.map((name) => [name, name])),
  ...Object.fromEntries(childTools("start").map((name) => [name, CHILDREN])),
};

const NAMES: Readonly<Record<AgentDialect, Readonly<Record<string, string>>>> = {
  // Files are copied from one folder to another; Claude Code's names cannot be mistaken for ours.
  sous: { ...OURS, ...CLAUDE },
  claude: CLAUDE,
  gemini: namesIn("gemini"),
  opencode: { ...namesIn("opencode"), task: CHILDREN },
};

function namesIn(dialect: Exclude<AgentDialect, "sous">): Record<string, string> {
  return Object.fromEntries(TOOL_ROWS.flatMap(([tool, { names }]) => names[dialect].map((name) => [name, tool])));
}

const CLAUDE_ELSEWHERE = [
  ...["AskUserQuestion", "BashOutput", "CronCreate", "CronDelete", "CronList", "EnterPlanMode"],
  ...["EnterWorktree", "ExitPlanMode", "ExitWorktree", "KillBash", "KillShell", "ListMcpResourcesTool"],
  ...["LSP", "Monitor", "NotebookEdit", "NotebookRead", "PowerShell", "ReadMcpResourceTool"],
  ...["SendMessage", "Skill", "SlashCommand", "TaskCreate", "TaskGet", "TaskList", "TaskOutput"],
  ...["TaskStop", "TaskUpdate", "TodoRead", "TodoWrite", "ToolSearch", "WebSearch"],
];

/** Tools of the other programs that the command line does not have. */
const ELSEWHERE: Readonly<Record<AgentDialect, readonly string[]>> = {
  sous: CLAUDE_ELSEWHERE,
  claude: CLAUDE_ELSEWHERE,
  gemini: [
    ...["activate_skill", "ask_user", "cli_help", "codebase_investigator", "complete_task"],
    ...["enter_plan_mode", "exit_plan_mode", "get_internal_docs", "google_web_search", "save_memory"],
    ...["tracker_add_dependency", "tracker_create_task", "tracker_get_task", "tracker_list_tasks"],
    ...["tracker_update_task", "tracker_visualize", "update_topic", "write_todos"],
  ],
  opencode: [
    ...["batch", "codesearch", "doom_loop", "external_directory", "lsp", "plan_enter", "plan_exit"],
    ...["question", "skill", "todoread", "todowrite", "websearch"],
  ],
};
