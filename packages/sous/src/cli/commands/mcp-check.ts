/** `sous mcp check NAME`: starts one server, lists its tools with what is approved of them, and ends it. No tool is called. */

import type { McpServer } from "../../core/configuration.ts";
import type { CheckedMcpServer } from "../../mcp/open.ts";
import { configurationOfServers, openServerPrograms } from "../acp/servers.ts";
import { EXIT, usageError } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { checkedLines } from "../mcp/checked-lines.ts";
import { checkServer, findMcpServer, reachedBy } from "../mcp/servers.ts";
import { MCP } from "../table/mcp-entry.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { openOutput, printJson, tell } from "../terminal/output.ts";
import { inertLine, plural } from "../terminal/text.ts";

const COMMAND = "sous mcp check";

export async function mcpCheck(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(MCP, parameters);
  const [name, ...rest] = positionals;
  if (name === undefined) throw usageError(`${COMMAND} needs the NAME of a server; sous mcp list shows them`);
  refusePositionals(COMMAND, rest, " Put a name with spaces into quotes.");
  const context = processContext();
  const { mcpServers, tools } = await configurationOfServers(values, context, { showsProblems: true });
  const server = findMcpServer(mcpServers, name);
  await using programs = await openServerPrograms(context);
  const looking = { programs, allowHosts: tools.fetch.allowHosts, approves: values.approve, notes: true };
  const checked = await checkServer(server, context, looking);
  if (values.json) printJson(checkJson(server, checked));
  else {
    const output = openOutput(process.stdout, values);
    output.print(checkedLines(server, checked, output));
    if (values.approve && checked.problem === undefined)
      output.print([
        `approved: ${plural(checked.tools.length, "tool")} of ${inertLine(server.name, 60)}, as shown here`,
      ]);
  }
  if (checked.problem === undefined) return EXIT.ok;
  tell(`error: ${inertLine(checked.problem, 2000)}`);
  return EXIT.failed;
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
