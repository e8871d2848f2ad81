/** Fields of a question that only explain it or name the question itself. They change nothing, so they may hold nothing that could. */

import { isRecord } from "../../core/schema.ts";

/** The shapes of codex that are no plain values. */
const SHAPES: Readonly<Record<string, (item: unknown) => boolean>> = {
  /** The parts that codex finds in a command. */
  parsed_cmd: (item) =>
    isRecord(item) &&
    /^(?:read|list_files|search|unknown)$/.test(String(item.type)) &&
    Object.entries(item).every(
      ([name, value]) => ["type", "cmd", "name", "path", "query"].includes(name) && isFlat(value),
    ),
  /** Offers for other answers than "once", which are never given. */
  available_decisions: (item) =>
    isRecord(item) &&
    Object.entries(item).every(
      ([name, value]) => name.endsWith("_amendment") && isRecord(value) && Object.values(value).every(isFlat),
    ),
};

/** Codex sends most of them. */
export const EXPLANATIONS: ReadonlySet<string> = new Set(
  (
    "description reason justification timeout call_id turn_id process_id approval_id started_at_ms parsed_cmd " +
    "available_decisions proposed_execpolicy_amendment"
  ).split(" "),
);

export function isExplanation(name: string, value: unknown): boolean {
  if (!EXPLANATIONS.has(name)) return false;
  const isShape = SHAPES[name];
  return (
    isFlat(value) ||
    (Array.isArray(value) && value.every((item) => !Array.isArray(item) && (isFlat(item) || isShape?.(item))))
  );
}

/** A text, a number or a list of them; anything else may name a file in a way that is not known here. */
export function isFlat(value: unknown): boolean {
  return [value].flat().every((each) => typeof each !== "object" || each === null);
}
