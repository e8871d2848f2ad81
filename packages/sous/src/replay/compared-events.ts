/** Which events of a recording a rerun is compared with: a rerun is not interrupted. */

import type { StoredEvent } from "../core/event.ts";
import { isOutsideModel } from "../core/model.ts";

/** Without what only time brings, and without the questions that a restart asked again, to the model and to the person. */
export function compared(events: readonly StoredEvent[]): StoredEvent[] {
  const unanswered = new Set<string>();
  const forgotten = forgottenAnswers(events);
  let openTurn: number | undefined;
  let isResumed = false;
  const sessions = new Set<string>();
  return events.filter((event) => {
    // The session that a restart opened again, and what it said there.
    if (event.type === "outside-session" && sessions.has(event.runId)) return false;
    if (event.type === "outside-session") sessions.add(event.runId);
    if (event.type === "notice" && event.reason === "interrupted") return false;
    if (forgotten.has(event)) return false;
    if (event.type === "approval-end") unanswered.delete(event.callId);
    if (event.type === "approval-request") {
      if (unanswered.has(event.callId)) return false;
      unanswered.add(event.callId);
    }
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

/** Answers that a restart did not rely on: it asked again about the same call. Agents outside ask by themselves. */
function forgottenAnswers(events: readonly StoredEvent[]): Set<StoredEvent> {
  const forgotten = new Set<StoredEvent>();
  /** By call: the answers of the current run before its latest restart, and since. */
  let before = new Map<string, StoredEvent>();
  let since = new Map<string, StoredEvent>();
  let isOutside = false;
  for (const event of events) {
    if (event.type === "run-start") {
      isOutside = isOutsideModel(event.model);
      before = new Map();
      since = new Map();
    } else if (event.type === "resume") {
      for (const [callId, answer] of since) before.set(callId, answer);
      since = new Map();
    } else if (event.type === "approval-end" && !isOutside) since.set(event.callId, event);
    else if (event.type === "approval-request") {
      const answer = before.get(event.callId);
      if (answer !== undefined) forgotten.add(answer);
      before.delete(event.callId);
    }
  }
  return forgotten;
}
