/** Events as a comparison sees them: those that a rerun has too, without what may differ from run to run. */

import type { EventOf, StoredEvent } from "../../core/event.ts";
import { isExternalModel } from "../../core/model.ts";
import type { StoredRights } from "../../core/rights.ts";
import { ROWS } from "../../core/words/event-rows.ts";
import { comparableOutput } from "./recorded-prompts.ts";

export type Leniency = {
  /** Estimates from the size of a prompt may differ. */
  readonly ignoresEstimates?: boolean | undefined;
  /** The run continued after a restart, and counts its attempts from one again. */
  readonly isResumed?: boolean | undefined;
};

/** `recorded` is the event it is compared with: a price that was not known then may be known now. */
export function comparableEvent(
  event: StoredEvent,
  { ignoresEstimates = false, isResumed = false }: Leniency,
  recorded: StoredEvent,
): object {
  const { seq: _seq, time: _time, ...body } = event;
  const { varies = [], estimated = [] } = ROWS[body.type];
  const varying = varies === "event" ? [] : varies;
  const isPlaced = recorded.type === "run-start" && recorded.placed !== undefined && recorded.parentId !== null;
  const same = withKnownCost(without(body, ...varying, ...(ignoresEstimates ? estimated : [])), recorded);
  switch (body.type) {
    case "run-start":
      // A budget that was shared with others is not there to draw on. A placed run knows the terms of its tree; here its root does.
      return {
        ...same,
        origin: body.origin && without(body.origin, "traceparent"),
        tools: without(body.tools, "hash", "bytes"),
        rights: comparableRights(body.rights),
        terms: isPlaced ? undefined : body.terms && without(body.terms, "sharedBudget"),
      };
    case "tool-call-end":
      return {
        ...same,
        output: comparableOutput(body.toolName, body.output, ignoresEstimates),
        metadata: body.metadata && comparableReport(body.metadata, ignoresEstimates),
        files: body.files?.length === 0 ? undefined : body.files,
      };
    case "retry":
      // A run that continues after a restart counts from one again.
      return isResumed ? without(same, "attempt") : same;
    case "run-end": {
      const isGuessed = ignoresEstimates && recorded.type === "run-end" && recorded.usage.estimated;
      const { status, fault } = body;
      const rest = without(same, "status", "fault", ...(isGuessed ? ["usage", "costUsd"] : []));
      return { status, ...rest, fault: fault && without(fault, "stack", "kind") };
    }
    default:
      return same;
  }
}

function comparableReport(metadata: Readonly<Record<string, unknown>>, ignoresEstimates: boolean): object {
  return without(metadata, "duration_ms", ...(ignoresEstimates ? TOKENS : []));
}

/** The tokens in a report, part of which may have been estimated. */
const TOKENS = ["tokens_consumed", "tree_tokens", "prompt_tokens", "completion_tokens"];

/** Sets, whatever order they are written in. */
function comparableRights({ use, delegate, deny, spawn }: StoredRights): StoredRights {
  return { use: use.toSorted(), delegate: delegate.toSorted(), deny: deny.toSorted(), spawn };
}

function withKnownCost(body: object, recorded: StoredEvent): object {
  return "costUsd" in recorded && recorded.costUsd === null ? without(body, "costUsd") : body;
}

function without(body: object, ...keys: readonly string[]): object {
  if (keys.length === 0) return body;
  return Object.fromEntries(Object.entries(body).filter(([key]) => !keys.includes(key)));
}

/** Leaves out what only time brings, and the questions that a restart asked again, to the model and to the person. */
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
    if (isOfTime(event)) return false;
    if (event.type !== "turn-start") return true;
    const isRepeated = isResumed && openTurn === event.turn;
    openTurn = event.turn;
    isResumed = false;
    return !isRepeated;
  });
}

type ApprovalEvent = EventOf<"approval-request" | "approval-end">;

/**
 * Questions that were asked again, and the answers that a restart did not rely on: of each question the first time it was
 * asked and the last answer stay. External agents ask by themselves.
 */
function forgottenQuestions(events: readonly StoredEvent[]): Set<StoredEvent> {
  const forgotten = new Set<StoredEvent>();
  /** The part that stays of the approval of a call of the current run, by call. */
  let approvals = new Map<string, ApprovalEvent[]>();
  let isExternal = false;
  let resumedAt = 0;
  for (const event of events) {
    if (event.type === "run-start") {
      isExternal = isExternalModel(event.model);
      approvals = new Map();
    } else if (event.type === "resume") resumedAt = event.seq;
    if (event.type !== "approval-end" && event.type !== "approval-request") continue;
    const stays = approvals.get(event.callId) ?? [];
    approvals.set(event.callId, stays);
    const index = event.type === "approval-end" ? -1 : stays.findIndex((each) => isSameQuestion(each, event));
    const isOpen = index === stays.length - 1;
    const isRestarted = !isExternal && resumedAt > (stays[index]?.seq ?? resumedAt);
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
function isSameQuestion(one: ApprovalEvent, other: EventOf<"approval-request">): boolean {
  return one.type === "approval-request" && one.toolReason === other.toolReason;
}

/** True when a restart may have repeated something. A run that its worker takes before it does anything repeats nothing. */
export function wasResumed(events: readonly StoredEvent[]): boolean {
  return events.some((event) => event.type === "resume" && !isFirstTaking(event, events));
}

/** True where a worker took a run that was placed, and nothing had happened in it: then nothing was repeated. */
function isFirstTaking(event: StoredEvent, ofRun: readonly StoredEvent[]): boolean {
  if (event.type !== "resume" || event.worker === undefined) return false;
  return ofRun.every(
    ({ type, runId, seq }) => runId !== event.runId || seq >= event.seq || type === "run-start" || type === "resume",
  );
}

/** True for an event that only time brings: two runs of the same task need not both have it. */
export function isOfTime({ type }: StoredEvent): boolean {
  return ROWS[type].varies === "event";
}
