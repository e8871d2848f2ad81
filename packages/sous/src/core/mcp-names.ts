/** Names of tools of MCP servers: `mcp__github__create_issue`, as rules, agent files and models write them. */

const PREFIX = "mcp__";
const MAX_NAME = 64;
const MAX_SERVER = 32;
const HASH = 8;

/** What a server may be called. */
export const MCP_SERVER_NAME: { readonly pattern: RegExp; readonly wants: string } = {
  pattern: /^[A-Za-z0-9@_][\w .:+()@/-]{0,99}$/,
  wants: "a name of letters, digits, spaces and . _ : + ( ) @ / -, of at most 100 characters",
};

/**
 * A server as it stands in names of tools. It never holds `__` and never ends with `_`, so the first `__` behind it begins the
 * name of the tool, and no two servers with different parts can have a tool of the same name.
 */
export function mcpServerPart(server: string): string {
  const plain = server
    .replace(/[^A-Za-z0-9-]+/g, "_")
    .slice(0, MAX_SERVER)
    .replace(/^_|_$/g, "");
  return plain === "" ? "server" : plain;
}

/** The name here of a tool that its server calls `tool`. `hash` gives hexadecimal digits, for a name that does not fit as it is. */
export function mcpToolName(server: string, tool: string, hash: (text: string) => string): string {
  const before = `${PREFIX}${mcpServerPart(server)}__`;
  const whole = `${before}${tool}`;
  if (/^[A-Za-z0-9_-]+$/.test(tool) && whole.length <= MAX_NAME) return whole;
  const room = MAX_NAME - before.length - HASH - 1;
  return `${before}${tool.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, room)}_${hash(tool).slice(0, HASH)}`;
}

/** What a name in a file or rule means: a tool, or without `tool` all of a server. `tool` may hold `*`. */
export type McpName = { readonly server: string; readonly tool: string | undefined };

/** Undefined for what is no name of a tool of a server. Reads `mcp__x__y`, `mcp__x__*` and `mcp__x`. */
export function readMcpName(name: string): McpName | undefined {
  if (!name.startsWith(PREFIX)) return undefined;
  const rest = name.slice(PREFIX.length);
  const end = rest.indexOf("__", 1);
  const server = end === -1 ? rest : rest.slice(0, end);
  const tool = end === -1 ? "" : rest.slice(end + 2);
  if (server === "") return undefined;
  return { server, tool: tool === "" || tool === "*" ? undefined : tool };
}
