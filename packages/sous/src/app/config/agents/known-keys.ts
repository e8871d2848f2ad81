/** Which keys of agent files are known, which can restrict, and which hold more than a text. */

import { nearest } from "../../core/nearest.ts";

/** Keys of any dialect that hold lists and maps, or say what an agent may do. */
export const STRUCTURED_KEYS: ReadonlySet<string> = new Set([
  "agent_card_json",
  "agent_card_url",
  "auth",
  "delegate",
  "deny",
  "disable",
  "disabled",
  "disallowedTools",
  "hooks",
  "isolation",
  "kind",
  "maxSteps",
  "maxTurns",
  "max_output_tokens",
  "max_turns",
  "mcpServers",
  "mcp_servers",
  "mode",
  "notes",
  "options",
  "output_schema",
  "permission",
  "permissionMode",
  "permissions",
  "policy",
  "provider_options",
  "steps",
  "timeout",
  "timeout_mins",
  "tools",
]);

/** Those that hold a text, or a word. */
const TEXT_KEYS: ReadonlySet<string> = new Set([
  "background",
  "color",
  "description",
  "display_name",
  "effort",
  "hidden",
  "initialPrompt",
  "memory",
  "model",
  "name",
  "nickname",
  "prompt",
  "reasoningEffort",
  "skills",
  "temperature",
  "textVerbosity",
  "thinking",
  "tool_choice",
  "top_p",
  "variant",
]);

/** In one of the dialects. */
export function isKnownKey(key: string): boolean {
  return STRUCTURED_KEYS.has(key) || TEXT_KEYS.has(key);
}

/** Whether a key that is not understood may be meant to hold an agent back. */
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
  "comment",
  "comments",
  "description",
  "example",
  "examples",
  "hint",
  "hints",
  "note",
  "notes",
  "rationale",
  "reason",
  "usage",
]);

const TEXT_NOUNS: ReadonlySet<string> = new Set(["token", "tokens", "maxtokens", "length", "context", "window"]);
const MEASURES: ReadonlySet<string> = new Set([
  "answer",
  "completion",
  "input",
  "limit",
  "max",
  "maximum",
  "model",
  "new",
  "output",
  "prompt",
  "reasoning",
  "response",
  "size",
  "thinking",
]);

/** `allowed_tools`, `allowed-tools` and `allowedTools` are one word. */
export function normalKey(key: string): string {
  return key.toLowerCase().replace(/[^a-z0-9]/g, "");
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
