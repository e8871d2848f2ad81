/** The settings about agent files: folders that are read besides our own, and hooks that are ignored. */

import { listOf } from "./setting-types.ts";
import type { ValueType } from "./value-type.ts";

export const ALSO_READ_ABOUT =
  "Folders whose agent files are read besides your own, such as ~/.claude/agents. The name of a folder says which program's files they are; else write it before the path: claude:~/team/agents.";
export const IGNORE_HOOKS_ABOUT =
  "Agents of Claude Code whose hooks are ignored: names, files or folders. Hooks are never run; an agent that is not listed loses the tools that its hooks could refuse, one that is listed has them without those checks.";

/** Absolute, or below the home folder. */
export function agentFolders(): ValueType<readonly string[]> {
  const allowed = "a list of folders";
  const item = {
    pattern: /^((sous|claude|gemini|opencode):)?(\/|~\/)[^\p{Cc}]*$/u,
    wants: "a folder that begins with / or ~/, if need be with claude:, gemini:, opencode: or sous: before it",
  };
  return listOf(item, allowed, `${allowed} such as ["~/.claude/agents", "claude:~/team/agents"]`);
}

/** Names of agents, or files and folders as `sous agents check` names them. */
export function agentNames(): ValueType<readonly string[]> {
  const allowed = "a list of names, files or folders";
  const item = { pattern: /^[^\p{Cc}]+$/u, wants: "the name of an agent, a file or a folder" };
  return listOf(item, allowed, `${allowed} such as [reviewer, .claude/agents/]`);
}
