/** Keys of agent files that are the same in every dialect but for their name: texts, numbers and times. */

import { RESERVED_AGENT_NAMES } from "../../../core/agent.ts";
import { visibleText } from "../../../core/clean-text.ts";
import { externalName } from "../../../core/external-agent.ts";
import { EXTERNAL_PROVIDER, isExternalModel } from "../../../core/model.ts";
import { nearest } from "../../../core/nearest.ts";
import { isRecord } from "../../../core/schema.ts";
import { TURNS } from "../../../core/words/limits.ts";
import { parseDuration } from "../parse-amounts.ts";
import { type AgentDraft, isEffect, type KeyReader } from "./draft.ts";
import { isPlaceholder, listed, looksLikeRestriction, normalKey, slugOf } from "./known-keys.ts";
import { isToolWord, meaningOf } from "./tools.ts";

/** No model writes as much. */
const MAX_OUTPUT_TOKENS = 10_000_000;
const MAX_DESCRIPTION = 8192;
/** The root, and the name of a child that was made up by a call. */
const TAKEN = [...RESERVED_AGENT_NAMES, "sous", "subagent"];

export const readName: KeyReader = (draft, key) => setName(draft, draft.settings[key], [key]);

/** A name that models cannot call becomes a word that they can, and is shown to people as it is. */
export function setName(draft: AgentDraft, given: unknown, path: readonly string[]): void {
  const name = typeof given === "string" ? given.trim() : "";
  if (name === "" || isPlaceholder(name)) {
    const message = name === "" ? "the name of an agent is text" : `the name ${shown(name)} is a placeholder`;
    draft.refuse("SOUS-A003", path, message, "write `name: scout`");
    return;
  }
  const slug = freeName(slugOf(name));
  draft.set("name", slug, path);
  if (slug === name) return;
  draft.setDefault("nickname", visibleText(name).replace(/\s+/g, " ").slice(0, 100), "its name");
  if (path.length > 0 || slug !== slugOf(name)) {
    const message = `models cannot call ${shown(name)}: the agent is called ${slug}`;
    draft.warn("SOUS-A003", path, message, `write \`name: ${slug}\``, "value");
  }
}

/** `list-agent` for `list`: sous uses these names itself. */
function freeName(name: string): string {
  return TAKEN.includes(name) ? `${name}-agent` : name;
}

export const readDescription: KeyReader = (draft, key) => {
  const text = readText(draft, key);
  if (text === undefined) return;
  if (text.length > MAX_DESCRIPTION)
    draft.refuse("SOUS-A003", [key], `${key} is longer than ${MAX_DESCRIPTION} characters`, "shorten it");
  else draft.set("description", text, [key], key);
};

export const readNickname: KeyReader = (draft, key) => {
  const text = readText(draft, key);
  if (text !== undefined) draft.set("nickname", text.replace(/\s+/g, " ").slice(0, 100), [key]);
};

/** Undefined when there is nothing, or it is not a text. */
function readText(draft: AgentDraft, key: string): string | undefined {
  const value = draft.settings[key];
  if (value === null || value === "") return undefined;
  if (typeof value === "string") return visibleText(value).trim();
  const fix = `write it in quotes: \`${key}: "..."\``;
  draft.warn("SOUS-A003", [key], `${key} is text; found ${kindOf(value)}`, fix, "value");
  return undefined;
}

export const readMaxTurns: KeyReader = (draft, key) => setWhole(draft, key, "maxTurns", { most: TURNS.max, such: 20 });

export const readMaxOutputTokens: KeyReader = (draft, key) =>
  setWhole(draft, key, "maxOutputTokens", { most: MAX_OUTPUT_TOKENS, such: 2000 });

function setWhole(
  draft: AgentDraft,
  key: string,
  field: "maxTurns" | "maxOutputTokens",
  { most, such }: { most: number; such: number },
): void {
  const value = draft.settings[key];
  const isRight = typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most;
  if (isRight) draft.set(field, value, [key]);
  else draft.refuse("SOUS-A003", [key], `${key} must be a whole number from 1 to ${most}`, `write \`${key}: ${such}\``);
}

/** A timer cannot wait longer. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** `90`, `90s`, `5m`, `2h`. */
export const readTimeout: KeyReader = (draft, key) =>
  setTimeoutMs(draft, key, parseDuration(String(draft.settings[key])), "such as 90s, 5m or 2h");

export const readTimeoutMinutes: KeyReader = (draft, key) => {
  const value = draft.settings[key];
  setTimeoutMs(draft, key, typeof value === "number" ? value * 60_000 : undefined, "in minutes, such as 5");
};

function setTimeoutMs(draft: AgentDraft, key: string, milliseconds: number | undefined, hint: string): void {
  const isRight = milliseconds !== undefined && milliseconds > 0 && milliseconds <= MAX_TIMEOUT_MS;
  const message = `${key} must be a time greater than 0 and at most 24 days`;
  if (isRight) draft.set("timeoutMs", milliseconds, [key], String(draft.settings[key]));
  else draft.refuse("SOUS-A003", [key], message, `write a time ${hint}`);
}

export const readDelegate: KeyReader = (draft, key) => {
  const value = draft.settings[key];
  if (typeof value === "boolean") draft.children(value, [key], String(value));
  else draft.refuse("SOUS-A003", [key], `${key} is true or false`, `write \`${key}: true\``);
};

export const readNotes: KeyReader = (draft, key) => {
  const value = draft.settings[key];
  if (typeof value === "boolean") draft.set("notes", value, [key]);
  else draft.refuse("SOUS-A003", [key], `${key} is true or false`, `write \`${key}: false\``);
};

export const readPlace: KeyReader = (draft, key) => {
  const value = draft.settings[key];
  if (value === "worker") draft.set("place", value, [key]);
  else draft.refuse("SOUS-A003", [key], `${key} is worker`, `write \`${key}: worker\`, or remove the line`);
};

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a map" : `a ${typeof value}`;
}

/** Keys that an agent file should not have. One that looks like a restriction keeps the agent from being loaded. */
export function judgeUnknownKey(draft: AgentDraft, key: string, known: readonly string[]): void {
  const meant = known.find((each) => normalKey(each) === normalKey(key)) ?? nearest(key, known);
  const fix = meant === undefined ? `remove it; known are ${known.join(", ")}` : `did you mean ${meant}?`;
  if (/subagent/.test(normalKey(key)) && looksLikeRestriction(key)) {
    // Without children nothing is left to restrict.
    draft.children(false, [key], key);
    const message = `sous does not know ${shown(key)} and cannot limit which agents it calls, so it calls none`;
    draft.warn("SOUS-A007", [key], message, fix);
  } else if ((looksLikeRestriction(key) && !isListOfSkills(draft, key)) || isLostPermission(draft, key)) {
    const message = `the key ${shown(key)} is not understood and looks like a restriction, so the agent is not loaded`;
    draft.refuse("SOUS-A004", [key], message, fix, "key");
  } else if (meant !== undefined) warnOfUnknown(draft, [key], fix);
  else draft.unknown.push(key);
}

/** `capabilities: [refactoring, testing]`: what an agent is good at. A list that names a tool may be meant to limit it. */
function isListOfSkills({ settings }: AgentDraft, key: string): boolean {
  const value = settings[key];
  const isSkill = (each: unknown) => typeof each === "string" && !isToolWord(each) && !looksLikeRestriction(each);
  return normalKey(key) === "capabilities" && Array.isArray(value) && value.every(isSkill);
}

/** `bash: deny` at the left margin, where it belongs below `permission:`. */
function isLostPermission({ settings, source }: AgentDraft, key: string): boolean {
  const value = settings[key];
  const isRight = typeof value === "boolean" || isEffect(value) || isRecord(value);
  const meaning = meaningOf(key.replace(/[^\w-]+/g, ""), source.dialect);
  return isRight && ((typeof meaning === "object" && "tool" in meaning) || meaning === "children");
}

/** One line for all of them: many files carry a version, an author and tags. */
export function warnOfUnknownKeys(draft: AgentDraft, known: readonly string[]): void {
  const keys = draft.unknown;
  if (keys.length === 0) return;
  warnOfUnknown(draft, keys, `remove ${keys.length === 1 ? "it" : "them"}; known are ${known.join(", ")}`);
}

function warnOfUnknown(draft: AgentDraft, keys: readonly string[], fix: string): void {
  const [first = ""] = keys;
  const names = listed(keys.map(shown));
  const [what, is, has] = keys.length === 1 ? ["key", "is", "has"] : ["keys", "are", "have"];
  draft.warn("SOUS-A005", [first], `the ${what} ${names} ${is} not understood and ${has} no effect`, fix);
}

/** A key that means something to the other program and nothing here. */
export function hasNoEffect(why: string): KeyReader {
  return (draft, key) =>
    draft.warn("SOUS-A005", [key], `${key} has no effect here: ${why}`, "remove it, or leave it for the other program");
}

/** A key about looks. */
export const isIgnored: KeyReader = () => {};

function shown(key: string): string {
  return JSON.stringify(key.length > 60 ? `${key.slice(0, 60)}...` : key);
}

/** The aliases as of 2026-08. */
export const MODEL_ALIASES: Readonly<Record<string, string>> = {
  sonnet: "anthropic/claude-sonnet-5",
  opus: "anthropic/claude-opus-5",
  haiku: "anthropic/claude-haiku-4-5",
};

/** The provider of a name that has none, by how it begins. */
const FAMILIES: readonly (readonly [prefix: string, provider: string])[] = [
  ["claude-", "anthropic"],
  ["gemini-", "google"],
];

export const readModel: KeyReader = (draft, key) => {
  const text = readText(draft, key);
  if (text === undefined) return;
  // Claude Code marks the variant with a larger window.
  const name = text.replace(/\[1m\]$/, "");
  if (isExternalModel(name)) return setServer(draft, key, name);
  const model = toModel(name);
  if (model !== undefined) draft.set("model", model, [key], text);
  else warnOfModel(draft, key, text);
};

/** `external/claude`, or the whole name of a server behind the slash: `external/Claude Code`. */
function setServer(draft: AgentDraft, key: string, text: string): void {
  const { servers } = draft.source;
  const short = externalName(text.slice(EXTERNAL_PROVIDER.length + 1));
  if (short !== "" && (servers?.some((each) => externalName(each) === short) ?? true)) {
    draft.set("model", `${EXTERNAL_PROVIDER}/${short}`, [key], text);
    return;
  }
  const known = (servers ?? []).map((each) => `${EXTERNAL_PROVIDER}/${externalName(each)}`);
  const list = known.length === 0 ? "none is configured" : `known are ${known.join(", ")}`;
  const message = `there is no agent server ${JSON.stringify(text.slice(0, 60))}; ${list}`;
  draft.refuse("SOUS-A003", [key], message, "add it to agent_servers in your configuration, or name another");
}

function toModel(name: string): string | undefined {
  if (name === "inherit") return name;
  if (Object.hasOwn(MODEL_ALIASES, name)) return MODEL_ALIASES[name];
  if (/^[^\s/]+\/[^\s]+$/.test(name)) return name;
  const family = FAMILIES.find(([prefix]) => name.startsWith(prefix) && !/\s/.test(name));
  return family === undefined ? undefined : `${family[1]}/${name}`;
}

function warnOfModel(draft: AgentDraft, key: string, text: string): void {
  const message = `the model ${JSON.stringify(text.slice(0, 60))} is not known: the parent's is used`;
  const names = [...Object.keys(MODEL_ALIASES), "inherit"].join(", ");
  draft.warn("SOUS-A003", [key], message, `write provider/model, or ${names}`, "value");
}
