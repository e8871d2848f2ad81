/** Tools of MCP servers for programs, with the programs and the clock of this machine. */

import { MCP_TIMEOUTS, type McpServer, type McpTransport } from "./core/configuration.ts";
import { checkWord, UserError } from "./core/errors.ts";
import { checkOptions, type OptionNames } from "./core/options.ts";
import type { Programs } from "./core/process.ts";
import type { Tool } from "./core/tool.ts";
import { readTraceContext, traceVariables } from "./core/trace-context.ts";
import { systemHost } from "./host.ts";
import { openMcpTools } from "./mcp/open.ts";
import { openPinFile } from "./mcp/pins.ts";
import { openPrograms } from "./process/programs.ts";
import { compileSchema } from "./schema/compile.ts";

/** What every server may have besides the way to reach it. */
type AnyMcpServer = {
  /** Seconds that one call may take; 120 when unset. */
  readonly timeout?: number | undefined;
  /** Its tools that are offered, as the server calls them; may hold `*`. All when unset. */
  readonly tools?: readonly string[] | undefined;
  /** Its tools that are not, in the same way. */
  readonly deny?: readonly string[] | undefined;
};

/** A server that is a program, as in `.mcp.json`. */
export type McpProgramOptions = AnyMcpServer & {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Besides the few variables that every program gets. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
};

/** A server that has an address, as in `.mcp.json`. */
export type McpAddressOptions = AnyMcpServer & {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** `http` when unset, which tries `sse` for a server that knows nothing newer. */
  readonly type?: "http" | "streamable-http" | "sse" | undefined;
};

/** One server of `mcpTools()`. */
export type McpServerOptions = McpProgramOptions | McpAddressOptions;

const PROGRAM_OPTIONS: OptionNames<McpProgramOptions> = {
  ...{ command: true, args: true, env: true, cwd: true, timeout: true, tools: true, deny: true },
};
const ADDRESS_OPTIONS: OptionNames<McpAddressOptions> = {
  ...{ url: true, headers: true, type: true, timeout: true, tools: true, deny: true },
};

/** What `mcpTools()` takes besides the servers. */
export type McpToolsOptions = {
  /** The workspace: where servers start, and the only root they are told; the working directory when unset. */
  readonly cwd?: string | undefined;
  /** A private file that keeps which tools were approved, over processes; without one they are kept in memory. */
  readonly pinFile?: string | undefined;
  /** A server that cannot be started is a problem in place of an error. */
  readonly optional?: boolean | undefined;
  /** What starts the servers; closed with the tools only when it is their own. */
  readonly programs?: Programs | undefined;
  /** Ends the start. */
  readonly signal?: AbortSignal | undefined;
};

const OPTIONS: OptionNames<McpToolsOptions> = {
  ...{ cwd: true, pinFile: true, optional: true, programs: true, signal: true },
};

/** The tools of servers, until they are disposed. */
export type McpToolSet = AsyncDisposable & {
  /** Each asks before it runs, unless a rule or `approve` allows it. */
  readonly tools: readonly Tool[];
  /** One sentence each: tools that were left out, and with `optional` servers that could not be started. */
  readonly problems: readonly string[];
  /** Ends the servers. */
  dispose(): Promise<void>;
};

/**
 * Starts the servers and gives their tools, named `mcp__server__tool`. Needs the package `@modelcontextprotocol/client`. Rejects
 * with a `UserError` for a server that cannot be started, unless `optional`. Open it with `await using`, or call `dispose`.
 */
export async function mcpTools(
  servers: Readonly<Record<string, McpServerOptions>>,
  options: McpToolsOptions = {},
): Promise<McpToolSet> {
  checkOptions("mcpTools()", options, OPTIONS);
  const all = Object.entries(servers).map(([name, server]) => toServer(name, server));
  const { environment, clock, cwd: here } = systemHost();
  const { cwd = here, pinFile, optional = false, programs = openPrograms({ environment }), signal } = options;
  const close = async (): Promise<void> => {
    if (options.programs === undefined) await programs[Symbol.asyncDispose]();
  };
  const trace = readTraceContext(environment);
  const ground = {
    ...{ programs, clock, cwd, pins: openPinFile(pinFile), environment: trace && traceVariables(trace) },
    checkSchema: (schema: object) => void compileSchema(schema),
  };
  try {
    const opened = await openMcpTools(all, ground, { signal });
    const dispose = async (): Promise<void> => {
      await opened[Symbol.asyncDispose]();
      await close();
    };
    if (opened.failed.length > 0 && !optional) {
      await dispose();
      throw new UserError(opened.problems.join("\n"));
    }
    return { tools: opened.tools, problems: opened.problems, dispose, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await close();
    throw error;
  }
}

const CALL_TIMEOUT_S = MCP_TIMEOUTS.callTimeoutMs / 1000;

function toServer(name: string, given: McpServerOptions): McpServer {
  const where = `mcpTools(): the server ${name}`;
  const isProgram = "command" in given;
  checkOptions(where, given, isProgram ? PROGRAM_OPTIONS : ADDRESS_OPTIONS);
  const { timeout = CALL_TIMEOUT_S, tools, deny = [] } = given;
  if (!(timeout > 0 && timeout <= 86_400)) throw new UserError(`${where}: timeout must be seconds, at most a day`);
  return {
    name,
    transport: isProgram ? toProgram(where, given) : toAddress(where, given),
    startTimeoutMs: MCP_TIMEOUTS.startTimeoutMs,
    callTimeoutMs: timeout * 1000,
    tools,
    deny,
    agents: undefined,
    isDisabled: false,
    // The program that calls is the user's own.
    scope: "user",
  };
}

function toProgram(where: string, { command, args = [], env = {}, cwd }: McpProgramOptions): McpTransport {
  if (typeof command !== "string" || command === "") throw new UserError(`${where}: command must be a program`);
  return { type: "stdio", command, args, env, cwd };
}

function toAddress(where: string, { url, headers = {}, type = "http" }: McpAddressOptions): McpTransport {
  const protocol = URL.parse(url)?.protocol;
  if (protocol !== "http:" && protocol !== "https:") {
    throw new UserError(`${where}: set command to start a program, or url to an address that begins with https://`);
  }
  checkWord(`${where}: type`, type, ["http", "streamable-http", "sse"]);
  return { type: type === "sse" ? "sse" : "http", url, headers };
}
