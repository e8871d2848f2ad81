/** The log of a child's tools, each call short enough for one line. */

import { describeCounts, linesOf, quantity, type ToolLogEntry } from "../../core/tool-log.ts";
import { type LogWords, TOOL_ROWS } from "../../core/words/tools.ts";

/** One tool call of a child in a short form. */
export type ToolLog = {
  name: string;
  displayName: string;
  /** The subject of the call: the path, the command, the pattern. */
  context: string;
  result: string;
  success: boolean;
  durationMs?: number;
};

const MAX_COMMAND = 60;
const MAX_RESULT = 50;

export function toToolLog(entry: ToolLogEntry): ToolLog {
  const { toolName, input, output, success, durationMs } = entry;
  return {
    name: toolName,
    displayName: entry.displayName || readable(toolName),
    context: describeInput(toolName, input),
    result: success ? describeOutput(entry) : cut(firstLine(output), MAX_RESULT),
    success,
    durationMs,
  };
}

type Logged = LogWords & { readonly isCommand: boolean };

/** The rows of a log by the names that these tools have here and elsewhere. */
const LOGGED: ReadonlyMap<string, Logged> = new Map([
  ...TOOL_ROWS.flatMap(([name, { log, action }]) => {
    const logged = { ...log, isCommand: action === "command" };
    return [name, ...log.alike].map((each) => [each, logged] as const);
  }),
  ["web_search", { about: ["query", "url", "q"], alike: [], isCommand: false }],
]);

function loggedAs(toolName: string): Logged | undefined {
  return LOGGED.get(toolName.toLowerCase());
}

function readable(toolName: string): string {
  const words = toolName.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function describeInput(toolName: string, input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const logged = loggedAs(toolName);
  const values = input as Record<string, unknown>;
  for (const name of logged?.about ?? Object.keys(values)) {
    const value = values[name];
    if (typeof value === "string") return logged?.isCommand === false ? value : cut(firstLine(value), MAX_COMMAND);
  }
  return "";
}

function describeOutput({ toolName, output, counts }: ToolLogEntry): string {
  const result = loggedAs(toolName)?.result;
  if (result === undefined)
    return describeCounts(counts) ?? (output.trim() === "" ? "done" : countLines(output, "line", counts));
  if (result === "printed") {
    const { lines } = linesOf(output);
    if (lines.length === 1) return cut(lines[0]?.trim() ?? "", MAX_RESULT);
    return lines.length === 0 ? "done" : countLines(output, "line", counts);
  }
  return "words" in result ? result.words : (describeCounts(counts) ?? countLines(output, result.count, counts));
}

function countLines(output: string, unit: "line" | "match" | "file", counts: ToolLogEntry["counts"]): string {
  const { lines, isCut } = linesOf(output);
  const count = unit !== "line" && isNothing(output) ? 0 : lines.length;
  return quantity(count, unit, isCut || counts?.truncated === true);
}

/** Tools write a sentence when they found nothing. */
function isNothing(output: string): boolean {
  return /^no (matches|files)\b/i.test(output.trim());
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}
