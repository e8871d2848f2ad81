/**
 * Tools of MCP servers in agent files. Which tools a server has is known when a run begins, so a file keeps entries, names and
 * patterns, and these functions compare them with the tools there are.
 */

import { matchesGlob } from "../../core/glob.ts";
import { mayMeanMcpTool, mcpServerPart, mcpToolName, readMcpName } from "../../core/mcp-names.ts";
import { toolHash } from "../../machine/tool-hash.ts";
import type { AgentDialect, AgentFile } from "./file.ts";

/** Every tool of every server. */
export const EVERY_MCP_TOOL = "mcp__*";

const JOINED = "mcp__";
/** Of gemini-cli and opencode: one underscore between the server and the tool, so where the name of the tool begins is not said. */
const FLAT = "mcp_";

/** The entry for a name in a file; undefined when it is not one of a server's tool. */
export function mcpEntry(name: string, dialect: AgentDialect): string | undefined {
  if (name.startsWith(JOINED)) return joinedEntry(name);
  if (dialect !== "gemini") return undefined;
  if (name.startsWith(FLAT)) return name === `${FLAT}*` ? EVERY_MCP_TOOL : name;
  return /^[^_].*__/.test(name) ? joinedEntry(`${JOINED}${name}`) : undefined;
}

/** For names that options give: those of tools of ours stay as they are. */
export function givenEntry(name: string): string {
  return mcpEntry(name, "sous") ?? name;
}

/** opencode writes `github_create_issue` and `github_*`. */
export function opencodeEntry(name: string): string {
  return `${FLAT}${name}`;
}

/** All tools of a server. */
export function serverEntry(server: string): string {
  return `${JOINED}${mcpServerPart(server)}__*`;
}

function joinedEntry(name: string): string | undefined {
  const read = readMcpName(name);
  if (read === undefined) return undefined;
  const { server, tool } = read;
  if (server.includes("*")) return name;
  if (tool === undefined) return serverEntry(server);
  if (/[*?]/.test(tool)) return `${JOINED}${mcpServerPart(server)}__${tool}`;
  return mcpToolName(server, tool, toolHash);
}

/** The same entry for denying: a character that no name has may stand for any. */
export function denyingEntry(entry: string): string {
  return entry.replace(/[^A-Za-z0-9_*?-]/g, "*");
}

/** A matcher of Claude Code's hooks, which is a regular expression. What is not understood stands for every tool. */
export function watchedEntry(matcher: string): string {
  const pattern = matcher.replaceAll(".*", "*");
  return /^[A-Za-z0-9_*-]+$/.test(pattern) ? (joinedEntry(pattern) ?? EVERY_MCP_TOOL) : EVERY_MCP_TOOL;
}

export function isMcpEntry(entry: string): boolean {
  return entry.startsWith(FLAT);
}

type Named = Pick<AgentFile, "tools" | "deny">;

/** Whether the file gives its agent this tool; what it denies is another question. */
export function grants({ tools }: Pick<Named, "tools">, tool: string): boolean {
  return tools === undefined || tools.some((entry) => covers(entry, tool));
}

/** Whether neither the agent nor anything below it may use this tool. */
export function denies({ deny }: Pick<Named, "deny">, tool: string): boolean {
  return deny.some((entry) => mayDeny(entry, tool));
}

/** What the file denies, by the names of these tools, too: the runtime compares whole names. Patterns stay for what comes later. */
export function deniedNames(file: Pick<Named, "deny">, tools: readonly string[]): readonly string[] {
  const named = tools.filter((tool) => denies(file, tool));
  return [...new Set([...file.deny, ...named])];
}

/** Whether an entry names this tool. */
export function covers(entry: string, tool: string): boolean {
  if (entry === tool) return true;
  if (!isMcpEntry(entry) || !tool.startsWith(JOINED)) return false;
  return entry.startsWith(JOINED) ? matchesGlob(entry, tool) : matchesGlob(entry, flatName(tool));
}

/** Whether an entry that denies may name this tool. */
export function mayDeny(entry: string, tool: string): boolean {
  return covers(entry, tool) || mayMeanMcpTool(entry, tool);
}

function flatName(tool: string): string {
  const rest = tool.slice(JOINED.length);
  const end = rest.indexOf("__", 1);
  return end === -1 ? tool : `${FLAT}${rest.slice(0, end)}_${rest.slice(end + 2)}`;
}

/** Whether an entry can name a tool of this server. */
export function concernsServer(entry: string, server: string): boolean {
  if (!isMcpEntry(entry)) return false;
  const part = mcpServerPart(server);
  const begin = entry.startsWith(JOINED) ? `${JOINED}${part}__` : `${FLAT}${part}_`;
  const [fixed = ""] = entry.split(/[*?]/, 1);
  return fixed.startsWith(begin) || (fixed !== entry && begin.startsWith(fixed));
}
