/** What a child's tools did, each call short enough for one line. */

import { describeCounts, linesOf, quantity, type ToolLogEntry } from "../core/tool-log.ts";

/** One tool call of a child in a short form. */
export type ToolLog = {
  name: string;
  displayName: string;
  /** What it was about: the path, the command, the pattern. */
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

type Kind = "read" | "write" | "edit" | "terminal" | "grep" | "glob" | "fetch" | "search" | "other";

/** The names these tools have in our dialect and in others. */
const KINDS: Readonly<Record<string, Kind>> = {
  read: "read",
  read_file: "read",
  view: "read",
  cat: "read",
  write: "write",
  write_file: "write",
  create: "write",
  create_file: "write",
  edit: "edit",
  edit_file: "edit",
  str_replace: "edit",
  multi_edit: "edit",
  apply_patch: "edit",
  terminal: "terminal",
  bash: "terminal",
  shell: "terminal",
  run_command: "terminal",
  execute: "terminal",
  grep: "grep",
  search: "grep",
  search_files: "grep",
  ripgrep: "grep",
  glob: "glob",
  list_files: "glob",
  find: "glob",
  ls: "glob",
  fetch: "fetch",
  web_fetch: "fetch",
  webfetch: "fetch",
  web_search: "search",
};

function kindOf(toolName: string): Kind {
  return KINDS[toolName.toLowerCase()] ?? "other";
}

function readable(toolName: string): string {
  const words = toolName.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The fields that say what the call was about, best first. */
const FIELDS: Readonly<Record<Kind, readonly string[]>> = {
  read: ["path", "file_path", "filename", "file"],
  write: ["path", "file_path", "filename", "file"],
  edit: ["path", "file_path", "filename", "file"],
  terminal: ["command", "cmd", "script"],
  grep: ["pattern", "query", "regex"],
  glob: ["pattern", "glob", "path"],
  fetch: ["url", "query", "uri"],
  search: ["query", "url", "q"],
  other: [],
};

export function describeInput(toolName: string, input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const kind = kindOf(toolName);
  const values = input as Record<string, unknown>;
  const names = kind === "other" ? Object.keys(values) : FIELDS[kind];
  for (const name of names) {
    const value = values[name];
    if (typeof value === "string")
      return kind === "terminal" || kind === "other" ? cut(firstLine(value), MAX_COMMAND) : value;
  }
  return "";
}

function describeOutput({ toolName, output, counts }: ToolLogEntry): string {
  const kind = kindOf(toolName);
  switch (kind) {
    case "write":
      return "wrote file";
    case "edit":
      return "edited";
    case "fetch":
      return "done";
    case "read":
      return describeCounts(counts) ?? countLines(output, "line", counts);
    case "grep":
      return describeCounts(counts) ?? countLines(output, "match", counts);
    case "glob":
      return describeCounts(counts) ?? countLines(output, "file", counts);
    case "terminal": {
      const { lines } = linesOf(output);
      if (lines.length === 1) return cut(lines[0]?.trim() ?? "", MAX_RESULT);
      return lines.length === 0 ? "done" : countLines(output, "line", counts);
    }
    case "search":
    case "other":
      return describeCounts(counts) ?? (output.trim() === "" ? "done" : countLines(output, "line", counts));
    default:
      return kind satisfies never;
  }
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
