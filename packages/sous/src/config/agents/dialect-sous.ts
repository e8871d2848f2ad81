/** Our own agent files: the keys of the contract of the command line. */

import { nearest } from "../../core/nearest.ts";
import { type AgentDraft, isEffect, type KeyReader, type KeyReaders, warnOfAllow } from "./draft.ts";
import {
  isIgnored,
  readDelegate,
  readDescription,
  readMaxOutputTokens,
  readMaxTurns,
  readModel,
  readName,
  readNickname,
  readNotes,
  readTimeout,
} from "./fields.ts";
import { isSettings } from "./front-matter.ts";
import { readDenyList, readToolList } from "./tool-list.ts";
import { OUR_TOOLS } from "./tools.ts";

const readOutputSchema: KeyReader = (draft, key) => {
  const value = draft.settings[key];
  if (isSettings(value)) draft.set("outputSchema", value, [key], "JSON Schema");
  else draft.refuse("SOUS-A003", [key], `${key} is a JSON Schema`, "write it as a map, such as `type: object`");
};

/** A list of rules like that of the configuration. */
const readPermissions: KeyReader = (draft, key) => {
  const value = draft.settings[key];
  if (value === null) return;
  if (Array.isArray(value)) for (const [index, each] of value.entries()) readRule(draft, [key, index], each);
  else draft.refuse("SOUS-A003", [key], `${key} is a list of rules`, 'write `- deny: "terminal(git push*)"` below it');
};

function readRule(draft: AgentDraft, path: readonly (string | number)[], value: unknown): void {
  const [entry, ...more] = isSettings(value) ? Object.entries(value) : [];
  const [effect, pattern] = entry ?? [];
  if (!isEffect(effect) || typeof pattern !== "string" || more.length > 0) {
    draft.refuse(
      "SOUS-A003",
      path,
      "a rule is one of allow, ask and deny with a pattern",
      'write `- deny: "terminal(git push*)"`',
    );
    return;
  }
  const [, tool = ""] = /^([A-Za-z0-9_-]+)(\(.*\))?$/s.exec(pattern) ?? [];
  if (!OUR_TOOLS.includes(tool)) {
    const meant = nearest(tool, OUR_TOOLS);
    const fix = meant === undefined ? `use one of ${OUR_TOOLS.join(", ")}` : `did you mean ${meant}?`;
    draft.refuse(
      "SOUS-A006",
      [...path, effect],
      `the rule ${JSON.stringify(pattern.slice(0, 80))} names no tool of sous`,
      fix,
    );
    return;
  }
  if (effect === "allow" && draft.source.scope === "project") warnOfAllow(draft, [...path, effect]);
  else draft.rule(effect, pattern, [...path, effect]);
}

export const SOUS_KEYS: KeyReaders = {
  name: readName,
  nickname: readNickname,
  description: readDescription,
  tools: readToolList,
  deny: readDenyList,
  permissions: readPermissions,
  delegate: readDelegate,
  model: readModel,
  max_turns: readMaxTurns,
  timeout: readTimeout,
  max_output_tokens: readMaxOutputTokens,
  notes: readNotes,
  output_schema: readOutputSchema,
  color: isIgnored,
};
