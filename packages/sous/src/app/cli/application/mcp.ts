/** The tools of MCP servers in a command: which servers are needed at all, and which agents get which of their tools. */

import type { McpGround } from "../../../bridges/mcp/open.ts";
import type { Host } from "../../../core/clock.ts";
import type { McpServer } from "../../../core/configuration.ts";
import type { ExternalAllowance } from "../../../core/external-agent.ts";
import { mcpServerPart } from "../../../core/mcp-names.ts";
import type { Programs } from "../../../core/process.ts";
import type { Tool } from "../../../core/tool.ts";
import { readTraceContext, traceVariables } from "../../../core/trace-context.ts";
import { secretsOf } from "../../../runtime/secrets/variables.ts";
import type { AgentFile } from "../../config/agents/file.ts";
import { concernsServer, EVERY_MCP_TOOL, givenEntry, serverEntry } from "../../config/agents/mcp-entries.ts";
import type { Configuration } from "../../config/configuration.ts";
import { type ProcessContext, userFolderIfAny } from "../files/paths.ts";
import { alsoHide } from "../files/without-secrets.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";
import type { Opened } from "./opened.ts";

/** The agents that could use tools of servers. */
type ToolUsers = {
  /** The rights that the options leave to the root and to everything below it. */
  readonly rights: RunFlags["rights"];
  readonly rootName: string;
  /** The file of the root; ours when unset. */
  readonly chosen: Pick<AgentFile, "tools"> | undefined;
  readonly files: readonly Pick<AgentFile, "name" | "callable">[];
};

/** The servers of which some agent of this command may use a tool. The others are not started. */
export function neededServers(
  { mcpServers, agent }: Pick<Configuration, "mcpServers" | "agent">,
  { rights, rootName, chosen, files }: ToolUsers,
): McpServer[] {
  const called = files.filter(({ callable }) => callable !== false).map(({ name }) => name);
  const holders = rights.noDelegate ? [rootName] : [rootName, ...called];
  const needed = Object.values(mcpServers).filter((server) => {
    if (server.isDisabled) return false;
    if (rights.tools !== undefined && !namesServer(rights.tools, server)) return false;
    if (rights.denyTools.some((name) => isWholeServer(name, server))) return false;
    if (server.agents !== undefined) return server.agents.some((name) => holders.includes(name));
    // The root cannot pass on a tool that it may not use.
    return chosen?.tools === undefined || namesServer(chosen.tools, server);
  });
  // A run that may take a minute does not wait longer than that for its tools.
  const longestMs = agent.budget.durationMs ?? Number.POSITIVE_INFINITY;
  return needed.map((server) => ({ ...server, startTimeoutMs: Math.min(server.startTimeoutMs, longestMs) }));
}

function namesServer(names: readonly string[], { name: server }: McpServer): boolean {
  return names.some((name) => concernsServer(givenEntry(name), server));
}

/** `mcp__github`, `mcp__github__*` and `mcp__*`. */
function isWholeServer(name: string, { name: server }: McpServer): boolean {
  return [serverEntry(server), EVERY_MCP_TOOL].includes(givenEntry(name));
}

/** True when the agent gets the tool: only the agents that its server names, if it names any. */
export function isFor(agentName: string, { origin }: Tool, servers: Configuration["mcpServers"]): boolean {
  return agentsOf(origin, servers)?.includes(agentName) ?? true;
}

/** True when only some agents get the tool, whatever the root may use. */
export function isReserved({ origin }: Tool, servers: Configuration["mcpServers"]): boolean {
  return agentsOf(origin, servers) !== undefined;
}

function agentsOf(origin: Tool["origin"], servers: Configuration["mcpServers"]): readonly string[] | undefined {
  if (origin === undefined || !Object.hasOwn(servers, origin.server)) return undefined;
  return servers[origin.server]?.agents;
}

/** Adds the servers of an editor: they are the user's own, and go before others of the same name. */
export function withEditors(
  servers: Configuration["mcpServers"],
  editors: readonly McpServer[] = [],
): Configuration["mcpServers"] {
  const parts = new Set(editors.map(({ name }) => mcpServerPart(name)));
  const others = Object.values(servers).filter(({ name }) => !parts.has(mcpServerPart(name)));
  return Object.fromEntries([...editors, ...others].map((server) => [server.name, server]));
}

type ServerRequest = ProcessContext & {
  /** The trace of what starts now; when unset that of the variables. */
  readonly trace?: Host["trace"];
  /** Aborting it ends the wait for servers, and the servers. */
  readonly signal?: AbortSignal | undefined;
  readonly flags: Pick<RunFlags, "log">;
  readonly warn: (line: string) => void;
};

type ServerGround = {
  readonly programs: Programs;
  /** The setting `tools.fetch.allow_hosts`. */
  readonly allowHosts: readonly string[];
  /** The limits of a server that is sous itself; unset for one that is only looked at. */
  readonly allowance?: ExternalAllowance | undefined;
  /** They end with it. */
  readonly opened: Opened;
};

/** Their tools. Warns of what cannot be used, and continues without it. Nothing is loaded when there is no server. */
export async function openServerTools(
  servers: readonly McpServer[],
  request: ServerRequest,
  { opened, ...ground }: ServerGround,
): Promise<readonly Tool[]> {
  if (servers.length === 0) return [];
  alsoHide(mcpSecrets(servers));
  const { openMcpTools } = await import("../../../bridges/mcp/open.ts");
  const { signal, flags } = request;
  // A chat shows its warnings when it is open, which is too late for this.
  const onSlow = flags.log.isQuiet ? undefined : tellWait;
  const { tools, problems } = opened.use(
    await openMcpTools(servers, await serverGround(request, ground), { signal, onSlow }),
  );
  for (const problem of problems) request.warn(inertLine(problem, 1000));
  return tools;
}

/** Says which servers are waited for. */
export function tellWait(servers: readonly string[]): void {
  const names = servers.join(", ");
  const line =
    servers.length === 1
      ? `waiting for the MCP server ${names}`
      : `waiting for ${servers.length} MCP servers: ${names}`;
  tell(inertLine(line, 1000));
}

/** The clock, programs and folders that the servers of a command use. */
export async function serverGround(
  { cwd, env, trace }: Pick<ServerRequest, "cwd" | "env" | "trace">,
  { programs, allowHosts, allowance }: Omit<ServerGround, "opened">,
): Promise<McpGround> {
  const [{ openPinBook }, { systemClock }, { compileSchema }, { encodeWithin, WITHIN_VARIABLE }] = await Promise.all([
    import("../../../bridges/mcp/pins.ts"),
    import("../../../machine/host.ts"),
    import("../../../runtime/schema/compile.ts"),
    import("../../../core/within.ts"),
  ]);
  const now = trace === undefined ? readTraceContext(env) : trace();
  return {
    programs,
    clock: systemClock,
    cwd,
    pins: openPinBook(userFolderIfAny("state", env)),
    environment: {
      ...(now && traceVariables(now)),
      ...(allowance && { [WITHIN_VARIABLE]: encodeWithin(allowance) }),
    },
    mayReach: (host) => allowHosts.includes(host),
    checkSchema: (schema) => void compileSchema(schema),
  };
}

/**
 * Keys in the variables, headers and addresses of servers, under names that no other variable has: they are taken out of what is
 * stored and shown.
 */
export function mcpSecrets(servers: readonly McpServer[]): Record<string, string> {
  return Object.fromEntries(
    servers.flatMap(({ name, transport }) =>
      secretsOf(valuesOf(transport)).map((secret, index) => [
        `${mcpServerPart(name)}_${index}_${secret.name}`.toUpperCase(),
        secret.value,
      ]),
    ),
  );
}

/**
 * Every value of a header, and of the query of an address, may be a key, whatever it is called; so may a part of its path that
 * looks made at random.
 */
function valuesOf(transport: McpServer["transport"]): Record<string, string> {
  if (transport.type === "stdio") return { ...optionsIn(transport.args), ...transport.env };
  const url = URL.parse(transport.url);
  const parts = (url?.pathname ?? "").split("/").filter(isRandom);
  const pairs = [
    ...Object.entries(transport.headers),
    ...(url?.searchParams ?? []),
    ...[...parts, url?.password ?? ""].map((part) => ["", part]),
  ];
  return Object.fromEntries(pairs.map(([name, value], index) => [`${index}_HEADERS`, `${name}=${value}`]));
}

function isRandom(part: string): boolean {
  return part.length >= 20 && /\d/.test(part) && /[A-Za-z]/.test(part);
}

/** `--api-key=x` and `--api-key x`, by the names of the options. */
function optionsIn(args: readonly string[]): Record<string, string> {
  const options = args.flatMap((arg, index): [string, string][] => {
    if (!arg.startsWith("-")) return [];
    const [name = "", ...value] = arg.replace(/^-+/, "").split("=");
    return [[name.replaceAll("-", "_"), value.length > 0 ? value.join("=") : (args[index + 1] ?? "")]];
  });
  return Object.fromEntries(options);
}
