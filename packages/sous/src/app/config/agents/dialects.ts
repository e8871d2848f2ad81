/** The keys of agent files in three dialects: our own, Claude Code and gemini-cli. The fourth is `dialect-opencode.ts`. */

import { basename } from "node:path";
import { nearest } from "../../../core/nearest.ts";
import { isRecord } from "../../../core/schema.ts";
import type { AgentFileCode } from "../problem.ts";
import type { Path } from "../yaml/value.ts";
import { readEffort, readProviderOptions, readTemperature, readToolChoice } from "./asking.ts";
import { OPENCODE_KEYS } from "./dialect-opencode.ts";
import { type AgentDraft, isEffect, type KeyReader, type KeyReaders, warnOfAllow } from "./draft.ts";
import {
  hasNoEffect,
  isIgnored,
  readDelegate,
  readDescription,
  readMaxOutputTokens,
  readMaxTurns,
  readModel,
  readName,
  readNickname,
  readNotes,
  readPlace,
  readTimeout,
  readTimeoutMinutes,
} from "./fields.ts";
import type { AgentDialect } from "./file.ts";
import { slugOf } from "./known-keys.ts";
import { readMcpServers, watchedEntry } from "./mcp-entries.ts";
import { readDenyList, readToolList } from "./tool-list.ts";
import { ASKING_TOOLS, CHANGING_TOOLS, meaningOf, OUR_TOOLS } from "./tools.ts";

const readOutputSchema: KeyReader = (draft, key) => {
  const value = draft.settings[key];
  if (isRecord(value)) draft.set("outputSchema", value, [key], "JSON Schema");
  else draft.refuse("SOUS-A003", [key], `${key} is a JSON Schema`, "write it as a map, such as `type: object`");
};

/** A list of rules like that of the configuration. */
const readPermissions: KeyReader = (draft, key) => {
  const value = draft.settings[key];
  if (value === null) return;
  if (Array.isArray(value)) for (const [index, each] of value.entries()) readRule(draft, [key, index], each);
  else draft.refuse("SOUS-A003", [key], `${key} is a list of rules`, 'write `- deny: "terminal(git push*)"` below it');
};

function readRule(draft: AgentDraft, path: Path, value: unknown): void {
  const [entry, ...more] = isRecord(value) ? Object.entries(value) : [];
  const [effect, pattern] = entry ?? [];
  if (!isEffect(effect) || typeof pattern !== "string" || more.length > 0) {
    const fix = 'write `- deny: "terminal(git push*)"`';
    draft.refuse("SOUS-A003", path, "a rule is one of allow, ask and deny with a pattern", fix);
    return;
  }
  const [, tool = ""] = /^([A-Za-z0-9_-]+)(\(.*\))?$/s.exec(pattern) ?? [];
  if (!OUR_TOOLS.includes(tool) && !/^mcp__[A-Za-z0-9_*-]+$/.test(pattern)) {
    const meant = nearest(tool, OUR_TOOLS);
    const fix = meant === undefined ? `use one of ${OUR_TOOLS.join(", ")}` : `did you mean ${meant}?`;
    const message = `the rule ${JSON.stringify(pattern.slice(0, 80))} names no tool of sous`;
    draft.refuse("SOUS-A006", [...path, effect], message, fix);
    return;
  }
  if (effect === "allow" && draft.source.scope === "project") warnOfAllow(draft, [...path, effect]);
  else draft.rule(effect, pattern, [...path, effect]);
}

const SOUS_KEYS: KeyReaders = {
  name: readName,
  nickname: readNickname,
  description: readDescription,
  tools: readToolList,
  deny: readDenyList,
  mcp_servers: readMcpServers,
  mcpServers: readMcpServers,
  permissions: readPermissions,
  delegate: readDelegate,
  model: readModel,
  max_turns: readMaxTurns,
  timeout: readTimeout,
  max_output_tokens: readMaxOutputTokens,
  notes: readNotes,
  place: readPlace,
  temperature: readTemperature,
  effort: readEffort,
  tool_choice: readToolChoice,
  provider_options: readProviderOptions,
  output_schema: readOutputSchema,
  color: isIgnored,
};

const readPermissionMode: KeyReader = (draft, key) => {
  const mode = draft.settings[key];
  const warn = (code: AgentFileCode, message: string, fix: string) => draft.warn(code, [key], message, fix, "value");
  switch (mode) {
    case null:
    case "default":
    case "manual":
      return;
    case "plan":
      // The tools that the agent would have had are known at the end only.
      denyAll(draft, key, CHANGING_TOOLS);
      return;
    case "dontAsk":
      denyAll(draft, key, ASKING_TOOLS);
      warn("SOUS-A007", `${key}: dontAsk denies every tool that would ask here`, "use another mode to be asked");
      return;
    case "acceptEdits":
    case "auto":
    case "bypassPermissions":
      warn("SOUS-A005", `${key}: ${mode} has no effect here: sous asks`, "allow it in your own configuration");
      return;
    default:
      draft.refuse("SOUS-A004", [key], `the mode ${JSON.stringify(mode)} is not understood`, "write default or plan");
  }
};

/** It would run in a copy of the repository; here it would change the original. */
const readIsolation: KeyReader = (draft, key) => {
  if (draft.settings[key] === null) return;
  denyAll(draft, key, CHANGING_TOOLS);
  const message = "sous has no copy of the repository for it, so it may change nothing";
  draft.warn("SOUS-A007", [key], message, `remove ${key} to let it`);
};

/** Hooks are not run. Tools that a hook could refuse are denied instead. */
const readHooks: KeyReader = (draft, key) => {
  const hooks = draft.settings[key];
  if (hooks === null) return;
  if (ignoresHooks(draft)) {
    const message = "hooks are not run by sous, and agents.ignore_hooks leaves the tools that they watch";
    draft.warn("SOUS-A005", [key], message, "take the agent out of agents.ignore_hooks to lose them");
    return;
  }
  if (!isRecord(hooks)) {
    draft.refuse("SOUS-A004", [key], `${key} is a map of events`, `remove ${key}`);
    return;
  }
  draft.warn("SOUS-A005", [key], "hooks are not run by sous", "remove them, or leave them for the other program");
  for (const event of Object.keys(hooks).filter((each) => /^(PreToolUse|PermissionRequest)$/.test(each))) {
    const watched: unknown = hooks[event];
    for (const [index, each] of (Array.isArray(watched) ? watched : [watched]).entries())
      denyWatched(draft, [key, event, index], isRecord(each) ? each.matcher : undefined);
  }
};

/** The user says so for the name of the agent, for its file, or for a folder above it. */
function ignoresHooks({ source, settings }: AgentDraft): boolean {
  const { file, ignoreHooks = [] } = source;
  const name = typeof settings.name === "string" ? settings.name.trim() : basename(file).replace(/\.md$/i, "");
  return ignoreHooks.some(
    (each) => [name, slugOf(name), file].includes(each) || file.startsWith(`${each.replace(/\/$/, "")}/`),
  );
}

function denyWatched(draft: AgentDraft, path: Path, matcher: unknown): void {
  const names = typeof matcher === "string" ? matcher.split("|") : [];
  const meanings = names.map((name) => meaningOf(name.trim(), "claude"));
  if (names.length === 0 || meanings.includes("unknown")) {
    const message = "a hook that can refuse calls is not run by sous, and which tools it watches is not understood";
    const fix =
      "remove the hook, name the tools it watches (`matcher: Bash|Edit`), or list the agent in agents.ignore_hooks";
    draft.refuse("SOUS-A004", path, message, fix);
    return;
  }
  for (const meaning of meanings) {
    if (meaning === "children") draft.children(false, path, `hook for ${matcher}`);
    else if (typeof meaning === "object" && "tool" in meaning) draft.deny(meaning.tool, path, `hook for ${matcher}`);
  }
  for (const name of names.filter((each) => each.trim().startsWith("mcp")))
    draft.deny(watchedEntry(name.trim()), path, `hook for ${matcher}`);
  const message = `the tools that a hook can refuse are left out: ${names.join(", ")}`;
  draft.warn("SOUS-A007", path, message, "remove the hook, or list the agent in agents.ignore_hooks to have them");
}

function denyAll(draft: AgentDraft, key: string, tools: readonly string[]): void {
  for (const tool of tools) draft.deny(tool, [key], `${key}: ${String(draft.settings[key])}`);
}

const CLAUDE_KEYS: KeyReaders = {
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
  effort: readEffort,
  initialPrompt: hasNoEffect("the agent gets its task from its caller"),
  mcpServers: readMcpServers,
  memory: hasNoEffect("agents keep no memory between runs"),
  skills: hasNoEffect("skills are not loaded"),
};

const readKind: KeyReader = (draft, key) => {
  const kind = draft.settings[key];
  if (kind === "local" || kind === null) return;
  const message = "only agents of the kind local can be run: sous does not call remote ones";
  draft.refuse("SOUS-A008", [key], message, "write `kind: local`");
};

const refuseRemote: KeyReader = (draft, key) => {
  const message = `${key} belongs to a remote agent, which sous does not call`;
  draft.refuse("SOUS-A008", [key], message, "remove the file", "key");
};

const refusePolicy: KeyReader = (draft, key) => {
  const message = `the ${key} of an agent is not understood, so the agent is not loaded`;
  draft.refuse("SOUS-A004", [key], message, "list its tools instead", "key");
};

const GEMINI_KEYS: KeyReaders = {
  name: readName,
  display_name: readNickname,
  description: readDescription,
  kind: readKind,
  tools: readToolList,
  model: readModel,
  max_turns: readMaxTurns,
  timeout_mins: readTimeoutMinutes,
  temperature: readTemperature,
  mcpServers: readMcpServers,
  mcp_servers: readMcpServers,
  policy: refusePolicy,
  agent_card_url: refuseRemote,
  agent_card_json: refuseRemote,
  auth: refuseRemote,
};

/** Sets the defaults that its documentation promises. */
export function geminiDefaults(draft: AgentDraft): void {
  draft.setDefault("maxTurns", 30, "default of gemini-cli");
  draft.setDefault("timeoutMs", 600_000, "default of gemini-cli");
}

export const DIALECT_KEYS: Readonly<Record<AgentDialect, KeyReaders>> = {
  sous: SOUS_KEYS,
  claude: CLAUDE_KEYS,
  gemini: GEMINI_KEYS,
  opencode: OPENCODE_KEYS,
};

const ALL_KEYS: ReadonlySet<string> = new Set(Object.values(DIALECT_KEYS).flatMap((keys) => Object.keys(keys)));

/** True for a key of any dialect. */
export function isKnownKey(key: string): boolean {
  return ALL_KEYS.has(key);
}

/** Keys of any dialect that hold a text, or a word. */
const TEXT_KEYS: ReadonlySet<string> = new Set([
  ...["background", "color", "description", "display_name", "effort", "hidden", "initialPrompt", "memory", "model"],
  ...["name", "nickname", "prompt", "reasoningEffort", "skills", "temperature", "textVerbosity", "thinking"],
  ...["tool_choice", "top_p", "variant"],
]);

/** It holds lists or maps, or says what an agent may do. */
export function isStructuredKey(key: string): boolean {
  return isKnownKey(key) && !TEXT_KEYS.has(key);
}
