/** Lists of tools in agent files: which tools of ours are granted, which are denied, and for which calls. */

import type { PermissionEffect } from "../../../core/configuration.ts";
import { nearest } from "../../../core/nearest.ts";
import { toolRow } from "../../../core/words/tools.ts";
import type { Path } from "../yaml/value.ts";
import type { AgentDraft } from "./draft.ts";
import { listed } from "./known-keys.ts";
import { denyingEntry, EVERY_MCP_TOOL } from "./mcp-entries.ts";
import { meaningOf, namesOf, OUR_TOOLS } from "./tools.ts";

type Entry = {
  readonly path: Path;
  readonly said: string;
  readonly name: string;
  readonly specifier: string | undefined;
};

/** `tools`: absent is whatever the parent passes on, empty is none, `*` is the same as absent. */
export function readToolList(draft: AgentDraft, key: string): void {
  const entries = readEntries(draft, key);
  if (entries === undefined || entries.some(({ said }) => said === "*")) return;
  draft.limitTools([key], entries.length === 0 ? `${key}: none` : key);
  for (const entry of entries) grantEntry(draft, entry);
  warnOfElsewhere(draft, entries);
}

function warnOfElsewhere(draft: AgentDraft, entries: readonly Entry[]): void {
  const missing = entries.filter(({ name }) => meaningOf(name, draft.source.dialect) === "elsewhere");
  const [first] = missing;
  if (first === undefined) return;
  const names = [...new Set(missing.map(({ said }) => said))];
  const isOne = names.length === 1;
  const message = `sous has no tool${isOne ? "" : "s"} ${listed(names)}: ${isOne ? "it is" : "they are"} left out`;
  const them = isOne ? "it" : "them";
  draft.warn("SOUS-A006", first.path, message, `remove ${them}, or leave ${them} for the other program`);
}

function grantEntry(draft: AgentDraft, { path, said, name, specifier }: Entry): void {
  const meaning = meaningOf(name, draft.source.dialect);
  if (typeof meaning === "object") {
    const tool = "mcp" in meaning ? meaning.mcp : meaning.tool;
    draft.grant(tool, path, said);
    if (specifier !== undefined) limitTool(draft, tool, specifier, path);
  } else if (meaning === "children") {
    const message = `${said}: sous cannot limit which agents it calls, so it calls none`;
    if (specifier === undefined) draft.children(true, path, said);
    else draft.warn("SOUS-A007", path, message, `write ${name}`);
  } else if (meaning === "unknown")
    draft.warn("SOUS-A006", path, `there is no tool ${said}: it is left out`, suggestion(draft, name));
}

/** The tool may be used for these calls only, and they still ask. */
function limitTool(draft: AgentDraft, tool: string, specifier: string, path: Path): void {
  const patterns = rulePatterns(tool, specifier, "allow") ?? [];
  for (const pattern of patterns) draft.only(pattern, path);
  if (patterns.length > 0) return;
  const fix = "name the tool without parentheses, or leave it out";
  draft.refuse("SOUS-A006", path, `${tool} cannot be limited to ${specifier}`, fix);
}

/** `deny`, `disallowedTools`: nothing that is named here may be used. */
export function readDenyList(draft: AgentDraft, key: string): void {
  const entries = readEntries(draft, key) ?? [];
  for (const { path, said, name, specifier } of entries) {
    const meaning = meaningOf(name, draft.source.dialect);
    if (name === "*") for (const tool of [...OUR_TOOLS, EVERY_MCP_TOOL]) draft.deny(tool, path, said);
    else if (typeof meaning === "object") {
      const tool = "mcp" in meaning ? denyingEntry(meaning.mcp) : meaning.tool;
      denyTool(draft, tool, { path, said, name, specifier });
    } else if (meaning === "children") draft.children(false, path, said);
    // People write it in several ways: `mcp_github_create_issue`, `MCP__GitHub`.
    else if (/^mcp_/i.test(name)) draft.deny(denyingEntry(name), path, said);
    else if (meaning === "unknown" && !/^mcp/i.test(name))
      draft.refuse("SOUS-A006", path, `there is no tool ${said} that could be denied`, suggestion(draft, name));
  }
}

function denyTool(draft: AgentDraft, tool: string, { path, said, specifier }: Entry): void {
  const patterns = specifier === undefined ? undefined : rulePatterns(tool, specifier, "deny");
  if (patterns === undefined) draft.deny(tool, path, said);
  else for (const pattern of patterns) draft.rule("deny", pattern, path);
}

/** A list, or names with commas between them. Undefined when it is neither. */
function readEntries(draft: AgentDraft, key: string): Entry[] | undefined {
  const value = draft.settings[key];
  if (value === null || value === "") return [];
  const isList = Array.isArray(value) && value.every((each) => typeof each === "string");
  if (typeof value !== "string" && !isList) {
    draft.refuse("SOUS-A003", [key], `${key} is a list of tool names`, `write \`${key}: [${exampleOf(draft)}]\``);
    return undefined;
  }
  const said = typeof value === "string" ? splitNames(value) : (value as string[]);
  return said.flatMap((text, index) => {
    const trimmed = text.trim();
    if (trimmed === "") return [];
    const [, name = trimmed, specifier] = /^([^()\s]+)\((.*)\)$/s.exec(trimmed) ?? [];
    return [{ path: typeof value === "string" ? [key] : [key, index], said: trimmed, name, specifier }];
  });
}

/** Splits at commas that are not inside parentheses; a line without commas at its spaces. */
function splitNames(text: string): string[] {
  const parts: string[] = [];
  let end = text.length;
  // The loop starts at the end, so that a comma knows whether the next parenthesis behind it closes.
  let isInside = false;
  for (let at = text.length - 1; at >= 0; at--) {
    const character = text[at];
    if (character === "(" || character === ")") isInside = character === ")";
    if (character !== "," || isInside) continue;
    parts.push(text.slice(at + 1, end));
    end = at;
  }
  parts.push(text.slice(0, end));
  parts.reverse();
  return parts.length > 1 || text.includes("(") ? parts : text.trim().split(/\s+/);
}

function exampleOf({ source }: AgentDraft): string {
  return namesOf(source.dialect).slice(0, 2).join(", ");
}

function suggestion({ source }: AgentDraft, name: string): string {
  const names = namesOf(source.dialect);
  const meant = names.find((each) => each.toLowerCase() === name.toLowerCase()) ?? nearest(name, names);
  return meant === undefined ? `use one of ${names.slice(0, 8).join(", ")}` : `did you mean ${meant}?`;
}

/** Every `*` may stand for a name, or for folders too: each star doubles the number of patterns. */
const MAX_STARS = 3;

/** The patterns of rules for this tool; undefined when its calls cannot be told apart by a pattern. */
export function rulePatterns(tool: string, specifier: string, effect: PermissionEffect): string[] | undefined {
  const text = specifier.trim();
  const action = toolRow(tool)?.action;
  if (action === "command") return [`${tool}(${plain(text.replace(/:\*$/, "*"))})`];
  if (action !== "file") return undefined;
  const path = plain(text.replace(/^(\.\/|\/(?!\/))/, ""));
  // File tools do not leave the workspace anyway.
  if (/^(~|\$HOME|\/\/|\.\.)/.test(path)) return [];
  const paths = effect === "deny" ? withFolders(path) : [path];
  return paths.map((each) => `${tool}(${each})`);
}

/** `*` of the others also matches a slash, ours does not: `docs/*.md` forbids `docs/a/b.md` too. */
function withFolders(path: string): string[] {
  const [first = "", ...rest] = path.split(/\*+/);
  if (rest.length === 0) return [path];
  if (rest.length > MAX_STARS) return [`${first.slice(0, first.lastIndexOf("/") + 1)}**`];
  let paths = [first];
  for (const piece of rest) paths = paths.flatMap((each) => [`${each}*${piece}`, `${each}*/**/*${piece}`]);
  return paths;
}

/** A `*` for each character that would end a rule or that a path in it cannot have. */
function plain(pattern: string): string {
  return pattern.replace(/[()?{}[\]\\\p{Cc}]+/gu, "*");
}
