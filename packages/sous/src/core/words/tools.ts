/**
 * The tools of sous in words: all that rules, logs, editors and agent files know of a built-in tool or of one for children without
 * loading it. A tool of a user has no row, and is judged and shown by the fields of its input.
 */

import { isRecord } from "../schema.ts";
import type { Tool } from "../tool.ts";

/** A tool of the command line by its name. */
export type BuiltInToolName =
  | "read_file"
  | "list_files"
  | "glob"
  | "grep"
  | "write_file"
  | "edit_file"
  | "terminal"
  | "fetch";

type ToolRow = Pick<Tool, "displayName" | "category" | "tier" | "effect"> & {
  /**
   * The object of a call, for rules and for people: the command in `command`, the file at `path`, the folder at `path` with
   * everything below it, the host of `url`.
   */
  readonly action: "command" | "file" | "folder" | "host";
  readonly log: LogWords;
  /** The names in lists of tools that agent files of other programs have. */
  readonly names: Readonly<Record<"claude" | "gemini" | "opencode", readonly string[]>>;
  /** The fields with the texts that a call replaces and writes, where an editor can show the change. */
  readonly change?: { readonly old?: string; readonly new: string };
};

/** A finished call as one line of a log. */
export type LogWords = {
  /** The fields that say what the call was about, best first. */
  readonly about: readonly string[];
  /** The result: how many of a unit, words, or the text that the command has printed. */
  readonly result?: { readonly count: "line" | "match" | "file" } | { readonly words: string } | "printed";
  /** Small letters: tools of others with these names do the same, and their calls are logged alike. */
  readonly alike: readonly string[];
};

const FILE = ["path", "file_path", "filename", "file"];

/** The tools in the order that people and models see. */
const TOOLS: Readonly<Record<BuiltInToolName, ToolRow>> = {
  read_file: {
    displayName: "Read file",
    category: "read",
    tier: "observe",
    effect: "read",
    action: "file",
    log: { about: FILE, result: { count: "line" }, alike: ["read", "view", "cat"] },
    names: { claude: ["Read"], gemini: ["read_file", "read_many_files"], opencode: ["read"] },
  },
  list_files: {
    displayName: "List files",
    category: "search",
    tier: "observe",
    effect: "read",
    action: "folder",
    log: { about: ["pattern", "glob", "path"], result: { count: "file" }, alike: ["ls"] },
    names: { claude: ["LS"], gemini: ["list_directory"], opencode: ["list"] },
  },
  glob: {
    displayName: "Find files",
    category: "search",
    tier: "observe",
    effect: "read",
    action: "folder",
    log: { about: ["pattern", "glob", "path"], result: { count: "file" }, alike: ["find"] },
    names: { claude: ["Glob"], gemini: ["glob"], opencode: ["glob"] },
  },
  grep: {
    displayName: "Search",
    category: "search",
    tier: "observe",
    effect: "read",
    action: "folder",
    log: {
      about: ["pattern", "query", "regex"],
      result: { count: "match" },
      alike: ["search", "search_files", "ripgrep"],
    },
    names: { claude: ["Grep"], gemini: ["grep_search", "search_file_content"], opencode: ["grep"] },
  },
  write_file: {
    displayName: "Write file",
    category: "edit",
    tier: "confirm",
    effect: "idempotent",
    action: "file",
    change: { new: "content" },
    log: { about: FILE, result: { words: "wrote file" }, alike: ["write", "create", "create_file"] },
    names: { claude: ["Write"], gemini: ["write_file"], opencode: ["write"] },
  },
  edit_file: {
    displayName: "Edit file",
    category: "edit",
    tier: "confirm",
    effect: "idempotent",
    action: "file",
    change: { old: "old", new: "new" },
    log: {
      about: FILE,
      result: { words: "edited" },
      alike: ["edit", "str_replace", "multi_edit", "apply_patch"],
    },
    names: {
      claude: ["Edit", "MultiEdit"],
      gemini: ["replace"],
      opencode: ["edit", "multiedit", "patch", "apply_patch"],
    },
  },
  terminal: {
    displayName: "Terminal",
    category: "execute",
    tier: "confirm",
    effect: "unsafe",
    action: "command",
    log: {
      about: ["command", "cmd", "script"],
      result: "printed",
      alike: ["bash", "shell", "run_command", "execute"],
    },
    names: { claude: ["Bash"], gemini: ["run_shell_command"], opencode: ["bash"] },
  },
  fetch: {
    displayName: "Fetch",
    category: "read",
    tier: "confirm",
    effect: "read",
    action: "host",
    log: { about: ["url", "query", "uri"], result: { words: "done" }, alike: ["web_fetch", "webfetch"] },
    names: { claude: ["WebFetch"], gemini: ["web_fetch"], opencode: ["webfetch"] },
  },
};

export const TOOL_ROWS: readonly (readonly [name: string, row: ToolRow])[] = Object.entries(TOOLS);

/** Undefined for a tool that is not built in. */
export function toolRow(name: string): ToolRow | undefined {
  return Object.hasOwn(TOOLS, name) ? TOOLS[name as BuiltInToolName] : undefined;
}

/** The options of `tool()` for a built-in tool, but for its description, its input and its work. */
export function toolWords(name: BuiltInToolName): Pick<Tool, "name" | "displayName" | "category" | "tier" | "effect"> {
  const { displayName, category, tier, effect } = TOOLS[name];
  return { name, displayName, category, tier, effect };
}

/** The fields that say what a call of any tool is about, best first. */
const TELLING = ["pattern", "path", "command", "url", "label", "task", "task_prompt", "query"];

/** Empty when the input does not say. */
export function aboutInput(input: unknown): string {
  const fields = new Map(isRecord(input) ? Object.entries(input) : []);
  const text = TELLING.map((name) => fields.get(name)).find((each) => typeof each === "string");
  return text ?? "";
}

type ChildTool = {
  readonly name: string;
  /** `start-described` starts a child whose label is the `description` of the call. */
  readonly does: "start" | "start-described" | "find" | "follow-up";
  /** The description for people. Unset for a tool that `delegate: true` does not give. */
  readonly about?: string;
};

/** Hands a task to an external agent. */
export const DELEGATE_TOOL = "subagent_delegate";

/** Finds one of many agents. */
export const FIND_TOOL = "agents_find";

/** The tools for children in the order that models see. Besides, an agent that can be called has a tool `subagent_NAME`. */
export const CHILD_TOOLS: readonly ChildTool[] = [
  { name: "subagent", does: "start", about: "hand a task to a child and wait for its report" },
  { name: "parallel_subagent", does: "start", about: "several children at once" },
  { name: "subagent_spawn", does: "start-described" },
  { name: DELEGATE_TOOL, does: "start-described" },
  { name: FIND_TOOL, does: "find", about: "find one of many agents by what it does" },
  { name: "subagent_send", does: "follow-up", about: "say something more to a child" },
  { name: "subagent_report", does: "follow-up", about: "the whole of a report that was cut" },
  { name: "subagent_wait", does: "follow-up", about: "wait for children in the background" },
  { name: "subagent_cancel", does: "follow-up", about: "stop a child" },
  { name: "subagent_list", does: "follow-up", about: "the children so far" },
];

export function childTools(...does: readonly ChildTool["does"][]): readonly string[] {
  return CHILD_TOOLS.filter((each) => does.includes(each.does)).map(({ name }) => name);
}
