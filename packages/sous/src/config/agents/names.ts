/** Names of agents: what a file calls its agent may be anything, what models call is a short word. */

import { createHash } from "node:crypto";
import { agent } from "../../core/agent.ts";

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
