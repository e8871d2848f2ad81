/** Agent files of Claude Code, `.claude/agents/*.md`. What only restricts there restricts here, or the agent is not loaded. */

import type { AgentDraft, KeyReader, KeyReaders } from "./draft.ts";
import { hasNoEffect, isIgnored, readDescription, readMaxTurns, readModel, readName } from "./fields.ts";
import { isSettings } from "./front-matter.ts";
import { readDenyList, readToolList } from "./tool-list.ts";
import { ASKING_TOOLS, CHANGING_TOOLS, meaningOf } from "./tools.ts";

const readPermissionMode: KeyReader = (draft, key) => {
  const mode = draft.settings[key];
  switch (mode) {
    case null:
    case "default":
    case "manual":
      return;
    case "plan":
      denyAll(draft, key, CHANGING_TOOLS);
      return;
    case "dontAsk":
      denyAll(draft, key, ASKING_TOOLS);
      draft.warn(
        "SOUS-A007",
        [key],
        `${key}: dontAsk denies every tool that would ask here`,
        "use another mode to be asked",
        "value",
      );
      return;
    case "acceptEdits":
    case "auto":
    case "bypassPermissions":
      draft.warn(
        "SOUS-A005",
        [key],
        `${key}: ${mode} has no effect here: sous asks`,
        "allow it in your own configuration",
        "value",
      );
      return;
    default:
      draft.refuse("SOUS-A004", [key], `the mode ${JSON.stringify(mode)} is not understood`, "write default or plan");
  }
};

/** It would run in a copy of the repository; here it would change the original. */
const readIsolation: KeyReader = (draft, key) => {
  if (draft.settings[key] === null) return;
  denyAll(draft, key, CHANGING_TOOLS);
  draft.warn(
    "SOUS-A007",
    [key],
    "sous has no copy of the repository for it, so it may change nothing",
    `remove ${key} to let it`,
  );
};

/** Hooks are not run. One that can refuse a call takes the tools it watches with it. */
const readHooks: KeyReader = (draft, key) => {
  const hooks = draft.settings[key];
  if (hooks === null) return;
  if (!isSettings(hooks)) {
    draft.refuse("SOUS-A004", [key], `${key} is a map of events`, `remove ${key}`);
    return;
  }
  draft.warn("SOUS-A005", [key], "hooks are not run by sous", "remove them, or leave them for the other program");
  for (const event of Object.keys(hooks).filter((each) => /^(PreToolUse|PermissionRequest)$/.test(each))) {
    const watched: unknown = hooks[event];
    for (const [index, each] of (Array.isArray(watched) ? watched : [watched]).entries())
      denyWatched(draft, [key, event, index], isSettings(each) ? each.matcher : undefined);
  }
};

function denyWatched(draft: AgentDraft, path: readonly (string | number)[], matcher: unknown): void {
  const names = typeof matcher === "string" ? matcher.split("|") : [];
  const meanings = names.map((name) => meaningOf(name.trim(), "claude"));
  if (names.length === 0 || meanings.includes("unknown")) {
    draft.refuse(
      "SOUS-A004",
      path,
      "a hook that can refuse calls is not run by sous, and which tools it watches is not understood",
      "remove the hook, or name the tools it watches: `matcher: Bash|Edit`",
    );
    return;
  }
  for (const meaning of meanings) {
    if (meaning === "children") draft.children(false, path, `hook for ${matcher}`);
    else if (typeof meaning === "object") draft.deny(meaning.tool, path, `hook for ${matcher}`);
  }
  draft.warn(
    "SOUS-A007",
    path,
    `the tools that a hook can refuse are left out: ${names.join(", ")}`,
    "remove the hook to have them",
  );
}

function denyAll(draft: AgentDraft, key: string, tools: readonly string[]): void {
  for (const tool of tools) draft.deny(tool, [key], `${key}: ${String(draft.settings[key])}`);
}

export const CLAUDE_KEYS: KeyReaders = {
  name: readName,
  description: readDescription,
  tools: readToolList,
  disallowedTools: readDenyList,
  permissionMode: readPermissionMode,
  model: readModel,
  maxTurns: readMaxTurns,
  isolation: readIsolation,
  hooks: readHooks,
  color: isIgnored,
  background: hasNoEffect("the caller of the agent decides whether it waits"),
  effort: hasNoEffect("the model's own effort is used"),
  initialPrompt: hasNoEffect("the agent gets its task from its caller"),
  mcpServers: hasNoEffect("servers are not started from agent files"),
  memory: hasNoEffect("agents keep no memory between runs"),
  skills: hasNoEffect("skills are not loaded"),
};
