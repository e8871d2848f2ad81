/** MCP servers as `sous mcp` and `sous doctor` look at them. */

import type { Configuration, McpServer } from "../../core/configuration.ts";
import { ignore, UserError } from "../../core/errors.ts";
import { mcpServerPart } from "../../core/mcp-names.ts";
import { nearest } from "../../core/nearest.ts";
import type { Programs } from "../../core/process.ts";
import type { CheckedMcpServer } from "../../mcp/open.ts";
import { commandLine } from "../acp/servers.ts";
import { mcpSecrets, serverGround, tellWait } from "../application/mcp.ts";
import type { ProcessContext } from "../files/paths.ts";
import { alsoHide } from "../files/without-secrets.ts";

/** By its name, or as it stands in names of tools. Throws a `UserError` that lists the known ones. */
export function findMcpServer(servers: Configuration["mcpServers"], wanted: string): McpServer {
  const known = Object.values(servers);
  const found =
    known.find(({ name }) => name === wanted) ??
    known.find(({ name }) => mcpServerPart(name) === wanted.replace(/^mcp__/, ""));
  if (found !== undefined) return found;
  if (known.length === 0)
    throw new UserError(
      "No MCP server is configured: add one to mcp_servers in your configuration, or to .mcp.json of a trusted project",
    );
  const names = known.map(({ name }) => name);
  const meant = nearest(wanted, names) ?? names.find((name) => name.toLowerCase() === wanted.toLowerCase());
  const hint = meant === undefined ? `there are: ${names.join(", ")}` : `did you mean ${meant}?`;
  throw new UserError(`Unknown MCP server ${JSON.stringify(wanted.slice(0, 80))}; ${hint}`);
}

/** The command line, or the address without what stands before `@` and behind `?`: keys stand there. */
export function reachedBy({ transport }: McpServer): string {
  if (transport.type === "stdio") return commandLine(transport);
  const [address = "", query] = transport.url.replace(/^([^/?#]*\/\/)[^/?#]*@/, "$1…@").split("?");
  return query === undefined ? address : `${address}?…`;
}

type Looking = {
  readonly programs: Programs;
  readonly allowHosts: readonly string[];
  /** What is found is approved. */
  readonly approves?: boolean | undefined;
  /** What is found is stored as seen, so that `sous mcp list` knows it. */
  readonly notes?: boolean | undefined;
};

/** Starts one server, lists its tools, and ends it. One that must not be started as it is written is only reported. */
export async function checkServer(
  server: McpServer,
  context: ProcessContext,
  { approves = false, notes = false, ...looking }: Looking,
): Promise<CheckedMcpServer> {
  if (server.problem !== undefined) return notStarted(server, server.problem);
  // What it says of itself is shown, and it knows its keys.
  alsoHide(mcpSecrets([server]));
  const { approveMcpTools, checkMcpServer, noteMcpTools, SLOW_START_MS } = await import("../../mcp/open.ts");
  const ground = await serverGround(context, looking);
  using _ = ground.clock.timer(SLOW_START_MS, () => tellWait([server.name]));
  const checked = await checkMcpServer(server, ground);
  // A list that cannot be stored is no reason to hide what was found.
  if (notes && checked.problem === undefined) await noteMcpTools(server, checked.tools, ground).catch(ignore);
  if (approves) await approveMcpTools(server, checked.tools, ground);
  return checked;
}

function notStarted({ name, transport }: McpServer, problem: string): CheckedMcpServer {
  return {
    transport: transport.type,
    tools: [],
    notes: [],
    handshakeMs: undefined,
    serverName: undefined,
    version: undefined,
    problem: `The MCP server ${name} is not started: ${problem}`,
    stderrTail: "",
  };
}
