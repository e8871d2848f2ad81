/** `sous mcp list`: the MCP servers that are configured, and what is known of their tools. Starts nothing. */

import type { McpServer } from "../../core/configuration.ts";
import { mcpServerPart } from "../../core/mcp-names.ts";
import { type KnownTool, knownTools } from "../../mcp/known-tools.ts";
import { openPinBook } from "../../mcp/pins.ts";
import { configurationOfServers } from "../acp/servers.ts";
import { EXIT } from "../exit-codes.ts";
import { processContext, userFolderIfAny } from "../files/paths.ts";
import { statesOf } from "../mcp/checked-lines.ts";
import { reachedBy } from "../mcp/servers.ts";
import { MCP } from "../table/mcp-entry.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { openOutput, printJson } from "../terminal/output.ts";
import { plural } from "../terminal/text.ts";
import { type ListedServer, listedServerLines } from "../view/server-lines.ts";

export async function mcpList(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(MCP, parameters);
  refusePositionals("sous mcp list", positionals);
  const context = processContext();
  const { mcpServers } = await configurationOfServers(values, context, { showsProblems: true });
  const { cwd, env } = context;
  const pins = openPinBook(userFolderIfAny("state", env));
  const found = await Promise.all(
    Object.values(mcpServers).map(async (server) => ({ server, tools: await knownTools(server, { cwd, pins }) })),
  );
  const output = openOutput(process.stdout, values);
  if (values.json) printJson({ schema: "sous.mcp-list.v1", servers: found.map(serverJson) });
  else if (found.length > 0) output.print(found.flatMap((each) => listedServerLines(toListed(each), output)));
  else
    output.printText(
      "No MCP server is configured: add one to mcp_servers in your configuration, or to .mcp.json of a trusted project.",
    );
  return EXIT.ok;
}

type Found = { readonly server: McpServer; readonly tools: readonly KnownTool[] | undefined };

/** The name, its tools as far as they are known, and below how it is reached and where it comes from. */
function toListed({ server, tools }: Found): ListedServer {
  const { name, isDisabled, problem, origin } = server;
  const off = problem === undefined ? "disabled" : "cannot be started";
  return {
    name,
    shortName: `mcp__${mcpServerPart(name)}`,
    state: isDisabled ? { text: off, colour: "yellow" } : { text: stateOf(tools) },
    problem,
    reachedBy: reachedBy(server),
    origin,
  };
}

function stateOf(tools: readonly KnownTool[] | undefined): string {
  return tools === undefined ? "tools not known yet" : `${plural(tools.length, "tool")}${statesOf(tools)}`;
}

/** Without its variables and headers: they carry keys. */
function serverJson({ server, tools }: Found): object {
  const { name, transport, isDisabled, problem, scope, origin, agents, startTimeoutMs, callTimeoutMs } = server;
  return {
    name,
    tool_names: `mcp__${mcpServerPart(name)}__*`,
    transport: transport.type,
    reached_by: reachedBy(server),
    disabled: isDisabled,
    problem: problem ?? null,
    scope,
    from: origin ?? null,
    agents: agents ?? null,
    start_timeout_ms: startTimeoutMs,
    call_timeout_ms: callTimeoutMs,
    tools: tools?.map(({ name: tool, toolName, state }) => ({ name: tool, tool_name: toolName, state })) ?? null,
  };
}
