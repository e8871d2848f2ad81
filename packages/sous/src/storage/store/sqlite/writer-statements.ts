/** The statements that write the events of a journal, and which events need more than one of them. */

import type { OpenQuestions } from "../../../core/approval.ts";
import { isProgress } from "../../../core/engine.ts";
import type { StoredEvent } from "../../../core/event.ts";
import { MAX_VALUE_BYTES } from "./schema.ts";

/** More events in one statement save nothing that can be measured. */
export const MAX_AT_ONCE = 16;
const FIND_OURS = "SELECT 1 FROM runs WHERE number = ? AND fence = ? AND owner = ?";
/**
 * Statements by the number of events they add. Parameters have no numbers here, because each number would be looked up for
 * every value.
 */
export const ADD: readonly string[] = Array.from({ length: MAX_AT_ONCE + 1 }, (_, count) => {
  const rows = new Array(count).fill("(?, ?, ?, ?)").join();
  return `INSERT INTO events (key, run, type, json)
SELECT (? << 28) | column1, column2, column3, column4 FROM (VALUES ${rows})`;
});
export const ADD_IF_OURS: readonly string[] = ADD.map((add) => `${add} WHERE EXISTS (${FIND_OURS})`);
export const FIND_RUN = "SELECT number, root, status FROM runs WHERE id = ?";
export const FIND_MODEL = "SELECT model FROM runs WHERE number = ?";
export const FIND_QUESTIONS = `SELECT iif(octet_length(questions) > ${MAX_VALUE_BYTES}, '', questions) AS questions FROM runs WHERE number = ?`;
export const SET_QUESTIONS = "UPDATE runs SET questions = ? WHERE number = ?";
export const SET_ROOT = "UPDATE runs SET of_root = ? WHERE number = ?";
export const OPEN = "UPDATE runs SET is_open = 1, claims = 0, mail_seen = 0 WHERE number = ?";
export const NOTE_PLACED =
  "UPDATE runs SET claims = ?, mail_seen = max(ifnull(mail_seen, 0), ?), is_open = ? WHERE number = ?";
export const NEXT_NUMBER = "SELECT ifnull(max(number), 0) + 1 AS number FROM runs";

type JournalState = { readonly questions: OpenQuestions; readonly isOpen: boolean; readonly claims: number };

/** True for an event that also changes other rows. */
export function isMoreThanARow(event: StoredEvent, { questions, isOpen, claims }: JournalState): boolean {
  const { type } = event;
  if (CHANGES_OTHER_TABLES.has(type) || (questions.size > 0 && CLOSES_QUESTIONS.has(type))) return true;
  return isOpen && (SAYS_MAIL.has(type) || (claims > 0 && isProgress(event)));
}

const CHANGES_OTHER_TABLES: ReadonlySet<StoredEvent["type"]> = new Set([
  "run-start",
  "run-end",
  "spawn-refused",
  "approval-request",
]);
/** The same, while a question is open. */
const CLOSES_QUESTIONS: ReadonlySet<StoredEvent["type"]> = new Set(["approval-end", "tool-call-end"]);
/** The same, of a journal that was placed. */
const SAYS_MAIL: ReadonlySet<StoredEvent["type"]> = new Set(["cancel", "steer"]);
