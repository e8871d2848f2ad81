/** Journals and runs as the memory store holds them, and the records that are folded from them. */

import type { OpenQuestions } from "../../core/approval.ts";
import type { EventOf } from "../../core/event.ts";
import { addToRunRecord, beginRunRecord, NO_OWNER, type RunRecord } from "../../core/store.ts";
import { type KeptEvent, runIdOf, toStoredEvent } from "./brief-event.ts";

export type MemoryJournal = {
  readonly journalId: string;
  /** The root of its tree. */
  readonly rootId: string;
  readonly events: KeptEvent[];
  /** The time of the first of them. */
  readonly epoch: number;
  fence: number;
  /** True from the first event of its owner to the end of its first run. Its owner lives as long as this store does. */
  isOwned: boolean;
  /** It was claimed at least once. */
  wasClaimed: boolean;
  lost: string | undefined;
  readonly questions: OpenQuestions;
  /** Set for one that was placed. */
  placed: MemoryPlaced | undefined;
};

export type MemoryPlaced = {
  readonly agent: string;
  /** False when its first run has ended. */
  isOpen: boolean;
  claims: number;
  /** The number of the last mail when it was taken, or of the last that it recorded. */
  mailSeen: number;
  /** The worker that took it last. */
  worker: string | undefined;
};

/** The first and last index of a run in the array of its journal. */
export type MemoryRow = {
  readonly journal: MemoryJournal;
  readonly start: EventOf<"run-start">;
  readonly startIndex: number;
  endIndex: number | undefined;
};

export function isQueued({ placed, fence }: MemoryJournal): boolean {
  return placed?.isOpen === true && fence === NO_OWNER;
}

export function statusOf({ journal, endIndex }: MemoryRow): RunRecord["status"] {
  const end = endIndex === undefined ? undefined : journal.events[endIndex];
  if (end?.type === "run-end") return end.status;
  if (journal.isOwned) return "running";
  if (isQueued(journal)) return "queued";
  return journal.questions.size > 0 ? "waiting" : "interrupted";
}

/** The records of these runs in this order, with one walk through each of their journals. */
export function foldRows(rows: readonly MemoryRow[]): RunRecord[] {
  const wanted = new Map<string, RunRecord>();
  const reach = new Map<MemoryJournal, { from: number; to: number }>();
  for (const { journal, start, startIndex, endIndex } of rows) {
    wanted.set(start.runId, beginRunRecord(journal.journalId, start, journal.rootId));
    const { from, to } = reach.get(journal) ?? { from: startIndex, to: 0 };
    const end = endIndex ?? journal.events.length - 1;
    reach.set(journal, { from: Math.min(from, startIndex), to: Math.max(to, end) });
  }
  for (const [journal, { from, to }] of reach) {
    for (let index = from; index <= to; index++) {
      const event = journal.events[index];
      const record = event && wanted.get(runIdOf(event));
      if (event !== undefined && record !== undefined) addToRunRecord(record, toStoredEvent(event, journal.epoch));
    }
  }
  for (const row of rows) {
    const record = wanted.get(row.start.runId);
    if (record?.status === "running") record.status = statusOf(row);
    if (record?.id === row.journal.journalId && row.journal.lost !== undefined) record.lost = row.journal.lost;
  }
  return [...wanted.values()];
}
