/** The order in which what came from outside took effect: a rerun is given it one at a time, in the same order. */

import type { StoredEvent } from "../../core/event.ts";
import { toolCallsOf } from "../../core/message.ts";
import { indexAfter } from "../../core/store.ts";
import { isFromOutside } from "./from-outside.ts";
import type { Recording, RunRecording } from "./recording.ts";
import { wasStopped } from "./stops.ts";

export class RecordedOrder {
  readonly #recording: Recording;
  readonly #children = new Map<RunRecording, Map<string, RunRecording[]>>();
  /** The ends of all runs, in order. */
  readonly #ends: readonly StoredEvent[];
  readonly #times: ReadonlyMap<StoredEvent, number>;

  constructor(recording: Recording) {
    this.#recording = recording;
    this.#times = steadyTimes(recording.events);
    this.#ends = recording.events.filter(({ type }) => type === "run-end");
  }

  /**
   * The last event that follows from this one without anything else from outside. Answers and results are handed out in
   * the order of these, not in their own: a background child that answered first and ended last must not report before
   * its parent has asked again, and a child whose start had to wait for the store must not begin before its time.
   */
  lastConsequence(event: StoredEvent): StoredEvent {
    const run = this.#recording.runs.get(event.runId);
    return run === undefined ? event : this.#walk(run, event);
  }

  #walk(run: RunRecording, event: StoredEvent): StoredEvent {
    // After a failed attempt there is a pause.
    if (event.type === "run-start" || event.type === "retry") return event;
    const behind = indexAfter(run.events, event.seq);
    if (event.type === "tool-call-end" && hasOpenCalls(run, behind - 1)) return event;
    let last: StoredEvent = event;
    for (let index = behind; index < run.events.length; index++) {
      const next = run.events[index];
      if (next === undefined) break;
      if (next.type === "run-end") {
        // A run that is stopped does not end by itself, and one that ends stops its children first and waits for them.
        if (wasStopped(run) || run.children.some(({ end }) => isBetween(end, event, next))) break;
        return this.#afterEnd(run, next);
      }
      // A run hears words from outside before it asks.
      if (next.type === "turn-start" || next.type === "cancel" || isFromOutside(next, run)) break;
      if (next.type === "report" && this.#endOf(next.childRunId) > event.seq) break;
      // A child that waited to start was refused because of what others did.
      if (next.type === "notice" && next.reason === "no-report") break;
      if (!comesBySomethingElse(next)) last = next;
    }
    return event.type === "message-end" ? later(last, this.#lastStart(run, event)) : last;
  }

  /** The time of recording, on a clock that is never set back. */
  timeOf(event: StoredEvent): number {
    return this.#times.get(event) ?? event.time;
  }

  get lastTime(): number {
    const last = this.#recording.events.at(-1);
    return last === undefined ? 0 : this.timeOf(last);
  }

  /** True when nothing came from outside between these two. */
  isImmediate(from: StoredEvent, to: StoredEvent): boolean {
    const { events } = this.#recording;
    for (let index = indexAfter(events, from.seq); index < events.length; index++) {
      const event = events[index];
      if (event === undefined || event.seq >= to.seq) return true;
      if (isFromOutside(event, this.#recording.runs.get(event.runId))) return false;
    }
    return true;
  }

  /** The end of the last child of a call is the end of the call, and perhaps the next turn of the parent. */
  #afterEnd({ start, parent }: RunRecording, end: StoredEvent): StoredEvent {
    const { call } = start;
    if (parent === undefined || call === undefined || call.background === true) return end;
    const result = parent.results.get(call.callId);
    const isLast = this.#made(parent, call.callId).every(({ runId }) => this.#endOf(runId) <= end.seq);
    return result !== undefined && isLast ? later(end, this.#walk(parent, result)) : end;
  }

  /** The last child that its calls started by themselves: once a run has ended, its slot may be why. */
  #lastStart(run: RunRecording, event: StoredEvent & { type: "message-end" }): StoredEvent {
    const until = this.#endAfter(event.seq);
    let last: StoredEvent = event;
    for (const { callId } of toolCallsOf(event.message))
      for (const { start } of this.#made(run, callId)) if (start.seq < until) last = later(last, start);
    return last;
  }

  #endOf(runId: string): number {
    return this.#recording.runs.get(runId)?.end?.seq ?? Number.POSITIVE_INFINITY;
  }

  #endAfter(seq: number): number {
    return this.#ends[indexAfter(this.#ends, seq)]?.seq ?? Number.POSITIVE_INFINITY;
  }

  #made(run: RunRecording, callId: string): readonly RunRecording[] {
    let made = this.#children.get(run);
    if (made === undefined) {
      made = Map.groupBy(run.children, ({ start }) => start.call?.callId ?? "");
      this.#children.set(run, made);
    }
    return made.get(callId) ?? [];
  }
}

function isBetween(event: StoredEvent | undefined, from: StoredEvent, to: StoredEvent): boolean {
  return event !== undefined && event.seq > from.seq && event.seq < to.seq;
}

function steadyTimes(events: readonly StoredEvent[]): Map<StoredEvent, number> {
  const times = new Map<StoredEvent, number>();
  let before = 0;
  let lost = 0;
  for (const event of events) {
    if (event.time + lost < before) lost = before - event.time;
    before = event.time + lost;
    if (lost > 0) times.set(event, before);
  }
  return times;
}

function later(one: StoredEvent, other: StoredEvent): StoredEvent {
  return one.seq > other.seq ? one : other;
}

/** True when other calls of the same answer had not ended by then. */
function hasOpenCalls({ events }: RunRecording, from: number): boolean {
  const ended = new Set<string>();
  for (let index = from; index >= 0; index--) {
    const event = events[index];
    if (event?.type === "tool-call-end") ended.add(event.callId);
    else if (event?.type === "tool-call-start" && !ended.has(event.callId)) return true;
    else if (event?.type === "message-end") return false;
  }
  return false;
}

/** Time brings these, whatever keeps a child waiting, or what follows them. */
function comesBySomethingElse({ type }: StoredEvent): boolean {
  return type === "stalled" || type === "spawn-refused" || type === "placed" || type === "truncation";
}
