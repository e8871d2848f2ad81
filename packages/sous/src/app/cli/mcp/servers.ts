/** What `sous mcp check` prints for people. */

import type { McpServer } from "../../core/configuration.ts";
import type { ToolState } from "../../mcp/known-tools.ts";
import type { CheckedMcpServer, CheckedMcpTool } from "../../mcp/open.ts";
import type { Output } from "../terminal/output.ts";
import { breakLine, displayWidth, inertLine } from "../terminal/text.ts";
import { reachedBy } from "./servers.ts";

type Page = Pick<Output, "style" | "columns" | "isTerminal">;

const MIN_TEXT_COLUMNS = 10;

export function checkedLines(server: McpServer, checked: CheckedMcpServer, page: Page): string[] {
  const { tools, notes, stderrTail, problem } = checked;
  const { paint } = page.style;
  const isOff = server.isDisabled && server.problem === undefined;
  const head = brokenAt(inertLine(server.name, 60), page.columns, page).map((line) => paint("bold", line));
  return [
    ...head,
    ...rowsOf(server, checked, isOff).flatMap(([what, value]) =>
      hung(`  ${what.padEnd("reached by".length)}  `, inertLine(value, 1000), page),
    ),
    ...tools.flatMap((tool) => toolLines(tool, page)),
    ...notes.flatMap((note) => hung("  note  ", inertLine(note, 1000), page)),
    ...(problem === undefined || stderrTail === ""
      ? []
      : [...hung("  ", "the end of its standard error:", page), ...quoted("  ", stderrTail, page)]),
  ];
}

function rowsOf(server: McpServer, checked: CheckedMcpServer, isOff: boolean): [what: string, value: string][] {
  const { serverName = "without a name", version = "", handshakeMs, tools, transport } = checked;
  return [
    ...(isOff ? [["disabled", "runs do not start it"] as [string, string]] : []),
    ["transport", transport],
    ["reached by", reachedBy(server)],
    ["from", server.origin ?? "an editor"],
    ...(server.agents === undefined ? [] : [["for agents", server.agents.join(", ")] as [string, string]]),
    ...(server.agents === undefined ? [] : [["only for", server.agents.join(", ") || "no agent"] as [string, string]]),
    ...(handshakeMs === undefined
      ? []
      : ([
          ["handshake", `${Math.round(handshakeMs)} ms`],
          ["server", `${serverName} ${version}`.trim()],
          ["tools", `${tools.length}${statesOf(tools)}`],
        ] as [string, string][])),
  ];
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

const NAME_COLUMNS = 40;

/** A stranger's text, line by line and whole. Every line is marked, so that none of it can pass for ours. */
function quoted(indent: string, text: string, page: Page): string[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .flatMap((line) => {
      const room = page.columns - displayWidth(`${indent}|   `);
      const [first = "", ...rest] = brokenAt(inertLine(line, 5000), room, page);
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
