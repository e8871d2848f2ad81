/**
 * The most an agent file can be meant to allow, found in its text line by line, without YAML and without the code that is
 * tested. A line counts wherever it stands between the dashes and however it is indented: the bound is low rather than high.
 */

import type { AgentDialect } from "../../../../src/app/config/agents/file.ts";

const ALL = ["read_file", "list_files", "glob", "grep", "write_file", "edit_file", "terminal", "fetch"];
const WRITES = ["write_file", "edit_file"];

const NAMES: Readonly<Record<AgentDialect, Readonly<Record<string, readonly string[]>>>> = {
  claude: {
    Read: ["read_file"],
    LS: ["list_files"],
    Glob: ["glob"],
    Grep: ["grep"],
    Write: ["write_file"],
    Edit: ["edit_file"],
    MultiEdit: ["edit_file"],
    Bash: ["terminal"],
    WebFetch: ["fetch"],
  },
  gemini: {
    read_file: ["read_file"],
    read_many_files: ["read_file"],
    list_directory: ["list_files"],
    glob: ["glob"],
    grep_search: ["grep"],
    search_file_content: ["grep"],
    write_file: ["write_file"],
    replace: ["edit_file"],
    run_shell_command: ["terminal"],
    web_fetch: ["fetch"],
  },
  opencode: {
    read: ["read_file"],
    list: ["list_files"],
    glob: ["glob"],
    grep: ["grep"],
    write: WRITES,
    edit: WRITES,
    patch: WRITES,
    bash: ["terminal"],
    webfetch: ["fetch"],
  },
  sous: Object.fromEntries(ALL.map((tool) => [tool, [tool]])),
};

/** The tools that the file leaves. */
export function mostTools(dialect: AgentDialect, text: string): Set<string> {
  const lines = settingsOf(text);
  const allowed = new Set(ALL);
  if (dialect === "opencode") return boundOfMaps(lines, allowed);
  const names = dialect === "sous" ? { ...NAMES.sous, ...NAMES.claude } : NAMES[dialect];
  for (const said of listsOf(lines, "tools")) {
    if (said.includes("*")) continue;
    const listed = new Set(said.flatMap((name) => (Object.hasOwn(names, name) ? (names[name] ?? []) : [])));
    for (const tool of ALL) if (!listed.has(tool)) allowed.delete(tool);
  }
  for (const said of [...listsOf(lines, "disallowedTools"), ...listsOf(lines, "deny")])
    for (const name of said) for (const tool of name === "*" ? ALL : (names[name] ?? [])) allowed.delete(tool);
  const isHeld = lines.some((line) => /^\s*(permissionMode:\s*(plan|dontAsk)|isolation:)/.test(line));
  if (isHeld) for (const tool of [...WRITES, "terminal"]) allowed.delete(tool);
  return allowed;
}

/** Whether the file can be meant to allow children. */
export function mayHaveChildren(dialect: AgentDialect, text: string): boolean {
  const lines = settingsOf(text);
  if (dialect === "gemini") return false;
  if (dialect === "opencode")
    return lines.some((line) => /^\s*task:/.test(line)) && !/^\s*task:\s*(false|deny)/m.test(lines.join("\n"));
  const isNamed = listsOf(lines, "tools").some((names) =>
    names.some((name) => /^(Task|Agent|subagent|parallel_subagent)$/.test(name)),
  );
  return (
    (isNamed || lines.some((line) => /^delegate:\s*true/.test(line))) &&
    !listsOf(lines, "disallowedTools").flat().includes("Task")
  );
}

/** Between the first two lines of dashes. */
function settingsOf(text: string): string[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const start = lines.indexOf("---");
  const end = lines.indexOf("---", start + 1);
  return lines.slice(start + 1, end === -1 ? lines.length : end);
}

/** The names behind each `key:`, on its line or as items below it. With parentheses a tool is granted, and not denied as a whole. */
function listsOf(lines: readonly string[], key: string): string[][] {
  const isDenied = key !== "tools";
  return lines.flatMap((line, index) => {
    const [found, inline = ""] = new RegExp(`^\\s*["']?${key}["']?\\s*:(.*)$`).exec(line) ?? [];
    if (found === undefined) return [];
    const items: string[] = [];
    for (const below of lines.slice(index + 1)) {
      const [item, name = ""] = /^\s*-\s+(.*)$/.exec(below) ?? [];
      if (item === undefined) break;
      items.push(name);
    }
    const parts = [inline.replace(/\s#.*$/, ""), ...items]
      .join(",")
      .replace(/\w+\([^)]*\)/g, (said) => (isDenied ? "" : (said.split("(", 1)[0] ?? "")));
    const names = parts.split(/[,\s[\]]+/).map((name) => name.replace(/["']/g, ""));
    return [names.filter((name) => name !== "")];
  });
}

/** `bash: false`, `bash: deny`, `"*": deny`, and a map that ends with `"*": deny`. */
function boundOfMaps(lines: readonly string[], allowed: Set<string>): Set<string> {
  const text = lines.join("\n");
  if (/^ {2}"\*": deny/m.test(text)) {
    const opened = new Set(
      lines.flatMap((line) => NAMES.opencode[/^ {2}(\w+): (allow|ask)/.exec(line)?.[1] ?? ""] ?? []),
    );
    for (const tool of ALL) if (!opened.has(tool)) allowed.delete(tool);
  }
  for (const [name, tools] of Object.entries(NAMES.opencode)) {
    const isDenied = new RegExp(`^ +${name}: *(false|deny)`, "m").test(text);
    const isClosed = new RegExp(`^ {2}${name}:\\n( {4}.*\\n)*? {4}"\\*": deny(\\n {0,2}\\S|$(?![\\s\\S]))`, "m").test(
      text,
    );
    if (isDenied || isClosed) for (const tool of tools) allowed.delete(tool);
  }
  return allowed;
}
