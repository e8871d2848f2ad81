/** `sous mcp`: tools of others that agents can use, and agents as tools of other programs. */

import type { CheckedMcpServer } from "../../../bridges/mcp/open.ts";
import { type KnownTool, knownTools, openPinBook } from "../../../bridges/mcp/pins.ts";
import type { McpServer } from "../../../core/configuration.ts";
import { mcpServerPart } from "../../../core/mcp-names.ts";
import { configurationOfServers, exitCodeOf, oneServerName, openServerPrograms } from "../acp/servers.ts";
import { EXIT } from "../exit-codes.ts";
import { processContext, userFolderIfAny } from "../files/paths.ts";
import { checkedLines, checkServer, findMcpServer, reachedBy, statesOf } from "../mcp/servers.ts";
import { performWord, refusePositionals, type Typed } from "../table/options.ts";
import { MCP } from "../table/server-entries.ts";
import { openOutput, printJson } from "../terminal/output.ts";
import { inertLine, plural } from "../terminal/text.ts";
import { type ListedServer, listedServerLines } from "../view/server-lines.ts";

type TypedMcp = Typed<typeof MCP>;

export async function mcp(parameters: readonly string[]): Promise<number> {
  // `serve` needs the runtime and the protocol, which `list` does not load.
  const serve = async (typed: TypedMcp) => (await import("../mcp-serve/served-agents.ts")).mcpServe(typed);
  return performWord(MCP, { list: mcpList, check: mcpCheck, serve }, "takes list, check NAME or serve", parameters);
}

/** The configured servers, and what is known of their tools. Starts nothing. */
async function mcpList({ values, positionals }: TypedMcp): Promise<number> {
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

/** Leaves out the variables and headers of the server: they carry keys. */
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

/** Starts one server, lists its tools with what is approved of them, and ends it. No tool is called. */
async function mcpCheck({ values, positionals }: TypedMcp): Promise<number> {
  const name = oneServerName("sous mcp", positionals);
  const context = processContext();
  const { mcpServers, tools } = await configurationOfServers(values, context, { showsProblems: true });
  const server = findMcpServer(mcpServers, name);
  await using programs = await openServerPrograms(context);
  const looking = { programs, allowHosts: tools.fetch.allowHosts, approves: values.approve, notes: true };
  const checked = await checkServer(server, context, looking);
  if (values.json) printJson(checkJson(server, checked));
  else {
    const output = openOutput(process.stdout, values);
    output.print(checkedLines(server, checked, output, { approves: values.approve }));
    if (values.approve && checked.problem === undefined)
      output.print([
        `approved: ${plural(checked.tools.length, "tool")} of ${inertLine(server.name, 60)}, as shown here`,
      ]);
  }
  return exitCodeOf(checked);
}

function checkJson(server: McpServer, checked: CheckedMcpServer): object {
  const { serverName, version, handshakeMs, tools, notes, stderrTail, problem } = checked;
  return {
    schema: "sous.mcp-check.v1",
    name: server.name,
    ok: problem === undefined,
    problem: problem ?? null,
    transport: checked.transport,
    reached_by: reachedBy(server),
    handshake_ms: handshakeMs === undefined ? null : Math.round(handshakeMs),
    server: serverName === undefined ? null : { name: serverName, version: version ?? null },
    tools: tools.map(({ name, toolName, state, change, definition }) => ({
      name,
      tool_name: toolName,
      description: definition.description,
      input_schema: definition.inputSchema,
      state,
      change: change ?? null,
    })),
    notes,
    stderr: stderrTail,
  };
}
