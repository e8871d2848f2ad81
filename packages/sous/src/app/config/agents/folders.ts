/** The folders in which agent files lie, and the dialect of each. Looks at names only. */

import { basename, dirname, join, posix, resolve, sep } from "node:path";
import type { AgentDialect } from "./file.ts";

/** The folders of a project, in the order in which they win. */
export const PROJECT_FOLDERS: readonly string[] = [
  ".sous/agents",
  ".claude/agents",
  ".gemini/agents",
  ".opencode/agent",
  ".opencode/agents",
];

export type AgentFolder = { readonly path: string; readonly dialect: AgentDialect };

/** Tells the dialect of a folder's files. */
export function dialectOf(folder: string): AgentDialect {
  const parent = basename(dirname(folder));
  const name = basename(folder);
  if (parent === ".claude" && name === "agents") return "claude";
  if (parent === ".gemini" && name === "agents") return "gemini";
  const isOpencode = parent === ".opencode" || parent === "opencode";
  return isOpencode && (name === "agent" || name === "agents") ? "opencode" : "sous";
}

/** Reads a folder as the setting `agents.also_read` names it: `~/.claude/agents`, `claude:/srv/agents`. */
export function folderNamed(text: string, home: string): AgentFolder {
  const [, named, given = ""] = /^(?:(sous|claude|gemini|opencode):)?(.*)$/s.exec(text) ?? [];
  const path = given.startsWith("~/") ? join(home, given.slice(2)) : resolve(given);
  return { path, dialect: (named as AgentDialect | undefined) ?? dialectOf(path) };
}

/** The folders below ours: what `sous agents import` has copied keeps the dialect it was written in. */
const IMPORTED: Readonly<Record<string, AgentDialect>> = {
  "from-claude": "claude",
  "from-gemini": "gemini",
  "from-opencode": "opencode",
};

/** The kind of a file in a folder of agents; `name` is for an agent whose file does not name it. */
export type AgentPlace = { readonly dialect: AgentDialect; readonly name: string };

/** `below` is its path in the folder, with forward slashes. Undefined for what is no agent file there. */
export function placeIn(folder: AgentDialect, below: string): AgentPlace | undefined {
  const [first = "", ...rest] = below.split("/");
  const imported = folder === "sous" && rest.length > 0 && Object.hasOwn(IMPORTED, first) ? IMPORTED[first] : undefined;
  const dialect = imported ?? folder;
  const parts = imported === undefined ? [first, ...rest] : rest;
  if (!parts.slice(0, -1).every((part) => isReadFolder(part, dialect))) return undefined;
  const file = parts.at(-1) ?? "";
  // gemini-cli leaves out names that begin with an underscore.
  const isHidden = file.startsWith(".") || (dialect === "gemini" && file.startsWith("_"));
  if (isHidden || !/\.md$/i.test(file)) return undefined;
  const path = parts.join("/").replace(/\.md$/i, "");
  return { dialect, name: dialect === "opencode" ? path : posix.basename(path) };
}

/** True when files are looked for in a folder of this name below a folder of agents. gemini-cli looks into none. */
function isReadFolder(name: string, folder: AgentDialect): boolean {
  return folder !== "gemini" && !name.startsWith(".") && name !== "node_modules";
}

/** The dialect of any file, by the outermost folder of agents it lies in; one that lies in none is ours. */
export function placeOf(file: string): AgentPlace {
  const parts = file.split(sep);
  for (let length = 2; length < parts.length; length++) {
    const folder = parts.slice(0, length).join("/");
    const isOurs = /(^|\/)\.?sous\/agents$/.test(folder);
    const place =
      isOurs || dialectOf(folder) !== "sous" ? placeIn(dialectOf(folder), parts.slice(length).join("/")) : undefined;
    if (place !== undefined) return place;
  }
  return { dialect: "sous", name: basename(file).replace(/\.md$/i, "") };
}
