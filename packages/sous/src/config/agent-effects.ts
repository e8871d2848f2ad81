/** What an agent file may say about calls: allow, ask, deny; and what is made of an allow in a project. */

import type { PermissionEffect } from "../core/configuration.ts";
import type { AgentDraft } from "./agent-draft.ts";

export function isEffect(word: unknown): word is PermissionEffect {
  return word === "allow" || word === "ask" || word === "deny";
}

/** What a project allows is not heard: only its user can answer for the machine. */
export function warnOfAllow(draft: AgentDraft, path: readonly (string | number)[]): void {
  draft.warn(
    "SOUS-A007",
    path,
    "a file of a project can add and narrow, it cannot allow: the call asks as it would without this line",
    "allow it in your own configuration if you want that",
  );
}
