/** `sous mcp list`: the MCP servers that are configured, and what is known of their tools. Starts nothing. */

import type { McpServer } from "../../core/configuration.ts";
import { mcpServerPart } from "../../core/mcp-names.ts";
import { type KnownTool, knownTools } from "../../mcp/known-tools.ts";
import { openPinBook } from "../../mcp/pins.ts";
import { configurationOfServers } from "../acp/servers.ts";
import { EXIT } from "../exit-codes.ts";
import { processContext, userFolderIfAny } from "../files/paths.ts";
import { reachedBy } from "../mcp/servers.ts";
import { MCP } from "../table/mcp-entry.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { type Output, openOutput, printJson } from "../terminal/output.ts";
import { cutToWidth, displayWidth, inertLine, plural } from "../terminal/text.ts";

export async function mcpList(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(MCP, parameters);
  refusePositionals("sous mcp list", positionals);
  const context = processContext();
  const { mcpServers } = await configurationOfServers(values, context);
  const { cwd, env } = context;
  const pins = openPinBook(userFolderIfAny("state", env));
  const found = await Promise.all(
    Object.values(mcpServers).map(async (server) => ({ server, tools: await knownTools(server, { cwd, pins }) })),
  );
  const output = openOutput(process.stdout, values);
  if (values.json) printJson({ schema: "sous.mcp-list.v1", servers: found.map(serverJson) });
  else if (found.length > 0) output.print(found.flatMap((each) => serverLines(each, output)));
  else
    output.printText(
      "No MCP server is configured: add one to mcp_servers in your configuration, or to .mcp.json of a trusted project.",
    );
  return EXIT.ok;
}

type Found = { readonly server: McpServer; readonly tools: readonly KnownTool[] | undefined };

/** The name, its tools as far as they are known, and below how it is reached and where it comes from. */
function serverLines({ server, tools }: Found, { style: { paint, glyphs }, columns }: Output): string[] {
  const off = server.problem === undefined ? "disabled" : "cannot be started";
  const state = server.isDisabled ? paint("yellow", off) : stateOf(tools);
  const facts = [inertLine(reachedBy(server), 300), inertLine(server.origin ?? "", 300)].join(glyphs.dot);
  const head = `${paint("bold", inertLine(server.name, 60))}  mcp__${mcpServerPart(server.name)}  ${state}`;
  return [head, `  ${cutToWidth(facts, Math.max(20, columns - displayWidth("  ")), glyphs.more)}`];
}

function stateOf(tools: readonly KnownTool[] | undefined): string {
  if (tools === undefined) return "not asked for its tools yet";
  const words = (["approved", "new", "changed"] as const).flatMap((state) => {
    const count = tools.filter((each) => each.state === state).length;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  return [plural(tools.length, "tool"), ...(words.length === 0 ? [] : [`(${words.join(", ")})`])].join(" ");
}

/** Without its variables and headers: they carry keys. */
function serverJson({ server, tools }: Found): object {
  const { name, transport, isDisabled, scope, origin, agents, startTimeoutMs, callTimeoutMs } = server;
  return {
    name,
    tool_names: `mcp__${mcpServerPart(name)}__*`,
    transport: transport.type,
    reached_by: reachedBy(server),
    disabled: isDisabled,
    scope,
    from: origin ?? null,
    agents: agents ?? null,
    start_timeout_ms: startTimeoutMs,
    call_timeout_ms: callTimeoutMs,
    tools: tools?.map(({ name: tool, toolName, state }) => ({ name: tool, tool_name: toolName, state })) ?? null,
  };
}
