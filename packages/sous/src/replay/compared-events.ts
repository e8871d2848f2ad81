/** Which events of a recording a rerun is compared with: a rerun is not interrupted. */

import type { EventOf, StoredEvent } from "../core/event.ts";
import { isOutsideModel } from "../core/model.ts";

/** Without what only time brings, and without the questions that a restart asked again, to the model and to the person. */
export function compared(events: readonly StoredEvent[]): StoredEvent[] {
  const forgotten = forgottenQuestions(events);
  let openTurn: number | undefined;
  let isResumed = false;
  const sessions = new Set<string>();
  return events.filter((event) => {
    // The session that a restart opened again, and what it said there.
    if (event.type === "outside-session" && sessions.has(event.runId)) return false;
    if (event.type === "outside-session") sessions.add(event.runId);
    if (event.type === "notice" && event.reason === "interrupted") return false;
    if (forgotten.has(event)) return false;
    if (event.type === "message-end") openTurn = undefined;
    if (event.type === "resume") isResumed = true;
    if (event.type === "stalled" || event.type === "resume") return false;
    if (event.type !== "turn-start") return true;
    const isRepeated = isResumed && openTurn === event.turn;
    openTurn = event.turn;
    isResumed = false;
    return !isRepeated;
  });
}

type ConsentEvent = EventOf<"approval-request" | "approval-end">;

/**
 * Questions that were asked again, and the answers that a restart did not rely on: of each question the first time it was
 * asked and the last answer stay. Agents outside ask by themselves.
 */
function forgottenQuestions(events: readonly StoredEvent[]): Set<StoredEvent> {
  const forgotten = new Set<StoredEvent>();
  /** What stays of the consent to a call of the current run, by call. */
  let consents = new Map<string, ConsentEvent[]>();
  let isOutside = false;
  let resumedAt = 0;
  for (const event of events) {
    if (event.type === "run-start") {
      isOutside = isOutsideModel(event.model);
      consents = new Map();
    } else if (event.type === "resume") resumedAt = event.seq;
    if (event.type !== "approval-end" && event.type !== "approval-request") continue;
    const stays = consents.get(event.callId) ?? [];
    consents.set(event.callId, stays);
    const index = event.type === "approval-end" ? -1 : stays.findIndex((each) => isSameQuestion(each, event));
    const isOpen = index === stays.length - 1;
    const isRestarted = !isOutside && resumedAt > (stays[index]?.seq ?? resumedAt);
    if (index === -1 || !(isOpen || isRestarted)) {
      stays.push(event);
      continue;
    }
    for (const each of stays.splice(index + 1)) forgotten.add(each);
    forgotten.add(event);
  }
  return forgotten;
}

/** A call can have two: whether it may be made, and what its tool asks by itself. */
function isSameQuestion(one: ConsentEvent, other: EventOf<"approval-request">): boolean {
  return one.type === "approval-request" && one.toolReason === other.toolReason;
}
