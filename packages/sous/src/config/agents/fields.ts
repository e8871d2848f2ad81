/** Keys of agent files that are the same in every dialect but for their name: texts, numbers and times. */

import { agent, RESERVED_AGENT_NAMES } from "../../core/agent.ts";
import { visibleText } from "../../core/clean-text.ts";
import { messageOf } from "../../core/errors.ts";
import { isOutsideModel, OUTSIDE_PROVIDER } from "../../core/model.ts";
import { nearest } from "../../core/nearest.ts";
import { outsideName } from "../../core/outside-agent.ts";
import { parseDuration } from "../../core/units.ts";
import type { AgentDraft, KeyReader } from "./draft.ts";

const MAX_TURNS = 1000;
/** No model writes as much. */
const MAX_OUTPUT_TOKENS = 10_000_000;
const MAX_DESCRIPTION = 8192;
/** The root, and the name of a child that was made up by a call. */
const TAKEN = [...RESERVED_AGENT_NAMES, "sous", "subagent"];

export const readName: KeyReader = (draft, key) => setName(draft, draft.settings[key], [key]);

/** Refuses what could not be the name of an agent. */
export function setName(draft: AgentDraft, name: unknown, path: readonly string[]): void {
  if (typeof name !== "string") {
    draft.refuse("SOUS-A003", path, "the name of an agent is text", "write `name: scout`");
    return;
  }
  try {
    agent({ name });
  } catch (error) {
    draft.refuse("SOUS-A003", path, messageOf(error), `write \`name: ${slugOf(name)}\``);
    return;
  }
  if (TAKEN.includes(name))
    draft.refuse(
      "SOUS-A003",
      path,
      `an agent cannot be called ${name}: sous uses the name itself`,
      "choose another name",
    );
  else draft.set("name", name, path);
}

function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 48);
  return slug === "" ? "scout" : slug;
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
  draft.warn(
    "SOUS-A003",
    [key],
    `${key} is text; found ${kindOf(value)}`,
    `write it in quotes: \`${key}: "..."\``,
    "value",
  );
  return undefined;
}

export const readMaxTurns: KeyReader = (draft, key) => setWhole(draft, key, "maxTurns", { most: MAX_TURNS, such: 20 });

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
  if (isRight) draft.set("timeoutMs", milliseconds, [key], String(draft.settings[key]));
  else
    draft.refuse(
      "SOUS-A003",
      [key],
      `${key} must be a time greater than 0 and at most 24 days`,
      `write a time ${hint}`,
    );
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

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a map" : `a ${typeof value}`;
}

/** Keys that an agent file should not have. One that looks like a restriction keeps the agent from being loaded. */
export function judgeUnknownKey(draft: AgentDraft, key: string, known: readonly string[]): void {
  const meant = known.find((each) => normal(each) === normal(key)) ?? nearest(key, known);
  const fix = meant === undefined ? `remove it; known are ${known.join(", ")}` : `did you mean ${meant}?`;
  if (looksLikeRestriction(key)) {
    draft.refuse(
      "SOUS-A004",
      [key],
      `the key ${shown(key)} is not understood and looks like a restriction, so the agent is not loaded`,
      fix,
      "key",
    );
  } else draft.warn("SOUS-A005", [key], `the key ${shown(key)} is not understood and has no effect`, fix);
}

/** A key that means something to the other program and nothing here. */
export function hasNoEffect(why: string): KeyReader {
  return (draft, key) =>
    draft.warn("SOUS-A005", [key], `${key} has no effect here: ${why}`, "remove it, or leave it for the other program");
}

/** A key about looks. */
export const isIgnored: KeyReader = () => {};

function looksLikeRestriction(key: string): boolean {
  const word = normal(key);
  return STEMS.some((stem) => word.includes(stem)) || nearest(word, RESTRICTIONS) !== undefined;
}

/** `allowed_tools`, `allowed-tools` and `allowedTools` are one word. */
function normal(key: string): string {
  return key.toLowerCase().replace(/[^a-z0-9]/g, "");
}

function shown(key: string): string {
  return JSON.stringify(key.length > 60 ? `${key.slice(0, 60)}...` : key);
}

const STEMS = [
  "tool",
  "perm",
  "deny",
  "denied",
  "allow",
  "readonly",
  "sandbox",
  "max",
  "timeout",
  "limit",
  "restrict",
  "forbid",
  "block",
  "exclu",
  "isolat",
  "approv",
  "confirm",
  "polic",
  "budget",
  "access",
  "guard",
  "capabil",
  "network",
  "only",
  "scope",
];

const RESTRICTIONS = [
  "tools",
  "allowedtools",
  "disallowedtools",
  "permission",
  "permissions",
  "permissionmode",
  "deny",
  "allow",
  "readonly",
  "sandbox",
  "maxturns",
  "timeout",
  "timeoutmins",
  "steps",
  "turns",
  "delegate",
  "hooks",
  "disabled",
  "rights",
];

/** As of 2026-08. */
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
  if (isOutsideModel(name)) {
    setServer(draft, key, name);
    return;
  }
  const model = toModel(name);
  if (model !== undefined) draft.set("model", model, [key], text);
  else warnOfModel(draft, key, text);
};

/** `external/claude`, or the whole name of a server behind the slash: `external/Claude Code`. */
function setServer(draft: AgentDraft, key: string, text: string): void {
  const { servers } = draft.source;
  const short = outsideName(text.slice(OUTSIDE_PROVIDER.length + 1));
  if (short !== "" && (servers?.some((each) => outsideName(each) === short) ?? true)) {
    draft.set("model", `${OUTSIDE_PROVIDER}/${short}`, [key], text);
    return;
  }
  const known = (servers ?? []).map((each) => `${OUTSIDE_PROVIDER}/${outsideName(each)}`);
  const list = known.length === 0 ? "none is configured" : `known are ${known.join(", ")}`;
  draft.refuse(
    "SOUS-A003",
    [key],
    `there is no agent server ${JSON.stringify(text.slice(0, 60))}; ${list}`,
    "add it to agent_servers in your configuration, or name another",
  );
}

function toModel(name: string): string | undefined {
  if (name === "inherit") return name;
  if (Object.hasOwn(MODEL_ALIASES, name)) return MODEL_ALIASES[name];
  if (/^[^\s/]+\/[^\s]+$/.test(name)) return name;
  const family = FAMILIES.find(([prefix]) => name.startsWith(prefix) && !/\s/.test(name));
  return family === undefined ? undefined : `${family[1]}/${name}`;
}

function warnOfModel(draft: AgentDraft, key: string, text: string): void {
  const shown = JSON.stringify(text.slice(0, 60));
  const names = [...Object.keys(MODEL_ALIASES), "inherit"].join(", ");
  draft.warn(
    "SOUS-A003",
    [key],
    `the model ${shown} is not known: the parent's is used`,
    `write provider/model, or ${names}`,
    "value",
  );
}
