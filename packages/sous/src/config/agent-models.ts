/** Which model an agent file names. The short names stand in one table: they mean the newest of their kind. */

import type { AgentDraft, KeyReader } from "./agent-draft.ts";
import { readText } from "./agent-fields.ts";

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
  const model = toModel(name);
  if (model !== undefined) draft.set("model", model, [key], text);
  else warnOfModel(draft, key, text);
};

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
