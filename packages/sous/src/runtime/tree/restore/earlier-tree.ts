/** A stored tree that is continued, folded from its journal: which runs it had, and what became of each. */

import type { EventOf, StoredEvent } from "../../core/event.ts";
import { toolCallsOf } from "../../core/message.ts";
import type { RunProfile } from "../../core/run.ts";
import { foldRunState, type RunState } from "../../core/run-state.ts";
import { type ToolLogEntry, toolLogOf } from "../../core/tool-log.ts";
import { spanOfRun } from "../../core/trace-context.ts";
import { addCost, addUsage, noUsage, type Usage } from "../../core/usage.ts";

/** One run of the tree before the restart. */
export type EarlierRun = {
  readonly runId: string;
  readonly state: RunState;
  readonly children: EarlierRun[];
  /** It was asked for again: it continues, or its report was delivered. */
  isTaken: boolean;
};

/** The call that made a child, as its parent's model wrote it. */
export type ParentCall = { callId: string; index: number; toolName: string; input: unknown };

/** The runs that one index of a call has made, in order; those before `next` are taken. */
type MadeByCall = { readonly runs: EarlierRun[]; next: number };

export class EarlierTree {
  readonly events: readonly StoredEvent[];
  /** The latest run of the root. */
  readonly root: EarlierRun;
  readonly #runs = new Map<string, EarlierRun>();
  readonly #eventsOf: ReadonlyMap<string, readonly StoredEvent[]>;
  readonly #byCall = new Map<string, MadeByCall>();
  readonly #calls = new Map<string, { toolName: string; input: unknown }>();
  /** Runs whose report their parent has read. */
  readonly #delivered = new Set<string>();

  /** `events` are all of the tree, in order; the first is the `run-start` of its root. */
  constructor(events: readonly StoredEvent[]) {
    this.events = events;
    this.#eventsOf = Map.groupBy(events, ({ runId }) => runId);
    let root: EarlierRun | undefined;
    for (const [runId, own] of this.#eventsOf) {
      const state = foldRunState(own);
      if (state === undefined) continue;
      const run: EarlierRun = { runId, state, children: [], isTaken: false };
      this.#runs.set(runId, run);
      this.#index(run, own);
      if (state.start.parentId === null) root = run;
    }
    if (root === undefined) throw new Error("A tree without a root cannot be continued");
    this.root = root;
  }

  #index(run: EarlierRun, events: readonly StoredEvent[]): void {
    const { start } = run.state;
    if (start.parentId !== null) this.#runs.get(start.parentId)?.children.push(run);
    if (start.parentId !== null && start.call !== undefined) {
      const key = keyOf(start.parentId, start.call.callId, start.call.index);
      const made = this.#byCall.get(key);
      if (made === undefined) this.#byCall.set(key, { runs: [run], next: 0 });
      else made.runs.push(run);
    }
    for (const event of events) {
      if (event.type === "message-end") {
        for (const { callId, toolName, input } of toolCallsOf(event.message))
          this.#calls.set(keyOf(run.runId, callId), { toolName, input });
      } else if (event.type === "report") this.#delivered.add(event.childRunId);
      else if (event.type === "tool-call-end" && event.toolName === "subagent_wait")
        for (const id of reportedRuns(event)) this.#delivered.add(id);
    }
  }

  /** The child that this call made before the restart; each is found once. */
  take(parentRunId: string, callId: string, index: number): EarlierRun | undefined {
    const run = this.#nextOf(parentRunId, callId, index);
    if (run !== undefined) run.isTaken = true;
    return run;
  }

  has(parentRunId: string, callId: string): boolean {
    return this.#nextOf(parentRunId, callId, 0) !== undefined;
  }

  /** A call may have made many: none is looked at twice. */
  #nextOf(parentRunId: string, callId: string, index: number): EarlierRun | undefined {
    const made = this.#byCall.get(keyOf(parentRunId, callId, index));
    if (made === undefined) return undefined;
    while (made.runs[made.next]?.isTaken === true) made.next += 1;
    return made.runs[made.next];
  }

  /** The call that made this agent; undefined when no model asked for it. */
  callOf(agentId: string): ParentCall | undefined {
    const start = this.#runs.get(agentId)?.state.start;
    if (start?.call === undefined || start.parentId === null) return undefined;
    const { callId, index } = start.call;
    const call = this.#calls.get(keyOf(start.parentId, callId));
    return call && { callId, index, ...call };
  }

  /** Children of this run in the background that have not reported yet, each with the call that made it. */
  inBackground(runId: string): { call: ParentCall; child: EarlierRun }[] {
    const parent = this.#runs.get(runId);
    const waiting: { call: ParentCall; child: EarlierRun }[] = [];
    for (const child of parent?.children ?? []) {
      const { call, agentId } = child.state.start;
      // guard: deliver-once
      if (call?.background !== true || child.isTaken || this.#delivered.has(child.runId)) continue;
      // A call that is still open is made again as such.
      if ((parent?.state.calls.get(call.callId)?.state ?? "ended") !== "ended") continue;
      const made = this.callOf(agentId);
      if (made !== undefined) waiting.push({ call: made, child });
    }
    return waiting;
  }

  /** The number of its `run-end`; beyond all others when it has not ended. */
  endSeqOf({ state }: EarlierRun): number {
    return state.end?.seq ?? Number.MAX_SAFE_INTEGER;
  }

  /** Children of this run that had not ended and were not asked for again. */
  orphansOf(runId: string): EarlierRun[] {
    const children = this.#runs.get(runId)?.children ?? [];
    return children.filter(({ state, isTaken }) => state.end === undefined && !isTaken);
  }

  eventsOf(runId: string): readonly StoredEvent[] {
    return this.#eventsOf.get(runId) ?? [];
  }

  run(runId: string): EarlierRun | undefined {
    return this.#runs.get(runId);
  }

  /** The span of a run, in the trace of the root that it worked for. */
  spanOf(runId: string): string | undefined {
    let start = this.#runs.get(runId)?.state.start;
    while (start !== undefined && start.parentId !== null) start = this.#runs.get(start.parentId)?.state.start;
    return start && spanOfRun(runId, start.runId, start.traceparent);
  }

  /** What the ended children of this run took, with everything below them. */
  usageBelow(run: EarlierRun): { usage: Usage; costUsd: number | null } {
    const sum: { usage: Usage; costUsd: number | null } = { usage: noUsage(), costUsd: 0 };
    for (const child of run.children) {
      if (child.state.end === undefined) continue;
      const below = this.usageBelow(child);
      addUsage(sum.usage, child.state.end.usage);
      addUsage(sum.usage, below.usage);
      sum.costUsd = addCost(addCost(sum.costUsd, child.state.end.costUsd), below.costUsd);
    }
    return sum;
  }

  /** How long children were at work, all together: the time in which at least one of them was. */
  childMs(): number {
    const spans: [from: number, to: number][] = [];
    for (const { runId, state } of this.#runs.values())
      if (state.start.depth > 0) spans.push(...spansOf(this.eventsOf(runId)));
    spans.sort(([one], [other]) => one - other);
    let [total, reached] = [0, Number.NEGATIVE_INFINITY];
    for (const [from, to] of spans) {
      total += Math.max(0, to - Math.max(from, reached));
      reached = Math.max(reached, to);
    }
    return total;
  }

  /** What the tools of this run did, as its parent may want to know. */
  toolLog(runId: string, profile: RunProfile | undefined): ToolLogEntry[] {
    return toolLogOf(this.eventsOf(runId), (name) => profile?.tools.byName.get(name)?.tool.displayName);
  }
}

/** When a run was at work: each restart begins a new span. */
function spansOf(events: readonly StoredEvent[]): [from: number, to: number][] {
  const spans: [from: number, to: number][] = [];
  for (const { type, time } of events) {
    const last = spans.at(-1);
    if (last === undefined || type === "resume") spans.push([time, time]);
    else last[1] = time;
  }
  return spans;
}

function reportedRuns({ metadata }: EventOf<"tool-call-end">): string[] {
  const runs = metadata?.reported_runs;
  return Array.isArray(runs) ? runs.filter((id) => typeof id === "string") : [];
}

function keyOf(...parts: readonly (string | number)[]): string {
  return JSON.stringify(parts);
}
