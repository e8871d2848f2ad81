/** MCP servers as `sous mcp` and `sous doctor` look at them, and the lines of `sous mcp check`. */

import type { CheckedMcpServer, CheckedMcpTool } from "../../../bridges/mcp/open.ts";
import type { ToolState } from "../../../bridges/mcp/pins.ts";
import type { McpServer } from "../../../core/configuration.ts";
import { ignore, UserError } from "../../../core/errors.ts";
import { mcpServerPart } from "../../../core/mcp-names.ts";
import { nearest } from "../../../core/nearest.ts";
import type { Programs } from "../../../core/process.ts";
import type { Configuration } from "../../config/configuration.ts";
import { commandLine } from "../acp/servers.ts";
import { mcpSecrets, serverGround, tellWait } from "../application/mcp.ts";
import type { ProcessContext } from "../files/paths.ts";
import { alsoHide } from "../files/without-secrets.ts";
import type { Output } from "../terminal/output.ts";
import { breakLine, displayWidth, inertLine } from "../terminal/text.ts";

/** Finds a server by its name, or by its part of names of tools. Throws a `UserError` that lists the known ones. */
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
  /** Approves the tools that are found. */
  readonly approves?: boolean | undefined;
  /** Stores the tools that are found as seen, so that `sous mcp list` knows them. */
  readonly notes?: boolean | undefined;
};

/** Starts one server, lists its tools, and ends it. One that must not be started as it is written is only reported. */
export async function checkServer(
  server: McpServer,
  context: ProcessContext,
  { approves = false, notes = false, ...looking }: Looking,
): Promise<CheckedMcpServer> {
  if (server.problem !== undefined) return notStarted(server, server.problem);
  // The server's own words are shown, and it knows its keys.
  alsoHide(mcpSecrets([server]));
  const { approveMcpTools, checkMcpServer, noteMcpTools, SLOW_START_MS } = await import("../../../bridges/mcp/open.ts");
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

type Page = Pick<Output, "style" | "columns" | "isTerminal">;

const MIN_TEXT_COLUMNS = 10;

/** `approves`: all that models read of a tool is shown, so that an approval is for what was seen. */
export function checkedLines(
  server: McpServer,
  checked: CheckedMcpServer,
  page: Page,
  { approves = false } = {},
): string[] {
  const { tools, notes, stderrTail, problem } = checked;
  const { paint } = page.style;
  const isOff = server.isDisabled && server.problem === undefined;
  const head = brokenAt(inertLine(server.name, 60), page.columns, page).map((line) => paint("bold", line));
  return [
    ...head,
    ...rowsOf(server, checked, isOff).flatMap(([what, value]) =>
      hung(`  ${what.padEnd("reached by".length)}  `, inertLine(value, 1000), page),
    ),
    ...tools.flatMap((tool) => [
      ...toolLines(tool, page),
      ...(approves && tool.state === "new" ? schemaLines(tool, page) : []),
    ]),
    ...notes.flatMap((note) => hung("  note  ", inertLine(note, 1000), page)),
    ...(problem === undefined || stderrTail === ""
      ? []
      : [...hung("  ", "the end of its standard error:", page), ...quoted("  ", stderrTail, page)]),
  ];
}

function rowsOf(server: McpServer, checked: CheckedMcpServer, isOff: boolean): [what: string, value: string][] {
  const { serverName = "without a name", version = "", handshakeMs, tools, transport } = checked;
  const rows: [what: string, value: string][] = [
    ["transport", transport],
    ["reached by", reachedBy(server)],
    ["from", server.origin ?? "an editor"],
  ];
  if (isOff) rows.unshift(["disabled", "runs do not start it"]);
  if (server.agents !== undefined) {
    const names = server.agents.join(", ");
    rows.push(["for agents", names], ["only for", names || "no agent"]);
  }
  if (handshakeMs !== undefined)
    rows.push(
      ["handshake", `${Math.round(handshakeMs)} ms`],
      ["server", `${serverName} ${version}`.trim()],
      ["tools", `${tools.length}${statesOf(tools)}`],
    );
  return rows;
}

/** ` (3 approved, 2 new)`; nothing without tools. */
export function statesOf(tools: readonly { readonly state: ToolState }[]): string {
  const words = (["approved", "new", "changed"] as const).flatMap((state) => {
    const count = tools.filter((each) => each.state === state).length;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  return words.length === 0 ? "" : ` (${words.join(", ")})`;
}

function toolLines({ name, toolName, state, change, definition }: CheckedMcpTool, page: Page): string[] {
  const { style, columns } = page;
  const shown = inertLine(toolName, 70);
  const mark = state === "changed" ? style.paint("yellow", state) : state;
  const nameColumns = Math.min(NAME_COLUMNS, columns - "    approved".length);
  const isTight = page.isTerminal && displayWidth(shown) + displayWidth(`    ${state}`) > columns;
  const own = toolName.endsWith(`__${name}`) ? [] : hung("    its own name: ", inertLine(name, 300), page);
  return [
    ...(isTight ? [...hung("  ", shown, page), `    ${mark}`] : [`  ${shown.padEnd(nameColumns)}  ${mark}`]),
    ...own,
    ...quoted("    ", definition.description, page),
    ...(change === undefined ? [] : [...hung("    ", "what has changed:", page), ...quoted("    ", change, page)]),
  ];
}

function schemaLines({ definition }: CheckedMcpTool, page: Page): string[] {
  const schema = JSON.stringify(definition.inputSchema, undefined, 2);
  return [...hung("    ", "input schema:", page), ...quoted("    ", schema, page)];
}

const NAME_COLUMNS = 40;

/** A stranger's text, line by line and whole. Every line is marked, so that none of it can pass for ours. */
function quoted(indent: string, text: string, page: Page): string[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .flatMap((line) => {
      const room = page.columns - displayWidth(`${indent}|   `);
      const [first = "", ...rest] = brokenAt(inertLine(line, line.length), room, page);
      return [`${indent}| ${first}`, ...rest.map((each) => `${indent}|   ${each}`)];
    });
}

/** The text behind a head; further lines begin below its first word. */
function hung(head: string, text: string, page: Page): string[] {
  const isNarrow = page.columns - head.length < MIN_TEXT_COLUMNS;
  const indent = isNarrow ? "    " : " ".repeat(head.length);
  const lines = brokenAt(text, page.columns - indent.length, page);
  if (isNarrow && page.isTerminal) return [head.trimEnd(), ...lines.map((line) => indent + line)];
  return lines.map((line, index) => (index === 0 ? head : indent) + line);
}

function brokenAt(text: string, columns: number, { isTerminal }: Page): string[] {
  return isTerminal ? breakLine(text, Math.max(MIN_TEXT_COLUMNS, columns)) : [text];
}
