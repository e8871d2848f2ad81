/** A damaged run in words: why, and what a person can do. Nothing else in its database is affected. */

import type { RunRecord } from "../../../core/store.ts";
import { inertLine } from "../terminal/text.ts";
import { type DatabaseFlags, sameDatabase } from "./database.ts";

/** Undefined for a run that is not damaged. */
export function damageSentence({ id, damage }: RunRecord, flags?: DatabaseFlags): string | undefined {
  if (damage === undefined) return undefined;
  const read = `sous replay --id ${inertLine(id, 60)} --export html --output FILE${flags === undefined ? "" : sameDatabase(flags)}`;
  return `${inertLine(damage, 300)}. It cannot be resumed; ${read} saves what can be read, and sous replay --prune AGE deletes old runs.`;
}

/** For `onDamage`: the record says what was found first. */
export function noteOn(record: RunRecord): (error: Error) => void {
  return ({ message }) => {
    record.damage ??= message;
  };
}
