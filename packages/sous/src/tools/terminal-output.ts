/** What a command said and how it ended, in the words a model reads. */

import { plainText } from "../core/clean-text.ts";
import type { ProgramOutput, ProgramResult } from "../core/process.ts";
import type { Redactor } from "../core/redact.ts";
import { leftOutNotice, truncateUtf8, truncateUtf8Start } from "../core/truncate.ts";
import { utf8Length } from "../core/usage.ts";

const MAX_BYTES = 48 * 1024;
/** More than the longest secret: one that lies across a cut must be seen as a whole, or half of it stays. */
const MARGIN_BYTES = 8 * 1024;

/** How much of the output a program is asked to keep. */
export const KEPT_OUTPUT_BYTES = MAX_BYTES + 2 * MARGIN_BYTES;

export function describeOutput({ head, tail, droppedBytes }: ProgramOutput, redactor: Redactor): string {
  // Codes first: they could stand in the middle of a secret. Then secrets, and only then the cut.
  const first = redactor.text(plainText(head));
  const last = redactor.text(plainText(tail));
  if (droppedBytes === 0 && utf8Length(first) <= MAX_BYTES) return first.trimEnd();
  const start = truncateUtf8(first, MAX_BYTES / 2);
  const end = truncateUtf8Start(last === "" ? first : last, MAX_BYTES / 2);
  const left = utf8Length(first) + utf8Length(last) + droppedBytes - start.keptBytes - end.keptBytes;
  return `${start.text}\n${leftOutNotice(left)}\n${end.text.trimEnd()}`;
}

/** One sentence; undefined for a command that has done what it should. */
export function describeEnding(result: ProgramResult, timeoutMs: number | undefined): string | undefined {
  const { exitCode, endedBy, stopped } = result;
  if (stopped === "timeout") {
    return `The command was stopped after ${inSeconds(timeoutMs ?? 0)}, its time limit. Give it more time with timeout, or run it with background: true.`;
  }
  if (stopped === "cancelled") return "The command was stopped.";
  if (exitCode === null) return `The command was ended by ${endedBy ?? "a signal"}.`;
  if (exitCode === 127) return "The command ended with exit code 127: a program in it was not found.";
  return exitCode === 0 ? undefined : `The command ended with exit code ${exitCode}.`;
}

export function inSeconds(milliseconds: number): string {
  const seconds = Number((milliseconds / 1000).toFixed(1));
  return seconds === 1 ? "1 second" : `${seconds} seconds`;
}
