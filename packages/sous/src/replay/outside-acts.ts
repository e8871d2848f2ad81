/** What people and programs did to a tree while it ran, found in its recording: words, follow-ups, stops. */

import type { EventOf, StoredEvent } from "../core/event.ts";
import { textOf } from "../core/message.ts";
import { type Recording, type RunRecording, wasStopped } from "../core/recording.ts";
import type { CancelMode } from "../core/spawn.ts";
import type { Comparison } from "./comparison.ts";
import type { Conductor, OutsideAct } from "./conductor.ts";

/** The tree as somebody outside sees it. */
export type OutsideControl = {
  steer(path: string, text: string): void;
  send(path: string, message: string): void;
  cancel(path: string, mode: CancelMode): void;
};

/** Tells the conductor everything that came from outside. What runs did to each other they will do again. */
export function planOutsideActs(
  recording: Recording,
  { conductor, comparison, control }: { conductor: Conductor; comparison: Comparison; control: OutsideControl },
): void {
  const told = wordsOfParents(recording);
  for (const run of recording.runs.values()) {
    const { path, start, events } = run;
    if (start.depth > 0 && start.origin?.kind === "follow-up" && start.call === undefined) {
      const earlier = recording.runs.get(start.origin.runId)?.end;
      conductor.acts.push({
        key: start.seq - 0.5,
        atStartOf: undefined,
        isReady: () => earlier !== undefined && comparison.hasCome(earlier),
        perform: () => control.send(path, textOf(start.task)),
      });
    }
    const act = (at: StoredEvent, key: number, perform: () => void): OutsideAct => ({
      key,
      // Before its first turn it must hear it in the moment it starts.
      atStartOf: at === start ? run.runId : undefined,
      isReady: () => at !== start && comparison.hasCome(at),
      perform,
    });
    let turnStart: StoredEvent = start;
    let lastInput: StoredEvent = start;
    let heardUntil = start.seq;
    for (const event of events) {
      if (event.type === "turn-start") {
        turnStart = event;
        heardUntil = event.seq;
      } else if (event.type === "message-end" || event.type === "tool-call-end") lastInput = event;
      else if (event.type === "report")
        heardUntil = Math.max(heardUntil, recording.runs.get(event.childRunId)?.end?.seq ?? 0);
      else if (event.type === "steer" && !told.take(start.agentId, event.text)) {
        // Read at the beginning of a turn: said since the one before, after the reports that stand before it.
        conductor.acts.push(act(turnStart, heardUntil + 0.5, () => control.steer(path, event.text)));
      } else if (isWrapUp(event, events)) {
        // As late as possible: until then the run did what one that wraps up does not.
        const since = eventsBelow(recording, path, turnStart.seq, event.seq);
        const atOnce = stoppedAtOnce(recording, run, since);
        const stopped = atOnce ?? since.find(isStop);
        const input = stopped === undefined ? lastInput : answerToUnmadeCall(run, since, stopped);
        const key = (input === undefined ? (stopped ?? event).seq : conductor.keyOf(input)) - 0.25;
        const mode = atOnce === undefined ? "wrap-up" : "last-words";
        conductor.acts.push(act(turnStart, key, () => control.cancel(path, mode)));
      }
    }
    const stopped = firstSignOfStop(run);
    if (stopped === undefined) continue;
    const top = stoppedWith(run, stopped);
    const perform = () => void (top !== undefined && control.cancel(top, "stop"));
    if (stopped === events[1] && start.depth === 0) conductor.acts.push(act(start, start.seq, perform));
    else conductor.stops.push({ event: stopped, perform });
  }
  conductor.acts.sort((one, other) => one.key - other.key);
  conductor.stops.sort((one, other) => one.event.seq - other.event.seq);
}

/** What parents said to live children with `subagent_send`; a tool of a user may have said more, but will not say it again. */
function wordsOfParents({ runs }: Recording): { take(agentId: string, text: string): boolean } {
  const counts = new Map<string, number>();
  const keyOf = (agentId: unknown, text: unknown) => JSON.stringify([agentId, text]);
  for (const { calls, children } of runs.values()) {
    const revived = new Set(children.map(({ start }) => start.call?.callId));
    for (const { toolName, input, callId } of calls.values()) {
      if (toolName !== "subagent_send" || revived.has(callId)) continue;
      const { subagent_id, message } = (input ?? {}) as Record<string, unknown>;
      const key = keyOf(subagent_id, message);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return {
    take(agentId, text) {
      const key = keyOf(agentId, text);
      const count = counts.get(key) ?? 0;
      counts.set(key, count - 1);
      return count > 0;
    },
  };
}

/** Somebody asked for last words; a budget that is spent asks for them by itself. */
function isWrapUp(event: StoredEvent, events: readonly StoredEvent[]): event is EventOf<"notice"> {
  if (event.type !== "notice" || event.reason !== "wrap-up") return false;
  return !events.some(({ type, seq }) => type === "budget-warning" && seq < event.seq);
}

/** What a run and those below it did between these two numbers. */
function eventsBelow({ events }: Recording, path: string, from: number, to: number): StoredEvent[] {
  return events.filter(
    (event) => event.seq > from && event.seq < to && (event.path === path || event.path.startsWith(`${path}/`)),
  );
}

/** True where a tool, a child or a question was stopped for the sake of last words. */
function isStop(event: StoredEvent): boolean {
  switch (event.type) {
    case "run-end":
      return event.status === "cancelled";
    case "spawn-refused":
      // One that did not wait is refused to a run that wraps up, too.
      return event.errorType === "cancelled" && event.waited === true;
    default:
      return isSignOfStop(event);
  }
}

/** A call that ended in the moment it began was not made: its run had been stopped before it was answered. */
function answerToUnmadeCall(
  { runId }: RunRecording,
  since: readonly StoredEvent[],
  stopped: StoredEvent,
): StoredEvent | undefined {
  const index = since.indexOf(stopped);
  const begun = since[index - 1];
  if (stopped.type !== "tool-call-end" || stopped.runId !== runId) return undefined;
  if (begun?.type !== "tool-call-start" || begun.callId !== stopped.callId || begun.seq !== stopped.seq - 1)
    return undefined;
  return since.findLast((each, place) => place < index && each.type === "message-end" && each.runId === runId);
}

/** Where its own work was stopped and nothing below it was done after that: it was not left to come to an end by itself. */
function stoppedAtOnce(
  { runs }: Recording,
  { runId }: RunRecording,
  since: readonly StoredEvent[],
): StoredEvent | undefined {
  const stops = since
    .slice(since.findLastIndex((event) => isProgress(event, runs.get(event.runId))) + 1)
    .filter(isStop);
  return stops.some((event) => event.runId === runId) ? stops[0] : undefined;
}

function isProgress(event: StoredEvent, run: RunRecording | undefined): boolean {
  switch (event.type) {
    case "turn-start":
    case "message-end":
    case "run-start":
      return true;
    case "run-end":
      return !isStop(event);
    case "tool-call-start": {
      const end = run?.results.get(event.callId);
      return end === undefined || !isCancelledCall(end);
    }
    default:
      return false;
  }
}

/** The first event that a run left behind when it was stopped: the end of a call, or its own. */
function firstSignOfStop(run: RunRecording): StoredEvent | undefined {
  const { events, end } = run;
  if (end === undefined || !wasStopped(run)) return undefined;
  let first: StoredEvent | undefined;
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index];
    if (event === undefined || !isSignOfStop(event)) break;
    first = event;
  }
  return first;
}

function isSignOfStop(event: StoredEvent): boolean {
  switch (event.type) {
    case "run-end":
    case "truncation":
      return true;
    case "approval-end":
      return event.by === "cancelled";
    case "tool-call-end":
      return isCancelledCall(event);
    default:
      return false;
  }
}

/** The words of the loop for a call whose run was stopped. */
export function isCancelledCall({ output, isError }: EventOf<"tool-call-end">): boolean {
  return isError && output === "The call was cancelled";
}

/**
 * The highest run that was cancelled together with this one: it did nothing more after that either. Undefined when what
 * stopped it was a clock.
 */
function stoppedWith(run: RunRecording, sign: StoredEvent): string | undefined {
  let top = run;
  for (let above = run.parent; above !== undefined; above = above.parent) {
    const wentOn = above.events.some(
      ({ seq, type }) => seq > sign.seq && (type === "turn-start" || type === "message-end"),
    );
    if (wentOn || firstSignOfStop(above) === undefined) break;
    top = above;
  }
  return top.end?.status === "cancelled" ? top.path : undefined;
}
