/** Names of tools of MCP servers: `mcp__github__create_issue`, as rules, agent files and models write them. */

import { matchesGlob } from "./glob.ts";

const PREFIX = "mcp__";
const MAX_NAME = 64;
const MAX_SERVER = 32;
const HASH = 8;

/** The form of a server's name. */
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

/** The meaning of a name in a file or rule: a tool, or without `tool` all of a server. `tool` may hold `*`. */
type McpName = { readonly server: string; readonly tool: string | undefined };

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

/** `github › create_issue` for a tool of a server, else its name. */
export function shownToolName(name: string): string {
  const { server, tool } = readMcpName(name) ?? {};
  return server === undefined || tool === undefined ? name : `${server} › ${tool}`;
}

/**
 * True when a name or pattern that forbids may mean this tool. People write a server as it is called in the settings, another case,
 * `-` for `_`, the server's own name of the tool, and none of our hashes. To forbid a tool too many is safe; to miss one is not.
 */
export function mayMeanMcpTool(pattern: string, toolName: string): boolean {
  const { server, tool } = readMcpName(toolName) ?? {};
  if (server === undefined || tool === undefined) return false;
  const isCut = toolName.length === MAX_NAME;
  if (mayMeanName(folded(pattern), folded(toolName), isCut)) return true;
  return readings(pattern).some(({ server: meant, tool: meantTool }) => {
    const isServer = /[*?]/.test(meant)
      ? matchesGlob(folded(meant), folded(server))
      : mcpServerPart(folded(mcpServerPart(meant))) === mcpServerPart(folded(server));
    return isServer && mayMeanName(folded(meantTool), folded(tool), isCut);
  });
}

/** Max characters of the name of a server in the settings. */
const MAX_SETTING = 100;

/** A server may have `__` in its name, so every `__` may be where the name of the tool begins. */
function readings(pattern: string): { readonly server: string; readonly tool: string }[] {
  const [, rest = ""] = /^mcp__?(.+)$/is.exec(pattern) ?? [];
  if (rest === "") return [];
  const ends = Array.from({ length: MAX_SETTING }, (_, index) => index + 1).filter((at) => rest.startsWith("__", at));
  const split = ends.map((end) => ({ server: rest.slice(0, end), tool: rest.slice(end + 2) || "*" }));
  return [...split, { server: rest, tool: "*" }];
}

/** True when the pattern may mean the name. The rest of a name that was cut is not known: what fits its beginning may fit all of it. */
function mayMeanName(pattern: string, name: string, isCut: boolean): boolean {
  if (matchesGlob(pattern, name)) return true;
  const own = name.replace(HASHED, "");
  if (own === name) return false;
  const longest = Math.min(pattern.length, 2 * MAX_NAME);
  const begins = isCut ? Array.from({ length: longest }, (_, at) => pattern.slice(0, at + 1)) : [pattern];
  // Before the hash, one `_` may belong to the name.
  return begins.some((begin) => matchesGlob(begin, own) || matchesGlob(begin, `${own}_`));
}

const HASHED = /_[0-9a-f]{8}$/;

/** The same text for all names that people take for the same. */
function folded(name: string): string {
  return name
    .replace(/[^A-Za-z0-9*?]+/g, "_")
    .replace(/\*+/g, "*")
    .toLowerCase();
}
