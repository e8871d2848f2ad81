/**
 * Tools of MCP servers in agent files. Which tools a server has is known when a run begins, so a file keeps entries, names and
 * patterns, and these functions compare them with the tools there are.
 */

import type { McpServer } from "../../../core/configuration.ts";
import { matchesGlob } from "../../../core/glob.ts";
import { mayMeanMcpTool, mcpServerPart, mcpToolName, readMcpName } from "../../../core/mcp-names.ts";
import { isRecord } from "../../../core/schema.ts";
import { toolHash } from "../../../machine/tool-hash.ts";
import type { AgentDraft, KeyReader } from "./draft.ts";
import type { AgentDialect, AgentFile, AgentProblem } from "./file.ts";
import { listed } from "./known-keys.ts";

/** Every tool of every server. */
export const EVERY_MCP_TOOL = "mcp__*";

const JOINED = "mcp__";
/** gemini-cli and opencode put one underscore between the server and the tool, so nothing says where the name of the tool begins. */
const FLAT = "mcp_";

/** The entry for a name in a file; undefined when it is not one of a server's tool. */
export function mcpEntry(name: string, dialect: AgentDialect): string | undefined {
  if (name.startsWith(JOINED)) return joinedEntry(name);
  if (dialect !== "gemini") return undefined;
  if (name.startsWith(FLAT)) return name === `${FLAT}*` ? EVERY_MCP_TOOL : name;
  return /^[^_].*__/.test(name) ? joinedEntry(`${JOINED}${name}`) : undefined;
}

/** Translates a name that an option gives; the name of a tool of ours stays as it is. */
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

function isMcpEntry(entry: string): boolean {
  return entry.startsWith(FLAT);
}

type Named = Pick<AgentFile, "tools" | "deny">;

/** True when the file gives its agent this tool; what it denies is another question. */
export function grants({ tools }: Pick<Named, "tools">, tool: string): boolean {
  return tools === undefined || tools.some((entry) => covers(entry, tool));
}

/** True when neither the agent nor anything below it may use this tool. */
export function denies({ deny }: Pick<Named, "deny">, tool: string): boolean {
  return deny.some((entry) => mayDeny(entry, tool));
}

/** The entries that the file denies, and the names of these tools among them: the runtime compares whole names. Patterns stay for tools that come later. */
export function deniedNames(file: Pick<Named, "deny">, tools: readonly string[]): readonly string[] {
  const named = tools.filter((tool) => denies(file, tool));
  return [...new Set([...file.deny, ...named])];
}

/** True when an entry names this tool. */
export function covers(entry: string, tool: string): boolean {
  if (entry === tool) return true;
  if (!isMcpEntry(entry) || !tool.startsWith(JOINED)) return false;
  return entry.startsWith(JOINED) ? matchesGlob(entry, tool) : matchesGlob(entry, flatName(tool));
}

/** True when an entry that denies may name this tool. */
export function mayDeny(entry: string, tool: string): boolean {
  return covers(entry, tool) || mayMeanMcpTool(entry, tool);
}

function flatName(tool: string): string {
  const rest = tool.slice(JOINED.length);
  const end = rest.indexOf("__", 1);
  return end === -1 ? tool : `${FLAT}${rest.slice(0, end)}_${rest.slice(end + 2)}`;
}

/** True when an entry can name a tool of this server. */
export function concernsServer(entry: string, server: string): boolean {
  if (!isMcpEntry(entry)) return false;
  const part = mcpServerPart(server);
  const begin = entry.startsWith(JOINED) ? `${JOINED}${part}__` : `${FLAT}${part}_`;
  const [fixed = ""] = entry.split(/[*?]/, 1);
  return fixed.startsWith(begin) || (fixed !== entry && begin.startsWith(fixed));
}

const KEYS = ["mcpServers", "mcp_servers"] as const;

/** The names are granted at the end, when it is known whether the file lists its tools. */
export const readMcpServers: KeyReader = (draft, key) => {
  const given = draft.settings[key];
  if (given === null) return;
  const isList = typeof given === "string" || Array.isArray(given);
  const defined = isList ? itemsOf(given).filter((each) => typeof each !== "string") : [given];
  if (defined.length === 0) return;
  const names = defined.flatMap((each) => (isRecord(each) ? Object.keys(each) : []));
  const what = names.length === 0 ? key : names.slice(0, MAX_NAMED).join(", ").slice(0, 200);
  const fix = "define it in mcp_servers of your configuration or in .mcp.json, and name it here";
  draft.warn("SOUS-A005", [key], `${what}: servers are not started from agent files`, fix);
};

function itemsOf(given: unknown): readonly unknown[] {
  if (Array.isArray(given)) return given;
  return typeof given === "string" ? given.split(",").flatMap((each) => each.trim() || []) : [];
}

/** A file that lists its tools has all tools of the servers that it names, too. */
export function grantServers(draft: AgentDraft): void {
  const named: string[] = [];
  for (const key of KEYS) {
    for (const each of itemsOf(draft.settings[key])) {
      if (typeof each !== "string") continue;
      named.push(serverEntry(each));
      draft.grant(serverEntry(each), [key], `${key}: ${each}`);
    }
  }
  warnOfMissing(draft, [...new Set([...(draft.granted ?? []).filter(isMcpEntry), ...named])]);
}

/** True when a tool can be there at all: a server that is not configured has none. */
export function isThere({ source }: AgentDraft, tool: string): boolean {
  const { mcpServers } = source;
  return !isMcpEntry(tool) || mcpServers === undefined || mcpServers.some((server) => concernsServer(tool, server));
}

/** One line for all of them. */
function warnOfMissing(draft: AgentDraft, entries: readonly string[]): void {
  const missing = entries.filter((entry) => !isThere(draft, entry));
  if (missing.length === 0) return;
  const { mcpServers = [] } = draft.source;
  const known =
    mcpServers.length === 0 ? "none is configured" : `configured are ${mcpServers.join(", ").slice(0, 300)}`;
  const [key = "tools"] = ["tools", "permission", ...KEYS].filter((each) => Object.hasOwn(draft.settings, each));
  const fix = "add the server to mcp_servers in your configuration or to .mcp.json, or leave it for the other program";
  draft.warn("SOUS-A006", [key], `there is no MCP server for ${listed(missing)}: left out; ${known}`, fix);
}

const MAX_NAMED = 20;

/** Tools that a file names, of servers whose setting `agents` leaves its agent out. One warning for each server. */
export function reservedProblems(
  { name, tools = [], file, origins }: AgentFile,
  servers: readonly Pick<McpServer, "name" | "agents">[],
): AgentProblem[] {
  return servers.flatMap(({ name: server, agents }) => {
    if (agents === undefined || agents.includes(name)) return [];
    // A pattern for all servers means those that the agent can have.
    const named = tools.filter((entry) => entry !== EVERY_MCP_TOOL && concernsServer(entry, server));
    if (named.length === 0) return [];
    return [
      {
        code: "SOUS-A006",
        file,
        severity: "warning",
        line: origins.tools[named[0] ?? ""]?.line ?? 1,
        column: 1,
        message: `${named.slice(0, MAX_NAMED).join(", ")}: left out, because agents of the MCP server ${server} names ${agents.join(", ") || "no agent"} and not ${name}`,
        fix: `add ${name} to agents of the server in mcp_servers, or remove the tools here`,
      },
    ];
  });
}
