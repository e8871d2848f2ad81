/** The events that must come before others in a tree of several journals, as `placed` and the calls of parents tell. */

import type { EventOf, StoredEvent } from "../../core/event.ts";
import { toolCallsOf } from "../../core/message.ts";
import { isSuccess } from "../../core/outcome.ts";
import { isRecord } from "../../core/schema.ts";
import { isSubagentToolName } from "../../core/spawn.ts";
import { isFromOutside } from "./from-outside.ts";
import type { PlayedJournal, PlayedNeed, PlayedTree } from "./played-order.ts";
import { comesOfStop, isPassedOn, wasStopped } from "./stops.ts";

/** The end that follows from an event at once is recorded within this time. */
const AT_ONCE_MS = 25;

/** The needs of events of one journal for events of another. */
export function needsOf(
  events: readonly StoredEvent[],
  tree: PlayedTree,
): ReadonlyMap<StoredEvent, readonly PlayedNeed[]> {
  const needs = new Needs(events, tree);
  for (const event of events) {
    if (event.type === "placed") needs.addPlaced(event);
    else if (event.type === "run-start") needs.addStart(event);
    else if (event.type === "report") needs.addReport(event);
    else if (event.type === "steer" || event.type === "cancel") needs.addWord(event);
  }
  return needs.found;
}

type Calls = {
  start?: EventOf<"tool-call-start">;
  end?: EventOf<"tool-call-end">;
  isDenied?: boolean;
  /** The reason why one of its children failed, for which the others were stopped; unset before it was looked for. */
  failure?: StoredEvent | undefined;
  readonly children: EventOf<"run-start">[];
};

class Needs {
  readonly found = new Map<StoredEvent, PlayedNeed[]>();
  readonly #tree: PlayedTree;
  readonly #starts = new Map<string, EventOf<"run-start">>();
  /** The events of each run, in order, and the index of each there. */
  readonly #runs: ReadonlyMap<string, StoredEvent[]>;
  readonly #at = new Map<StoredEvent, number>();
  /** Calls by run and id. */
  readonly #calls = new Map<string, Calls>();
  readonly #waits = new Map<string, EventOf<"tool-call-start">[]>();
  readonly #reports = new Map<string, EventOf<"report">>();
  readonly #stops: ReadonlyMap<string, StoredEvent[]>;

  constructor(events: readonly StoredEvent[], tree: PlayedTree) {
    this.#tree = tree;
    this.#runs = Map.groupBy(events, ({ runId }) => runId);
    for (const own of this.#runs.values()) for (const [index, event] of own.entries()) this.#at.set(event, index);
    this.#stops = Map.groupBy(
      events.filter(({ type }) => type === "cancel"),
      ({ runId }) => runId,
    );
    for (const event of events) {
      if (event.type === "run-start") this.#noteStart(event);
      else if (event.type === "report") this.#reports.set(event.childRunId, event);
      else if (event.type === "tool-call-start") this.#noteCall(event);
      else if (event.type === "approval-end" && !event.allowed) this.#callOf(event.runId, event.callId).isDenied = true;
      else if (event.type === "tool-call-end") this.#callOf(event.runId, event.callId).end = event;
    }
  }

  #noteStart(event: EventOf<"run-start">): void {
    this.#starts.set(event.runId, event);
    const parent = this.#parentOf(event);
    if (parent !== undefined && event.call !== undefined)
      this.#callOf(parent.runId, event.call.callId).children.push(event);
  }

  #noteCall(event: EventOf<"tool-call-start">): void {
    this.#callOf(event.runId, event.callId).start = event;
    if (event.toolName !== "subagent_wait") return;
    const waits = this.#waits.get(event.runId) ?? [];
    this.#waits.set(event.runId, waits);
    waits.push(event);
  }

  #callOf(runId: string, callId: string): Calls {
    const key = `${runId} ${callId}`;
    const call = this.#calls.get(key) ?? { children: [] };
    this.#calls.set(key, call);
    return call;
  }

  /** A child begins behind its `placed`. */
  addPlaced(event: EventOf<"placed">): void {
    const start = this.#starts.get(event.childRunId);
    if (start !== undefined) this.#needs(start, event);
  }

  /** The run that it continues has ended, and it has itself ended before its parent reads of it or ends. */
  addStart(start: EventOf<"run-start">): void {
    const { origin } = start;
    if (origin?.kind === "follow-up") this.#needsAll(start, this.#journalBegunBy(origin.runId));
    this.#addFailures(start);
    const journal = this.#journalBegunBy(start.runId);
    const parent = this.#parentOf(start);
    if (journal === undefined || parent === undefined) return;
    this.#needsAll(this.#endOf(parent.runId), journal);
    this.#addStops(start, journal);
    const read = this.#readOf(start);
    if (read?.type === "tool-call-end") this.#needsAll(read, journal);
    else if (start.call?.background === true && read === undefined) this.#addWait(start, parent);
  }

  /** When a run above it was stopped, the child had done what it did until then. */
  #addStops(start: EventOf<"run-start">, journal: PlayedJournal): void {
    let below = start;
    for (let above = this.#parentOf(below); above !== undefined; above = this.#parentOf(below)) {
      for (const stop of this.#stopsOf(below, above))
        if (stop.seq > start.seq) this.#add(stop, { journal, count: this.#countUntilStop(journal, start.runId) });
      below = above;
    }
  }

  /** When a call stopped its other children because one had failed, these had done what they did until then. */
  #addFailures(start: EventOf<"run-start">): void {
    const journal = this.#tree.journalOf.get(start.runId);
    let below = start;
    for (let above = this.#parentOf(below); above !== undefined; above = this.#parentOf(below)) {
      const call = below.call && this.#callOf(above.runId, below.call.callId);
      const failure = call && this.#failureIn(call);
      if (failure !== undefined && failure.runId !== below.runId && journal !== undefined)
        this.#add(failure, { journal, count: this.#countOf(start, journal) });
      below = above;
    }
  }

  /** The event that the only failed child ended with, in a call that stops the others then. */
  #failureIn(call: Calls): StoredEvent | undefined {
    if (!("failure" in call)) call.failure = this.#findFailure(call);
    return call.failure;
  }

  #findFailure({ start, children }: Calls): StoredEvent | undefined {
    if (!isRecord(start?.input) || start.input.fail_fast !== true) return undefined;
    const ends = children.flatMap(({ runId }) => this.#endOf(runId) ?? []);
    const [end, other] = ends.filter((each) => each.status !== "cancelled" && !isSuccess(each));
    if (end === undefined || other !== undefined) return undefined;
    return wasStopped({ end }) ? end : this.#before(end, (event) => isFromOutside(event));
  }

  /** The number of events of its journal until this run was stopped, or ended. */
  #countOf({ runId }: EventOf<"run-start">, journal: PlayedJournal): number {
    if (this.#journalBegunBy(runId) === journal) return this.#countUntilStop(journal, runId);
    const own = this.#runs.get(runId) ?? [];
    const isStopped = this.#endOf(runId)?.status === "cancelled";
    const stop = own.find(({ type }) => type === "cancel");
    if (isStopped && stop !== undefined) return this.#tree.indexes.get(stop) ?? 0;
    const last = isStopped ? own.findLast((event) => !comesOfStop(event)) : own.at(-1);
    return last === undefined ? 0 : (this.#tree.indexes.get(last) ?? -1) + 1;
  }

  /** The stops of a run before it read how this child had ended. */
  #stopsOf(child: EventOf<"run-start">, parent: EventOf<"run-start">): StoredEvent[] {
    const read = this.#readOf(child);
    return (this.#stops.get(parent.runId) ?? []).filter(({ seq }) => read === undefined || seq < read.seq);
  }

  #parentOf({ parentId }: EventOf<"run-start">): EventOf<"run-start"> | undefined {
    return parentId === null ? undefined : this.#starts.get(parentId);
  }

  /** The event with which its parent read how a child had ended. */
  #readOf({ runId, parentId, call }: EventOf<"run-start">): StoredEvent | undefined {
    if (call === undefined || call.background === true) return this.#reports.get(runId);
    return this.#callOf(parentId ?? "", call.callId).end;
  }

  /** The number of events of a journal that did not come of the stop of its first run. */
  #countUntilStop({ events }: PlayedJournal, runId: string): number {
    if (this.#endOf(runId)?.status !== "cancelled") return events.length;
    const stop = events.findIndex((event) => event.runId === runId && event.type === "cancel");
    return stop === -1 ? events.findLastIndex((event) => !comesOfStop(event)) + 1 : stop;
  }

  /**
   * A parent reads a report at the beginning of a turn. It is there because the child had ended before whatever the turn began
   * with, and was not there at the turn before.
   */
  addReport(report: EventOf<"report">): void {
    const { childRunId } = report;
    const cause = this.#before(report, (event) => this.#isAwaited(event));
    const isLater = (cause?.seq ?? 0) > (this.#starts.get(childRunId)?.seq ?? 0);
    // A parent that has answered waits for its children.
    const isIdle = cause?.type === "message-end" && toolCallsOf(cause.message).length === 0;
    this.#endsWithin(childRunId, isLater && !isIdle ? cause : report);
    const before = this.#before(report, ({ type }) => type === "report" || type === "turn-start");
    const earlier = before?.type === "report" ? this.#endOf(before.childRunId) : undefined;
    const last = this.#causeOfEnd(childRunId);
    if (last !== undefined && earlier !== undefined) this.#needs(last, earlier);
  }

  /** True when it came in its own time: the result of a call that was denied, only began a child, or asked about one, did not. */
  #isAwaited(event: StoredEvent): boolean {
    if (event.type !== "tool-call-end") return isFromOutside(event);
    if (this.#callOf(event.runId, event.callId).isDenied === true) return false;
    if (!isSubagentToolName(event.toolName)) return true;
    if (event.toolName === "subagent_wait" || event.toolName === "subagent_cancel") return true;
    return this.#callOf(event.runId, event.callId).children.some(({ call }) => call?.background !== true);
  }

  /** A call waited for a child: its result has the report. */
  #addWait({ runId, agentId, seq }: EventOf<"run-start">, parent: EventOf<"run-start">): void {
    const wait = this.#waits.get(parent.runId)?.find((call) => call.seq > seq && isAbout(call.input, agentId));
    if (wait !== undefined) this.#endsWithin(runId, this.#callOf(parent.runId, wait.callId).end);
  }

  /** The child ended in the turn of its parent to which this event belongs, and before it. */
  #endsWithin(childRunId: string, event: StoredEvent | undefined): void {
    const journal = this.#journalBegunBy(childRunId);
    if (event === undefined || journal === undefined) return;
    this.#needsAll(event, journal);
    const turn = this.#before(event, ({ type }) => type === "turn-start");
    const last = this.#causeOfEnd(childRunId);
    if (turn !== undefined && last !== undefined) this.#needs(last, turn);
  }

  /** The event from outside that a run ended with; undefined when it was stopped, or waited for its children. */
  #causeOfEnd(runId: string): StoredEvent | undefined {
    const end = this.#endOf(runId);
    if (end === undefined || end.status === "cancelled" || end.status === "timeout") return undefined;
    const last = this.#before(end, (each) => isFromOutside(each));
    return last !== undefined && end.time - last.time <= AT_ONCE_MS ? last : undefined;
  }

  /** The words or the stop that a call of the parent sent to a child come behind the call, and the call behind the turn before it. */
  addWord(event: EventOf<"steer" | "cancel">): void {
    const start = this.#starts.get(event.runId);
    const parent = start && this.#parentOf(start);
    if (start === undefined || parent === undefined) return;
    if (isPassedOn(event, start)) {
      const stop = this.#stopsOf(start, parent).at(-1);
      if (stop !== undefined) this.#needs(event, stop);
    }
    const call = event.callId === undefined ? undefined : this.#callOf(parent.runId, event.callId).start;
    // The call that made the child stops it because of a sibling.
    if (call === undefined || call.seq < start.seq) return;
    this.#needs(event, call);
    const turn = this.#before(event, ({ type }) => type === "turn-start");
    if (turn !== undefined) this.#needs(call, turn);
  }

  /** The last event of the same run before this one that is as wanted. */
  #before(event: StoredEvent, isWanted: (event: StoredEvent) => boolean): StoredEvent | undefined {
    const own = this.#runs.get(event.runId) ?? [];
    for (let index = (this.#at.get(event) ?? 0) - 1; index >= 0; index--) {
      const earlier = own[index];
      if (earlier !== undefined && isWanted(earlier)) return earlier;
    }
    return undefined;
  }

  #journalBegunBy(runId: string): PlayedJournal | undefined {
    const start = this.#starts.get(runId);
    return start?.placed === undefined || start.parentId === null ? undefined : this.#tree.journalOf.get(runId);
  }

  #journalOf({ runId }: StoredEvent): PlayedJournal | undefined {
    return this.#tree.journalOf.get(runId);
  }

  #endOf(runId: string): EventOf<"run-end"> | undefined {
    const last = this.#runs.get(runId)?.at(-1);
    return last?.type === "run-end" ? last : undefined;
  }

  #needs(event: StoredEvent, earlier: StoredEvent): void {
    const journal = this.#journalOf(earlier);
    const index = this.#tree.indexes.get(earlier);
    if (journal !== undefined && index !== undefined) this.#add(event, { journal, count: index + 1 });
  }

  #needsAll(event: StoredEvent | undefined, journal: PlayedJournal | undefined): void {
    if (event !== undefined && journal !== undefined) this.#add(event, { journal, count: journal.events.length });
  }

  #add(event: StoredEvent, need: PlayedNeed): void {
    if (this.#journalOf(event) === need.journal) return;
    const needs = this.found.get(event);
    if (needs === undefined) this.found.set(event, [need]);
    else needs.push(need);
  }
}

/** True for a call that waits for this child: by its id, or for all. */
function isAbout(input: unknown, agentId: string): boolean {
  const { subagent_ids: ids } = (input ?? {}) as { subagent_ids?: unknown };
  return !Array.isArray(ids) || ids.includes(agentId);
}
