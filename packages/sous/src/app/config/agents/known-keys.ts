/** Words of agent files: unknown keys that may be meant to restrict, names of agents, lists of names. */

import { createHash } from "node:crypto";
import { agent } from "../../../core/agent.ts";
import { nearest } from "../../../core/nearest.ts";

/** True when a key that is not understood may be meant to hold an agent back. */
export function looksLikeRestriction(key: string): boolean {
  const word = normalKey(key);
  const words = wordsOf(key);
  if (isAboutText(words) || REMARKS.has(words.at(-1) ?? "")) return false;
  return STEMS.some((stem) => word.includes(stem)) || nearest(word, RESTRICTIONS) !== undefined;
}

/** `max_tokens`, `maxOutputTokens`, `context_limit`: how much a model reads and writes is no right. */
function isAboutText(words: readonly string[]): boolean {
  const isNoun = (word: string): boolean => TEXT_NOUNS.has(word);
  return words.some(isNoun) && words.every((word) => isNoun(word) || MEASURES.has(word));
}

function wordsOf(key: string): string[] {
  const spaced = key.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  return spaced.split(/[^a-z0-9]+/).filter((word) => word !== "");
}

/** `tool_notes`, `permission-comment`: sentences for people. */
const REMARKS: ReadonlySet<string> = new Set([
  ...["comment", "comments", "description", "example", "examples", "hint", "hints", "note", "notes"],
  ...["rationale", "reason", "usage"],
]);

const TEXT_NOUNS: ReadonlySet<string> = new Set(["token", "tokens", "maxtokens", "length", "context", "window"]);
const MEASURES: ReadonlySet<string> = new Set([
  ...["answer", "completion", "input", "limit", "max", "maximum", "model", "new", "output", "prompt"],
  ...["reasoning", "response", "size", "thinking"],
]);

/** `allowed_tools`, `allowed-tools` and `allowedTools` are one word. */
export function normalKey(key: string): string {
  return key.toLowerCase().replace(/[^a-z0-9]/g, "");
}

const STEMS = [
  ...["tool", "perm", "deny", "denied", "allow", "readonly", "sandbox", "max", "timeout", "limit"],
  ...["restrict", "forbid", "block", "exclu", "isolat", "approv", "confirm", "polic", "budget", "access"],
  ...["guard", "capabil", "network", "only", "scope"],
];

const RESTRICTIONS = [
  ...["tools", "allowedtools", "disallowedtools", "permission", "permissions", "permissionmode", "deny"],
  ...["allow", "readonly", "sandbox", "maxturns", "timeout", "timeoutmins", "steps", "turns", "delegate"],
  ...["hooks", "disabled", "rights"],
];

const MAX_NAMED = 20;

/** One line for all of them: many files name ten. */
export function listed(names: readonly string[]): string {
  const rest = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

const MAX_LENGTH = 48;

/** The name itself when models can call it, else a word made of it. Never empty, and the same for the same name. */
export function slugOf(name: string): string {
  if (isName(name)) return name;
  const word = name
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "-")
    .replace(/^[-_]+/, "")
    .replace(/-$/, "");
  if (word === "") return `agent-${hash(name)}`;
  // Two long names that begin alike stay two.
  return word.length <= MAX_LENGTH ? word : `${word.slice(0, MAX_LENGTH - 7)}-${hash(name)}`;
}

function isName(name: string): boolean {
  try {
    agent({ name });
    return true;
  } catch {
    return false;
  }
}

function hash(name: string): string {
  return createHash("sha256").update(name).digest("hex").slice(0, 6);
}

/** `<agent-name>`, `{{name}}`, `[name]`: a template that was never filled in. */
export function isPlaceholder(name: string): boolean {
  return /^(<.*>|\{.*\}|\[.*\]|\$.*)$/s.test(name.trim());
}
