/** `mcpServers` in agent files: servers by name, and which of the servers that a file names there are. */

import type { McpServer } from "../../core/configuration.ts";
import { isRecord } from "../../core/schema.ts";
import type { AgentDraft, KeyReader } from "./draft.ts";
import type { AgentFile, AgentProblem } from "./file.ts";
import { concernsServer, EVERY_MCP_TOOL, isMcpEntry, serverEntry } from "./mcp-entries.ts";

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
  draft.warn(
    "SOUS-A005",
    [key],
    `${what}: servers are not started from agent files`,
    "define it in mcp_servers of your configuration or in .mcp.json, and name it here",
  );
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

/** Whether a tool can be there at all: of servers that are not configured none is. */
export function isThere({ source }: AgentDraft, tool: string): boolean {
  const { mcpServers } = source;
  return !isMcpEntry(tool) || mcpServers === undefined || mcpServers.some((server) => concernsServer(tool, server));
}

/** One line for all of them. */
function warnOfMissing(draft: AgentDraft, entries: readonly string[]): void {
  const missing = entries.filter((entry) => !isThere(draft, entry));
  if (missing.length === 0) return;
  const { mcpServers = [] } = draft.source;
  const shown = missing.slice(0, MAX_NAMED).join(", ");
  const rest = missing.length > MAX_NAMED ? ` and ${missing.length - MAX_NAMED} more` : "";
  const known =
    mcpServers.length === 0 ? "none is configured" : `configured are ${mcpServers.join(", ").slice(0, 300)}`;
  const [key = "tools"] = ["tools", "permission", ...KEYS].filter((each) => Object.hasOwn(draft.settings, each));
  draft.warn(
    "SOUS-A006",
    [key],
    `there is no MCP server for ${shown}${rest}: left out; ${known}`,
    "add the server to mcp_servers in your configuration or to .mcp.json, or leave it for the other program",
  );
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
