/** The MCP servers that an editor names for a session, as those of a configuration: they are the person's own. */

import { z } from "zod";
import { MCP_TIMEOUTS, type McpServer, type McpTransport } from "../../core/configuration.ts";
import { mcpServerPart } from "../../core/mcp-names.ts";

export type EditorServers = {
  readonly servers: readonly McpServer[];
  /** One sentence for each that is left out. */
  readonly problems: readonly string[];
};

const MAX_SERVERS = 50;
const MAX_LIST = 200;

const printable = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+$/u;
const name = z.string().max(100).regex(printable, "its name is empty, or has characters that cannot be shown");
/** The system ends a word at a zero byte. */
const word = z
  .string()
  .max(32_000)
  .refine((text) => !text.includes("\0"), "a word of its command has a zero byte");
const variable = z.object({
  name: z.string().regex(/^[A-Za-z_]\w*$/, "the name of a variable is not one"),
  value: word,
});
const header = z.object({
  name: z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, "the name of a header is not one"),
  value: z
    .string()
    .max(32_000)
    .regex(/^[\t\x20-\x7e\x80-\xff]*$/, "a header has characters that no header may have"),
});

const stdio = z.object({
  type: z.literal("stdio").optional(),
  command: word.min(1, "it has no command"),
  args: z.array(word).max(MAX_LIST).default([]),
  env: z.array(variable).max(MAX_LIST).default([]),
});
const address = z.object({
  type: z.enum(["http", "sse"]),
  url: z
    .string()
    .max(8000)
    .refine(isWebAddress, "its address is not one of http or https, or has a name and password in it"),
  headers: z.array(header).max(MAX_LIST).default([]),
});

/** Leaves out a server that is wrong; the session is opened without it. */
export function editorServers(given: readonly unknown[]): EditorServers {
  const servers = new Map<string, McpServer>();
  const problems: string[] = [];
  for (const each of given.slice(0, MAX_SERVERS)) {
    const read = readServer(each);
    if (typeof read === "string") problems.push(`${whose(each)} is not used: ${read}`);
    // Names of tools begin with this part: of two servers with the same, a rule could not tell which it is about.
    else if (servers.has(mcpServerPart(read.name)))
      problems.push(`${whose(each)} is not used: another one has this name, or one that is written in the same way`);
    else servers.set(mcpServerPart(read.name), read);
  }
  if (given.length > MAX_SERVERS)
    problems.push(`The editor names ${given.length} MCP servers: only the first ${MAX_SERVERS} are used`);
  return { servers: [...servers.values()], problems };
}

/** Reads one server, or says in words what is wrong with it. */
function readServer(given: unknown): McpServer | string {
  const named = z.object({ name }).safeParse(given);
  if (!named.success) return firstIssue(named.error);
  const transport = readTransport(given);
  if (typeof transport === "string") return transport;
  return {
    name: named.data.name,
    transport,
    ...MCP_TIMEOUTS,
    tools: undefined,
    deny: [],
    agents: undefined,
    isDisabled: false,
    scope: "user",
    origin: "the editor",
  };
}

function readTransport(given: unknown): McpTransport | string {
  const { type } = z.looseObject({ type: z.unknown().optional() }).parse(given);
  if (type === "http" || type === "sse") {
    const read = address.safeParse(given);
    if (!read.success) return firstIssue(read.error);
    return { type: read.data.type, url: read.data.url, headers: byName(read.data.headers) };
  }
  if (type !== undefined && type !== "stdio") return "it is reached in a way that sous does not know";
  const read = stdio.safeParse(given);
  if (!read.success) return firstIssue(read.error);
  const { command, args, env } = read.data;
  return { type: "stdio", command, args, env: byName(env), cwd: undefined };
}

function byName(list: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(list.map((each) => [each.name, each.value]));
}

function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}

function firstIssue({ issues: [first] }: z.ZodError): string {
  const where = first?.path.join(".") ?? "";
  return `${first?.message ?? "it cannot be read"}${where === "" ? "" : ` (${where})`}`;
}

function whose(given: unknown): string {
  const named = z.object({ name }).safeParse(given);
  return named.success
    ? `The MCP server ${JSON.stringify(named.data.name)} of the editor`
    : "An MCP server of the editor";
}
