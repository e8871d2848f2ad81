/** Compares a tree with a recording, event by event: one line for each path and each call, in the ids of the recording. */

import { withoutExternalMarks } from "../../core/data-mark.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";
import { isExternalModel } from "../../core/model.ts";
import { isSubagentToolName } from "../../core/spawn.ts";
import type { ShownTool } from "../../core/tool-set.ts";
import { nounOf } from "../../core/words/event-rows.ts";
import { comparableEvent, compared, isOfTime, type Leniency, wasResumed } from "./comparable-event.ts";
import { differenceInWords, firstDifference } from "./first-difference.ts";
import { IdMap } from "./id-map.ts";
import { tellsMoments } from "./recorded-prompts.ts";
import type { Recording, RunRecording } from "./recording.ts";
import { isPassedOn } from "./stops.ts";

/** The first step that is not as it was recorded. */
export type StepDifference = {
  path: string;
  /** The place in the run: `turn 2, the result of grep`. */
  step: string;
  /** The part of the step: `output`; empty when it is another step altogether. */
  at: string;
  /** Whole values, in the ids of the recording; undefined where there is none. */
  expected: unknown;
  found: unknown;
  /** All of it in one sentence, long texts cut around their first difference. */
  sentence: string;
};

/** Options for comparing two trees. */
export type ComparisonOptions = {
  /** True when tools gave back what was recorded, and did nothing else. */
  isStubbed?: boolean | undefined;
};

/** The verdict on two trees, and their first difference. */
export type RunsComparison = { matches: boolean; firstDifference: StepDifference | undefined };

/** The events of one path or of one call in it, and how far the other tree has come. */
type Line = {
  readonly events: readonly StoredEvent[];
  next: number;
  /** The recording breaks off here: what comes after it is not known. */
  readonly isOpen: boolean;
  leniency: Leniency;
};

/**
 * Estimates are not compared: a restart estimates again, how long children took is part of a prompt, and earlier versions did not
 * mark the words of external agents.
 */
const NO_ESTIMATES: Leniency = { ignoresEstimates: true };

export class Comparison {
  readonly ids = new IdMap();
  difference: StepDifference | undefined;
  readonly #recording: Recording;
  readonly #isLive: boolean;
  readonly #lines = new Map<string, Line>();
  /** The index of a recorded event on its line. */
  readonly #indexes = new Map<StoredEvent, number>();
  /** The number of runs that have started, and the current turn, by path. */
  readonly #starts = new Map<string, number>();
  readonly #turns = new Map<string, number>();
  /** The paths of placed runs to which a stop was passed on. */
  readonly #stopped = new Set<string>();
  /** The tools of the other tree, by their hash. */
  readonly #toolSets = new Map<string, readonly ShownTool[]>();

  constructor(recording: Recording, options: ComparisonOptions) {
    this.#recording = recording;
    this.#isLive = options.isStubbed !== true;
    const external = externalCalls(recording);
    const ofPaths = Map.groupBy(recording.events, ({ path }) => path);
    const above = new Set([...ofPaths].flatMap(([path, events]) => (wasResumed(events) ? pathsAbove(path) : [])));
    for (const [path, events] of ofPaths) {
      const last = recording.paths.get(path)?.at(-1);
      const isOpen = last?.end === undefined || isRuntimeFault(last.end);
      const isResumed = wasResumed(events);
      const isEstimated = above.has(path) || events.some((event) => isUnmarkedReport(event, external));
      const leniency = isResumed ? { ...NO_ESTIMATES, isResumed } : isEstimated ? NO_ESTIMATES : {};
      if (events.some((event) => this.#isPassedOn(event))) this.#stopped.add(path);
      const kept = compared(events).filter((event) => !this.#isOfStub(event) && !this.#isPassedOn(event));
      for (const [key, line] of Map.groupBy(kept, lineOf)) {
        this.#lines.set(key, { events: line, next: 0, isOpen, leniency });
        for (const [index, event] of line.entries()) this.#indexes.set(event, index);
      }
    }
  }

  /** Takes the next event of the other tree. */
  add(event: StoredEvent): void {
    if (event.type === "run-start") this.#bind(event);
    if (isOfTime(event) || this.difference !== undefined) return;
    const { path } = event;
    if (event.type === "cancel" && this.#stopped.has(path)) return;
    if (event.type === "turn-start") this.#turns.set(path, event.turn);
    const line = this.#lines.get(lineOf(this.ids.toRecorded(event)));
    if (line === undefined) {
      if (!this.#isBeyondEnd(path)) this.#differ(event, undefined, event);
      return;
    }
    this.#noteDurations(event);
    const expected = line.events[line.next];
    line.next += 1;
    if (expected !== undefined && !(isRuntimeFault(expected) && line.isOpen)) this.#compare(line, expected, event);
    else if (!line.isOpen) this.#differ(event, undefined, event);
  }

  /** True when the other tree has come as far as this recorded event. */
  hasCome(recorded: StoredEvent): boolean {
    const line = this.#lines.get(lineOf(recorded));
    const index = this.#indexes.get(recorded);
    return line !== undefined && index !== undefined && index < line.next;
  }

  /** True when this recorded event is the next of its path. */
  isNext(recorded: StoredEvent): boolean {
    const line = this.#lines.get(lineOf(recorded));
    return line?.events[line.next] === recorded;
  }

  /** The number of runs that have started at this path. */
  startsAt(path: string): number {
    return this.#starts.get(path) ?? 0;
  }

  /** True when every recorded event has come. */
  get isComplete(): boolean {
    for (const line of this.#lines.values()) if (line.next < line.events.length) return false;
    return true;
  }

  /** The earliest recorded event that has not come. */
  get nextExpected(): StoredEvent | undefined {
    let earliest: StoredEvent | undefined;
    for (const { events, next } of this.#lines.values()) {
      const event = events[next];
      if (event !== undefined && event.seq < (earliest?.seq ?? Number.POSITIVE_INFINITY)) earliest = event;
    }
    return earliest;
  }

  /** The other tree is over: what was recorded and has not come is missing. */
  finish(): RunsComparison {
    const missing = this.nextExpected;
    if (this.difference === undefined && missing !== undefined && !isRuntimeFault(missing))
      this.#differ(missing, missing, undefined);
    return { matches: this.difference === undefined, firstDifference: this.difference };
  }

  /** The nth run of a path here is the nth run of the same path there. */
  #bind({ path, runId, agentId, tools: { hash, shown } }: EventOf<"run-start">): void {
    if (shown !== undefined) this.#toolSets.set(hash, shown);
    const count = this.startsAt(path);
    this.#starts.set(path, count + 1);
    const run = this.#recording.paths.get(path)?.[count];
    if (run === undefined) return;
    this.ids.bind(run.start.agentId, agentId);
    this.ids.bind(run.runId, runId);
  }

  #isPassedOn(event: StoredEvent): boolean {
    return isPassedOn(event, this.#recording.runs.get(event.runId)?.start);
  }

  /** A child that was refused to a tool of a user: its stub does not ask for it again. */
  #isOfStub(event: StoredEvent): boolean {
    const run = this.#recording.runs.get(event.runId);
    if (event.type !== "spawn-refused" || run === undefined || this.#isLive) return false;
    if (run.start.terms?.fanOut !== undefined) return false;
    if (event.waited === true && asksInBackground(run, event.label)) return false;
    return !run.events.some((each) => this.#tellsRefusal(each, event, run));
  }

  /** True when this event told the model that the child was refused. */
  #tellsRefusal(event: StoredEvent, { message, label }: EventOf<"spawn-refused">, { calls }: RunRecording): boolean {
    const isTold = (text: string) => text.includes(message) || text.includes(JSON.stringify(message).slice(1, -1));
    if (event.type === "notice") return isTold(event.text);
    if (event.type !== "tool-call-end" || !isSubagentToolName(event.toolName) || !isTold(event.output)) return false;
    const { toolName, callId } = event;
    const input = calls.get(callId)?.input;
    // One level too deep is refused by the name of the tool when the call has no label.
    if (toolName === label || toolName === `subagent_${label}`) return true;
    if (toolName !== "subagent_send") return JSON.stringify(input)?.includes(JSON.stringify(label)) === true;
    const { subagent_id } = (input ?? {}) as { subagent_id?: string };
    return this.#recording.runs.get(subagent_id ?? "")?.start.label === label;
  }

  /** A run that has read how long children took has a prompt of another length, and so has a fork of it. */
  #noteDurations(event: StoredEvent): void {
    const isFork = event.type === "run-start" && event.origin?.kind === "fork";
    const from = isFork ? this.#lines.get(parentPath(event.path)) : undefined;
    const isTimed = event.type === "tool-call-end" && tellsMoments(event.toolName);
    const line = isTimed || from?.leniency.ignoresEstimates === true ? this.#lines.get(event.path) : undefined;
    if (line !== undefined) line.leniency = { ...line.leniency, ...NO_ESTIMATES };
  }

  /** The recording breaks off before this could have happened. */
  #isBeyondEnd(path: string): boolean {
    const line = this.#lines.get(path);
    if (line !== undefined) return line.isOpen && line.next >= line.events.length;
    return path !== "" && this.#isBeyondEnd(parentPath(path));
  }

  #compare({ leniency }: Line, expected: StoredEvent, event: StoredEvent): void {
    // A child that waits for its slot has an id and no start yet.
    if (expected.type === "tool-call-end" && event.type === expected.type && expected.toolName === "subagent")
      this.ids.learn(expected.output, event.output);
    const found = this.ids.toRecorded(event);
    // The whole ends are shown when a run ended otherwise: they say why, and a difference of fields would not.
    const isOtherEnd = expected.type === "run-end" && found.type === "run-end" && expected.status !== found.status;
    if (expected.type !== found.type || isOtherEnd) {
      this.#differ(expected, expected, found);
      return;
    }
    const difference = firstDifference(
      comparableEvent(this.#spelledOut(expected, this.#recording.toolSets), leniency, expected),
      comparableEvent(this.#spelledOut(found, this.#toolSets), leniency, expected),
    );
    if (difference === undefined) return;
    const { path } = expected;
    const step = describeStep(expected, this.#turns.get(path) ?? 0);
    const part = difference.at === "" ? "" : ` (${difference.at})`;
    const sentence = `${path}, ${step}${part}: ${differenceInWords(difference)}`;
    this.difference = { path, step, ...difference, sentence };
  }

  /** Adds the tools of a run in full: which run of a tree tells them is a matter of moments. */
  #spelledOut(event: StoredEvent, toolSets: ReadonlyMap<string, readonly ShownTool[]>): StoredEvent {
    if (event.type !== "run-start") return event;
    return { ...event, tools: { ...event.tools, shown: toolSets.get(event.tools.hash) } };
  }

  /** Reports another step, or none, where one was expected. */
  #differ(where: StoredEvent, expected: StoredEvent | undefined, found: StoredEvent | undefined): void {
    const { path } = where;
    const step = describeStep(where, this.#turns.get(path) ?? 0);
    const name = (event: StoredEvent | undefined) => (event === undefined ? "nothing more" : inWords(event));
    const sentence = `${path}, ${step}: expected ${name(expected)}, found ${name(found)}`;
    this.difference = { path, step, at: "", expected, found, sentence };
  }
}

/** The paths of those that read what the runs at this path took. */
function pathsAbove(path: string): string[] {
  const above: string[] = [];
  for (let each = parentPath(path); each !== ""; each = parentPath(each)) above.push(each);
  return above;
}

/** The calls of one answer run side by side, like children: each has a line of its own beside that of its path. */
function lineOf(event: StoredEvent): string {
  const { path } = event;
  if ("callId" in event) return `${path}\n${event.callId}`;
  if (event.type === "spawn-refused") return `${path}\n/${event.childPath ?? event.label}`;
  if (event.type === "cancel") return `${path}\ncancel`;
  return event.type === "truncation" && event.subject === "tool-result" ? `${path}\n${event.of}` : path;
}

/** A parent that was stopped may not have read what became of a background child that waited for its slot. */
function asksInBackground({ calls }: RunRecording, label: string): boolean {
  return [...calls.values()].some(({ toolName, input }) => {
    const asked = (input ?? {}) as { label?: unknown; background?: unknown };
    return isSubagentToolName(toolName) && asked.label === label && asked.background === true;
  });
}

/** A tree whose own runtime failed has nothing to say about what its agents would have done. */
function isRuntimeFault(event: StoredEvent): boolean {
  return event.type === "run-end" && (event.fault?.type === "store" || event.fault?.type === "crash");
}

/** The name of an event for a person who compares two runs. `turn` is the turn the run was in. */
export function describeStep(event: StoredEvent, turn: number): string {
  const name = nounOf(event);
  return turn === 0 || event.type === "turn-start" || event.type === "run-start" ? name : `turn ${turn}, ${name}`;
}

function inWords(event: StoredEvent): string {
  if (event.type !== "run-end") return `${event.type} (${describeStep(event, 0)})`;
  return `run-end (${event.status}${event.fault === undefined ? "" : `: ${event.fault.message}`})`;
}

/** A segment never holds a slash (`runtime/subagents/paths.ts`). */
function parentPath(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** The calls that ran an external agent, by the agent that made them and their id. */
function externalCalls({ runs }: Recording): Set<string> {
  const starts = [...runs.values()].map(({ start }) => start).filter(({ model }) => isExternalModel(model));
  return new Set(starts.map(({ parentId, call }) => `${parentId} ${call?.callId}`));
}

/** True for the result of such a call without the mark behind its words. */
function isUnmarkedReport(event: StoredEvent, calls: ReadonlySet<string>): boolean {
  if (event.type !== "tool-call-end" || !calls.has(`${event.agentId} ${event.callId}`)) return false;
  return withoutExternalMarks(event.output) === event.output;
}
