/** Servers as programs give them to `mcpTools()`. */

import { MCP_TIMEOUTS, type McpServer, type McpTransport } from "../../core/configuration.ts";
import { UserError } from "../../core/errors.ts";
import { MCP_SERVER_NAME, mcpServerPart } from "../../core/mcp-names.ts";
import {
  foundValue,
  kindOf,
  type OptionKind,
  type OptionKinds,
  TEXT,
  TEXTS,
  TEXTS_BY_NAME,
  wordOf,
} from "../../core/option-kinds.ts";
import { checkOptions } from "../../core/options.ts";
import { isRecord } from "../../core/schema.ts";

/** The options of every server of `mcpTools()`, besides the way to reach it. */
export type McpCommonOptions = {
  /** Max time of one call; 120,000 when unset. */
  readonly timeoutMs?: number | undefined;
  /** Max time of the start, up to the list of tools; 30,000 when unset. */
  readonly startTimeoutMs?: number | undefined;
  /** The tools that are offered, by the names that the server gives them; may hold `*`. All when unset. */
  readonly tools?: readonly string[] | undefined;
  /** The tools that are not offered, in the same way. */
  readonly deny?: readonly string[] | undefined;
};

/** A server that is a program, as in `.mcp.json`. */
export type McpProgramOptions = McpCommonOptions & {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** The variables of the program, besides a few harmless ones such as `PATH`: it gets no others of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The folder it starts in; `cwd` of `mcpTools()` when unset. */
  readonly cwd?: string | undefined;
  readonly type?: "stdio" | undefined;
};

/** A server on the network, as in `.mcp.json`. */
export type McpAddressOptions = McpCommonOptions & {
  /** Begins with `https://` or `http://`. */
  readonly url: string;
  /** Are sent with every request, to the host of `url` and no other. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** `http` when unset, which tries `sse` for a server that knows nothing newer. */
  readonly type?: "http" | "streamable-http" | "sse" | undefined;
};

/** One server of `mcpTools()`. */
export type McpServerOptions = McpProgramOptions | McpAddressOptions;

const DAY_MS = 86_400_000;

const TIME: OptionKind<number> = kindOf(
  `a number of milliseconds, more than 0 and at most ${DAY_MS}`,
  (value) => typeof value === "number" && value > 0 && value <= DAY_MS,
  foundValue,
);
const COMMON: OptionKinds<McpCommonOptions> = { timeoutMs: TIME, startTimeoutMs: TIME, tools: TEXTS, deny: TEXTS };
const PROGRAM: OptionKinds<McpProgramOptions> = {
  ...COMMON,
  command: TEXT,
  args: TEXTS,
  env: TEXTS_BY_NAME,
  cwd: TEXT,
  type: wordOf("stdio"),
};
const ADDRESS: OptionKinds<McpAddressOptions> = {
  ...COMMON,
  url: TEXT,
  headers: TEXTS_BY_NAME,
  type: wordOf("http", "streamable-http", "sse"),
};

/** Throws a `UserError` that begins with `where` for the first mistake. */
export function readServerOptions(
  where: string,
  servers: Readonly<Record<string, McpServerOptions>>,
): readonly McpServer[] {
  if (!isRecord(servers)) throw new UserError(`${where} takes servers by name, such as { files: { command: "…" } }`);
  const { mcpServers } = servers as Readonly<Record<string, unknown>>;
  if (isRecord(mcpServers) && !("command" in mcpServers) && !("url" in mcpServers))
    throw new UserError(`${where} takes what is below mcpServers in .mcp.json: pass that object`);
  const names = new Map<string, string>();
  return Object.entries(servers).map(([name, server]) => {
    const part = mcpServerPart(name);
    const other = names.get(part);
    if (other !== undefined)
      throw new UserError(`${where}: the servers ${other} and ${name} would both have tools named mcp__${part}__…`);
    names.set(part, name);
    return readServer(`${where}: the server ${name}`, name, server);
  });
}

function readServer(where: string, name: string, given: McpServerOptions): McpServer {
  if (!MCP_SERVER_NAME.pattern.test(name)) throw new UserError(`${where} must have ${MCP_SERVER_NAME.wants}`);
  if (!isRecord(given)) throw new UserError(`${where} must be an object with command or url`);
  if ("command" in given && "url" in given && given.command !== undefined && given.url !== undefined)
    throw new UserError(`${where} has command and url, and may have only one of them`);
  const isProgram = !("url" in given) || given.url === undefined;
  checkOptions(where, given, isProgram ? PROGRAM : ADDRESS);
  const { timeoutMs, startTimeoutMs, tools, deny = [] } = given;
  return {
    name,
    transport: isProgram ? toProgram(where, given as McpProgramOptions) : toAddress(where, given as McpAddressOptions),
    startTimeoutMs: startTimeoutMs ?? MCP_TIMEOUTS.startTimeoutMs,
    callTimeoutMs: timeoutMs ?? MCP_TIMEOUTS.callTimeoutMs,
    tools,
    deny,
    agents: undefined,
    isDisabled: false,
    // The program that calls is the user's own.
    scope: "user",
  };
}

function toProgram(where: string, { command, args = [], env = {}, cwd }: McpProgramOptions): McpTransport {
  if (command === undefined || command === "")
    throw new UserError(`${where}: set command to start a program, or url to an address that begins with https://`);
  return { type: "stdio", command, args, env, cwd };
}

function toAddress(where: string, { url, headers = {}, type = "http" }: McpAddressOptions): McpTransport {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw new UserError(`${where}: set command to start a program, or url to an address that begins with https://`);
  if (parsed.username !== "" || parsed.password !== "")
    throw new UserError(`${where}: url has a name or a password in it: write them into headers`);
  return { type: type === "sse" ? "sse" : "http", url, headers };
}
