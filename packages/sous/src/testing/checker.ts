/**
 * Reads a journal and says what is wrong with it. These are the things that are always true, for every ending of every
 * run, as far as a journal can show them: one end per run, numbers without gap, usage that adds up, calls answered once.
 */

import type { EventOf, StoredEvent } from "../core/event.ts";
import { toolCallsOf } from "../core/message.ts";
import { addUsage, noUsage, type Usage } from "../core/usage.ts";
import { beginsJournal, PlacedBegins } from "./placed-runs.ts";

/** Facts from elsewhere that must agree with the journal. */
export type HistoryFacts = {
  /** The sum of what the provider reported for all calls of this tree (`model.reported`). */
  providerUsage?: Readonly<Usage>;
  /** The usage of the whole tree as the result of the run states it. */
  resultUsage?: Readonly<Usage>;
  /** The number of the first event; 1 when unset. */
  firstSeq?: number;
  /** True when the process died or the tree still runs: runs and calls may then be open. */
  isUnfinished?: boolean;
};

/**
 * One sentence for each thing that is not as it must be; none when all is well. `events` are those of a tree as `readTree` joins
 * its journals, or a part of them: where a number is missing in a journal, one is missing there.
 */
export function checkHistory(events: readonly StoredEvent[], facts: HistoryFacts = {}): string[] {
  const history = new History();
  let expected = facts.firstSeq ?? 1;
  for (const event of events) {
    if (event.seq !== expected) history.problem(event, `has number ${event.seq}, expected ${expected}`);
    expected = event.seq + 1;
    history.add(event);
  }
  if (!facts.isUnfinished) history.checkEnds();
  history.checkUsage(facts);
  return history.problems;
}

/** The runs without an end, each with the last thing it did: what a stuck tree is waiting for. */
export function openRuns(events: readonly StoredEvent[]): string[] {
  const last = new Map<string, StoredEvent>();
  for (const event of events) {
    if (event.type === "run-end") last.delete(event.runId);
    else if (event.type !== "stalled") last.set(event.runId, event);
  }
  return [...last.values()].map((event) => `${event.path} (${event.runId}) after ${describe(event)}`);
}

/** The facts of one run so far. `journal` is the placed run that its journal begins with; undefined in that of the root. */
type RunState = ReturnType<typeof newRun> & { journal?: RunState | undefined };

function newRun(start: EventOf<"run-start">) {
  return {
    start,
    isEnded: false,
    openChildren: 0,
    /** Calls the model made that have not begun, begun but not ended, and asked about but not answered. */
    intended: new Set<string>(),
    openCalls: new Map<string, string>(),
    openQuestions: new Set<string>(),
    seenCalls: new Set<string>(),
    /** Acts of an external agent by itself that have begun and not ended. */
    externalCalls: new Set<string>(),
    hasSession: false,
    isInTurn: false,
    /** The sum over the answers and failed attempts. */
    counted: noUsage(),
  };
}

class History {
  readonly problems: string[] = [];
  readonly #runs = new Map<string, RunState>();
  /** The agent that owns each path: a path belongs to one agent for ever. */
  readonly #agentOfPath = new Map<string, string>();
  readonly #placed = new PlacedBegins();
  readonly #reported = new Set<string>();
  readonly #total = noUsage();

  add(event: StoredEvent): void {
    if (event.type === "run-start") {
      this.#begin(event);
      return;
    }
    const run = this.#runs.get(event.runId);
    if (run === undefined) this.problem(event, "comes before the run-start of its run");
    else if (run.isEnded) this.problem(event, "comes after the run-end of its run");
    else if (run.journal?.isEnded) this.problem(event, "comes after the end of its journal");
    else this.#continue(run, event);
  }

  problem(event: StoredEvent, what: string): void {
    this.problems.push(`${event.seq} ${describe(event)} of ${event.path} ${what}`);
  }

  checkEnds(): void {
    for (const { isEnded, start } of this.#runs.values()) if (!isEnded) this.problem(start, "has no run-end");
  }

  checkUsage({ providerUsage, resultUsage }: HistoryFacts): void {
    const total = this.#total;
    if (resultUsage !== undefined && !isSame(resultUsage, total)) {
      this.problems.push(`The result says ${inWords(resultUsage)}, its runs add up to ${inWords(total)}`);
    }
    if (providerUsage === undefined) return;
    // Usage that a provider did not report is estimated on top of what it did.
    const agrees = total.estimated ? total.totalTokens >= providerUsage.totalTokens : isSame(providerUsage, total);
    if (!agrees) {
      this.problems.push(`The provider reported ${inWords(providerUsage)}, the runs add up to ${inWords(total)}`);
    }
  }

  #begin(start: EventOf<"run-start">): void {
    if (this.#runs.has(start.runId)) {
      this.problem(start, "is the second of its run");
      return;
    }
    this.#checkPosition(start);
    const owner = this.#agentOfPath.get(start.path);
    if (owner === undefined) this.#agentOfPath.set(start.path, start.agentId);
    else if (owner !== start.agentId) this.problem(start, "takes a path that belongs to another agent");
    for (const what of this.#placed.problemsOf(start)) this.problem(start, what);
    const run: RunState = newRun(start);
    run.journal = beginsJournal(start) ? run : this.#runs.get(start.parentId ?? "")?.journal;
    if (run.journal?.isEnded) this.problem(start, "comes after the end of its journal");
    this.#runs.set(start.runId, run);
  }

  #checkPosition(start: EventOf<"run-start">): void {
    if (start.parentId === null) {
      if (start.depth !== 0) this.problem(start, `is a root at depth ${start.depth}`);
      for (const { isEnded } of this.#runs.values()) if (!isEnded) this.problem(start, "begins while the tree runs");
      return;
    }
    const parent = this.#runs.get(start.parentId);
    if (parent === undefined) {
      this.problem(start, "comes before the run-start of its parent");
      return;
    }
    if (parent.isEnded) this.problem(start, "comes after the run-end of its parent");
    if (start.depth !== parent.start.depth + 1) this.problem(start, `has depth ${start.depth}`);
    if (!start.path.startsWith(`${parent.start.path}/`)) this.problem(start, `is not below ${parent.start.path}`);
    parent.openChildren += 1;
  }

  #continue(run: RunState, event: Exclude<StoredEvent, { type: "run-start" }>): void {
    switch (event.type) {
      case "turn-start":
        run.isInTurn = true;
        break;
      case "message-end":
        run.isInTurn = false;
        addUsage(run.counted, event.usage);
        if (run.openCalls.size > 0) this.problem(event, "comes while calls of the answer before are open");
        for (const { callId } of toolCallsOf(event.message)) {
          if (run.seenCalls.has(callId)) this.problem(event, `uses the call id ${callId} again`);
          run.seenCalls.add(callId);
          run.intended.add(callId);
        }
        break;
      case "retry":
        addUsage(run.counted, event.spent);
        break;
      case "tool-call-start":
        if (!run.intended.delete(event.callId)) this.problem(event, "was not asked for, or begins twice");
        run.openCalls.set(event.callId, event.toolName);
        break;
      case "tool-call-end":
        if (run.openCalls.get(event.callId) !== event.toolName) this.problem(event, "ends no open call");
        run.openCalls.delete(event.callId);
        if (run.openQuestions.has(event.callId)) this.problem(event, "ends a call whose question is open");
        if (!event.output.isWellFormed()) this.problem(event, "is not well-formed Unicode");
        break;
      case "approval-request":
        if (!mayAsk(run, event.callId)) this.problem(event, "asks about no open call");
        run.openQuestions.add(event.callId);
        break;
      case "approval-end":
        if (!run.openQuestions.delete(event.callId)) this.problem(event, "answers no open question");
        break;
      case "outside-session":
        if (run.isInTurn) this.problem(event, "comes in the middle of a turn");
        run.hasSession = true;
        break;
      case "outside-call":
        this.#externalCall(run, event);
        break;
      case "resume":
        // The process has ended: what an external agent did there has no further events.
        run.isInTurn = false;
        if (run.hasSession) run.openQuestions.clear();
        run.externalCalls.clear();
        break;
      case "placed":
        for (const what of this.#placed.add(event, this.#runs.has(event.childRunId))) this.problem(event, what);
        break;
      case "report":
        this.#checkReport(event);
        break;
      case "run-end":
        this.#end(run, event);
        break;
      case "budget-warning":
      case "prune":
      case "truncation":
      case "spawn-refused":
      case "stalled":
      case "cancel":
      case "steer":
      case "notice":
        break;
      default:
        event satisfies never;
    }
  }

  #externalCall(run: RunState, event: EventOf<"outside-call">): void {
    const { callId, phase } = event;
    if (!run.hasSession && event.kind !== "provider") this.problem(event, "comes before the session of its run");
    if (phase === "start") {
      if (run.externalCalls.has(callId)) this.problem(event, "begins twice");
      run.externalCalls.add(callId);
      return;
    }
    if (!run.externalCalls.delete(callId)) this.problem(event, "ends no open call");
    if (run.openQuestions.has(callId)) this.problem(event, "ends a call whose question is open");
  }

  #checkReport(event: EventOf<"report">): void {
    const child = this.#runs.get(event.childRunId);
    if (child === undefined) this.problem(event, `is about ${event.childRunId}, which never ran`);
    else if (!child.isEnded) this.problem(event, `is about ${child.start.path}, which has not ended`);
    if (this.#reported.has(event.childRunId)) this.problem(event, `delivers ${event.childRunId} a second time`);
    this.#reported.add(event.childRunId);
  }

  #end(run: RunState, end: EventOf<"run-end">): void {
    run.isEnded = true;
    for (const callId of run.openCalls.keys()) this.problem(end, `leaves the call ${callId} open`);
    // An agent that was stopped or has died does not say how its calls ended.
    const isWhole = end.status === "completed" || end.status === "incomplete" || end.status === "refused";
    if (isWhole) for (const callId of run.externalCalls) this.problem(end, `leaves the external call ${callId} open`);
    for (const callId of run.openQuestions) this.problem(end, `leaves the question about ${callId} open`);
    if (run.openChildren > 0) this.problem(end, `leaves ${run.openChildren} children running`);
    const parent = end.parentId === null ? undefined : this.#runs.get(end.parentId);
    if (parent !== undefined) parent.openChildren -= 1;
    addUsage(this.#total, end.usage);
    // A call that was stopped before its answer was recorded is counted in the end and has no event of its own.
    const isStopped = end.status === "cancelled" || end.status === "timeout" || end.status === "budget_exceeded";
    const agrees =
      end.usage.estimated || isStopped
        ? end.usage.totalTokens >= run.counted.totalTokens
        : isSame(end.usage, run.counted);
    if (!agrees) this.problem(end, `says ${inWords(end.usage)}, its answers add up to ${inWords(run.counted)}`);
  }
}

function describe(event: StoredEvent): string {
  switch (event.type) {
    case "tool-call-start":
    case "tool-call-end":
    case "approval-request":
      return `${event.type} ${event.toolName} ${event.callId}`;
    case "outside-call":
      return `${event.type} ${event.phase} ${event.name} ${event.callId}`;
    case "turn-start":
    case "message-end":
      return `${event.type} ${event.turn}`;
    case "run-end":
      return `run-end ${event.status}`;
    default:
      return event.type;
  }
}

function isSame(one: Readonly<Usage>, other: Readonly<Usage>): boolean {
  return inWords(one) === inWords(other);
}

function inWords(usage: Readonly<Usage>): string {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, totalTokens } = usage;
  return `${totalTokens} tokens (${inputTokens} in, ${outputTokens} out, ${cachedInputTokens} cached, ${cacheWriteTokens} written)`;
}

/** A call asks about itself, the gate about a child that the call asks for, and an external agent about what it likes. */
function mayAsk({ openCalls, hasSession, isInTurn }: RunState, callId: string): boolean {
  return openCalls.has(callId) || openCalls.has(callId.replace(/\/\d+$/, "")) || (hasSession && isInTurn);
}
