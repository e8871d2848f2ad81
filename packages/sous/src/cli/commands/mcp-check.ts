/** `sous mcp check NAME`: starts one server, lists its tools with what is approved of them, and ends it. No tool is called. */

import type { McpServer } from "../../core/configuration.ts";
import type { CheckedMcpServer } from "../../mcp/open.ts";
import { configurationOfServers, openServerPrograms } from "../acp/servers.ts";
import { EXIT, usageError } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { checkServer, findMcpServer, reachedBy } from "../mcp/servers.ts";
import { MCP } from "../table/mcp-entry.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { type Output, openOutput, printJson, tell } from "../terminal/output.ts";
import { inertLine, plural } from "../terminal/text.ts";

const COMMAND = "sous mcp check";

export async function mcpCheck(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(MCP, parameters);
  const [name, ...rest] = positionals;
  if (name === undefined) throw usageError(`${COMMAND} needs the NAME of a server; sous mcp list shows them`);
  refusePositionals(COMMAND, rest, " Put a name with spaces into quotes.");
  const context = processContext();
  const { mcpServers, tools } = await configurationOfServers(values, context);
  const server = findMcpServer(mcpServers, name);
  await using programs = await openServerPrograms(context);
  const looking = { programs, allowHosts: tools.fetch.allowHosts, approves: values.approve };
  const checked = await checkServer(server, context, looking);
  if (values.json) printJson(checkJson(server, checked));
  else {
    const output = openOutput(process.stdout, values);
    printChecked(server, checked, output);
    if (values.approve && checked.problem === undefined)
      output.print([
        `approved: ${plural(checked.tools.length, "tool")} of ${inertLine(server.name, 60)}, as shown here`,
      ]);
  }
  if (checked.problem === undefined) return EXIT.ok;
  tell(`error: ${inertLine(checked.problem, 2000)}`);
  return EXIT.failed;
}

function printChecked(server: McpServer, checked: CheckedMcpServer, { print, style: { paint } }: Output): void {
  const { serverName, version, handshakeMs, tools, notes, stderrTail, problem } = checked;
  const rows: [what: string, value: string][] = [
    ["transport", checked.transport],
    ["reached by", reachedBy(server)],
    ["from", server.origin ?? "an editor"],
  ];
  if (handshakeMs !== undefined)
    rows.push(
      ["handshake", `${Math.round(handshakeMs)} ms`],
      ["server", [serverName ?? "without a name", version ?? ""].join(" ").trim()],
    );
  print([
    paint("bold", inertLine(server.name, 60)) + (server.isDisabled && server.problem === undefined ? "  disabled" : ""),
    ...rows.map(([what, value]) => `  ${what.padEnd("reached by".length)}  ${inertLine(value, 1000)}`),
    ...tools.flatMap(({ name, toolName, state, change, definition }) => [
      `  ${inertLine(toolName, 70).padEnd(40)}  ${state === "changed" ? paint("yellow", state) : state}`,
      ...(toolName.endsWith(`__${name}`) ? [] : [`    its own name: ${inertLine(name, 300)}`]),
      ...linesOf(definition.description).map((line) => `    ${line}`),
      ...(change === undefined ? [] : ["    what has changed:", ...linesOf(change).map((line) => `    ${line}`)]),
    ]),
    ...notes.map((note) => `  ${paint("yellow", "note")}  ${inertLine(note, 1000)}`),
  ]);
  if (problem === undefined || stderrTail === "") return;
  print(["  the end of its standard error:", ...stderrTail.split("\n").map((line) => `  | ${inertLine(line, 5000)}`)]);
}

/** A stranger's text, line by line and whole: none of them can pass for one of ours. */
function linesOf(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => `| ${inertLine(line, 5000)}`);
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
