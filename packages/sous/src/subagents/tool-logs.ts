/** What a child's tools did, in words short enough for one line. */

import type { ToolLogEntry } from "../core/tool-log.ts";

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
    displayName: displayNameOf(toolName),
    context: describeInput(toolName, input),
    result: success ? describeOutput(kindOf(toolName), output) : cut(firstLine(output), MAX_RESULT),
    success,
    durationMs,
  };
}

type Kind = "read" | "write" | "edit" | "terminal" | "grep" | "glob" | "fetch" | "other";

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
  web_search: "fetch",
};

function kindOf(toolName: string): Kind {
  return KINDS[toolName.toLowerCase()] ?? "other";
}

function displayNameOf(toolName: string): string {
  const words = toolName.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Which field says what the call was about, best first. */
const FIELDS: Readonly<Record<Kind, readonly string[]>> = {
  read: ["path", "file_path", "filename", "file"],
  write: ["path", "file_path", "filename", "file"],
  edit: ["path", "file_path", "filename", "file"],
  terminal: ["command", "cmd", "script"],
  grep: ["pattern", "query", "regex"],
  glob: ["pattern", "glob", "path"],
  fetch: ["url", "query", "uri"],
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

function describeOutput(kind: Kind, output: string): string {
  const lines = countLines(output);
  switch (kind) {
    case "read":
      return count(lines, "line");
    case "grep":
      return isNothing(output) ? "0 matches" : count(lines, "match", "matches");
    case "glob":
      return isNothing(output) ? "0 files" : count(lines, "file");
    case "write":
      return "wrote file";
    case "edit":
      return "edited";
    case "terminal":
      return lines === 1 ? cut(output.trim(), MAX_RESULT) : lines === 0 ? "done" : count(lines, "line");
    case "fetch":
    case "other":
      return "done";
    default:
      return kind satisfies never;
  }
}

/** Tools say in words that they found nothing. */
function isNothing(output: string): boolean {
  return output.trim() === "" || /^no (matches|files)\b/i.test(output.trim());
}

function countLines(text: string): number {
  const trimmed = text.trimEnd();
  return trimmed === "" ? 0 : trimmed.split("\n").length;
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}
