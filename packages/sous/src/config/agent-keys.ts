/** Keys that an agent file should not have. One that looks like a restriction keeps the agent from being loaded. */

import { nearest } from "../core/nearest.ts";
import type { AgentDraft, KeyReader } from "./agent-draft.ts";

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
