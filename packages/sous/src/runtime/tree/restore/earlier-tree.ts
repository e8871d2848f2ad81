/** A stored tree, read once and folded once: which runs it had, and what became of each. All that a resume has to know comes from here. */

import type { EventOf, StoredEvent } from "../../../core/event.ts";
import { toolCallsOf } from "../../../core/message.ts";
import type { RunProfile } from "../../../core/run.ts";
import type { RunCall } from "../../../core/run-start.ts";
import type { RunResult } from "../../../core/runtime.ts";
import { DamageError, isFirstRun, missingEvent, type Store } from "../../../core/store.ts";
import { type ToolLogEntry, toolLogOf } from "../../../core/tool-log.ts";
import { spanOfRun } from "../../../core/trace-context.ts";
import { addCost, addUsage, type Usage } from "../../../core/usage.ts";
import { AskedQuestions } from "../../rights/open-questions.ts";
import { EarlierPlaced } from "./earlier-placed.ts";
import { EarlierRun, isDone, reportedRuns } from "./earlier-run.ts";
import { misplaced, misplacedStart } from "./event-order.ts";
import { noBeginning } from "./refusals.ts";

/** The call that made a child, as its parent's model wrote it. */
export type ParentCall = { callId: string; index: number; toolName: string; input: unknown };

/** The runs that one index of a call has made, in order; those before `next` are taken. */
type MadeByCall = { readonly runs: EarlierRun[]; next: number };

/** The events from which the ledger and the book of agents are restored. */
type CountedEvent = EventOf<
  "run-start" | "message-end" | "retry" | "outside-session" | "spawn-refused" | "placed" | "run-end"
>;

/** A stored tree, to be resumed from once: what continues is marked in it. */
export class EarlierTree {
  readonly rootId: string;
  /** All of them, in order. */
  events: readonly StoredEvent[] = [];
  /** The events that count, in order. */
  readonly counted: CountedEvent[] = [];
  readonly questions = new AskedQuestions();
  /** Calls of the latest run of the root, and below it, that needed a person when there was none. */
  denied: RunResult["denied"] = [];
  #root: EarlierRun | undefined;
  readonly #runs = new Map<string, EarlierRun>();
  readonly #byCall = new Map<string, MadeByCall>();
  /** Children that have journals of their own. */
  readonly placed = new EarlierPlaced();
  /** The numbers of the messages that were acted on. */
  readonly mail = new Set<number>();
  readonly #calls = new Map<string, { toolName: string; input: unknown }>();
  readonly #asked = new Map<string, EventOf<"approval-request">>();
  /** Runs whose report their parent has read. */
  readonly #delivered = new Set<string>();

  /** `events` are all of the tree, in order. Throws a `UserError` when they do not begin with the `run-start` of its root. */
  constructor(rootId: string, events: readonly StoredEvent[]) {
    this.rootId = rootId;
    this.#addAll(events);
    if (this.#root === undefined) throw noBeginning(rootId);
  }

  static async read(store: Pick<Store, "read">, rootId: string): Promise<EarlierTree> {
    return new EarlierTree(rootId, await store.read(rootId));
  }

  /** Adds what was stored since: another process may have worked on the tree before it was claimed. */
  async readOn(store: Pick<Store, "read">): Promise<void> {
    this.#addAll(await store.read(this.rootId, { after: this.lastSeq }));
  }

  get lastSeq(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  /** The latest run of the root. */
  get root(): EarlierRun {
    if (this.#root === undefined) throw noBeginning(this.rootId);
    return this.#root;
  }

  /** The start of the run that the journal begins with. */
  get first(): EventOf<"run-start"> {
    return (this.#runs.get(this.rootId) ?? this.root).state.start;
  }

  /** The runs in the order they began. */
  get runs(): Iterable<EarlierRun> {
    return this.#runs.values();
  }

  #addAll(events: readonly StoredEvent[]): void {
    const missing = missingEvent(this.rootId, events, this.lastSeq);
    if (missing !== undefined) throw missing;
    this.events = this.events.length === 0 ? events : this.events.concat(events);
    for (const event of events) this.#add(event);
  }

  #add(event: StoredEvent): void {
    const run = this.#runs.get(event.runId);
    const isStart = event.type === "run-start" && run === undefined;
    const problem = isStart ? this.#misplacedStart(event) : misplaced(run?.state, event);
    if (problem !== undefined)
      throw new DamageError(`Event ${event.seq} of run ${event.runId} (${event.type}) ${problem}`);
    if (isStart) this.#begin(event);
    this.#runs.get(event.runId)?.add(event);
    this.questions.add(event);
    switch (event.type) {
      case "message-end":
        for (const { callId, toolName, input } of toolCallsOf(event.message))
          this.#calls.set(keyOf(event.runId, callId), { toolName, input });
        this.counted.push(event);
        break;
      case "run-start":
      case "retry":
      case "outside-session":
      case "spawn-refused":
      case "run-end":
        this.counted.push(event);
        break;
      case "placed":
        this.counted.push(event);
        this.placed.add(event);
        break;
      case "cancel":
      case "steer":
        if (event.mail !== undefined) this.mail.add(event.mail);
        break;
      case "report":
        this.#delivered.add(event.childRunId);
        break;
      case "tool-call-end":
        if (event.toolName === "subagent_wait") for (const id of reportedRuns(event)) this.#delivered.add(id);
        break;
      case "approval-request":
        this.#asked.set(keyOf(event.runId, event.callId), event);
        break;
      case "approval-end":
        if (event.by === "nobody") this.#deny(event);
        break;
    }
  }

  /** The run that was placed begins the journal. */
  #misplacedStart(start: EventOf<"run-start">): string | undefined {
    if (start.runId === this.rootId) return undefined;
    return misplacedStart(start, (runId) => this.#runs.get(runId)?.state.start);
  }

  #begin(start: EventOf<"run-start">): void {
    const run = new EarlierRun(start);
    const { runId, parentId, call } = start;
    this.#runs.set(runId, run);
    if (isFirstRun(this.rootId, start)) {
      this.#root = run;
      this.denied = [];
      this.#asked.clear();
      return;
    }
    if (parentId === null) return;
    this.#runs.get(parentId)?.children.push(run);
    if (call === undefined) return;
    const key = keyOf(parentId, call.callId, call.index);
    const made = this.#byCall.get(key);
    if (made === undefined) this.#byCall.set(key, { runs: [run], next: 0 });
    else made.runs.push(run);
  }

  #deny({ runId, callId, path }: EventOf<"approval-end">): void {
    const question = this.#asked.get(keyOf(runId, callId));
    if (question === undefined) return;
    const { toolName, input, toolReason } = question;
    this.denied.push({ path, toolName, input, ...(toolReason !== undefined && { toolReason }) });
  }

  /** The placed child that this call made before the restart; each is found once. One that was imported is in this journal. */
  takePlaced(parentRunId: string, callId: string, index: number): EventOf<"placed"> | undefined {
    const placed = this.placed.take(parentRunId, callId, index);
    return placed === undefined || this.#runs.has(placed.childRunId) ? undefined : placed;
  }

  /** True for a placed child whose call has no result yet: it is waited for again. */
  isAskedAgain({ runId, childRunId, call }: EventOf<"placed">): boolean {
    const parent = this.#runs.get(runId);
    if (parent === undefined || parent.state.end !== undefined) return false;
    return call?.background === true ? !this.#delivered.has(childRunId) : !isDone(parent, call);
  }

  /** The child that this call made before the restart; each is found once. */
  take(parentRunId: string, callId: string, index: number): EarlierRun | undefined {
    const run = this.#nextOf(parentRunId, callId, index);
    if (run !== undefined) run.isTaken = true;
    return run;
  }

  has(parentRunId: string, callId: string): boolean {
    return this.#nextOf(parentRunId, callId, 0) !== undefined || this.placed.has(parentRunId, callId);
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
    return this.#parentCall(start.parentId, start.call);
  }

  #parentCall(parentId: string, { callId, index }: RunCall): ParentCall | undefined {
    const call = this.#calls.get(keyOf(parentId, callId));
    return call && { callId, index, ...call };
  }

  /** Calls of this run whose children in the background work elsewhere, and have not reported yet. */
  inBackgroundElsewhere(runId: string): ParentCall[] {
    const parent = this.#runs.get(runId);
    return this.placed.of(runId).flatMap(({ call, childRunId }) => {
      if (call?.background !== true || this.#delivered.has(childRunId) || this.#runs.has(childRunId)) return [];
      if ((parent?.state.calls.get(call.callId)?.state ?? "ended") !== "ended") return [];
      return this.#parentCall(runId, call) ?? [];
    });
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

  /** Reads its runs as they were. With a `store`, one that had not ended is read from there: it may have continued since. */
  reader(store?: Pick<Store, "read">): Pick<Store, "read"> {
    return {
      read: async (rootId, { runId = "" } = {}) => {
        const events = this.eventsOf(runId);
        return store === undefined || events.at(-1)?.type === "run-end" ? events : store.read(rootId, { runId });
      },
    };
  }

  eventsOf(runId: string): readonly StoredEvent[] {
    return this.#runs.get(runId)?.events ?? [];
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

  /** The usage of the ended children of this run, with everything below them. */
  usageBelow(run: EarlierRun): { usage: Usage; costUsd: number | null } {
    const sum = this.placed.usageBelow(run.runId, (placed) => !this.isAskedAgain(placed));
    for (const child of run.children) {
      if (child.state.end === undefined) continue;
      const below = this.usageBelow(child);
      addUsage(sum.usage, child.state.end.usage);
      addUsage(sum.usage, below.usage);
      sum.costUsd = addCost(addCost(sum.costUsd, child.state.end.costUsd), below.costUsd);
    }
    return sum;
  }

  /** The log of this run's tools, as its parent may want to know it. */
  toolLog(runId: string, profile: RunProfile | undefined): ToolLogEntry[] {
    return toolLogOf(this.eventsOf(runId), (name) => profile?.tools.byName.get(name)?.tool.displayName);
  }
}

function keyOf(...parts: readonly (string | number)[]): string {
  return JSON.stringify(parts);
}
