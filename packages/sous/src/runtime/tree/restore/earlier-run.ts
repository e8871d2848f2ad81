/** One run of a stored tree, and how far it came. */

import type { EventOf, StoredEvent } from "../../../core/event.ts";
import type { RunCall } from "../../../core/run-start.ts";
import { RunFold, type RunState } from "../../loop/run-state.ts";

/** One run of the tree before the restart. */
export class EarlierRun {
  readonly runId: string;
  readonly state: RunState;
  readonly events: StoredEvent[] = [];
  readonly children: EarlierRun[] = [];
  /** The times when it was at work: each restart begins a new span. */
  readonly spans: [from: number, to: number][] = [];
  /** It was asked for again: it continues, or its report was delivered. */
  isTaken = false;
  readonly #fold: RunFold;

  constructor(start: EventOf<"run-start">) {
    this.runId = start.runId;
    this.#fold = new RunFold(start);
    this.state = this.#fold.state;
  }

  add(event: StoredEvent): void {
    this.events.push(event);
    this.#fold.add(event);
    const { type, time } = event;
    const last = this.spans.at(-1);
    if (last === undefined || type === "resume") this.spans.push([time, time]);
    else last[1] = time;
  }
}

/** The working time of these runs together: the time in which at least one of them was at work. */
export function workingMs(runs: Iterable<EarlierRun>): number {
  const spans = [...runs].flatMap((run) => run.spans).sort(([one], [other]) => one - other);
  let [total, reached] = [0, Number.NEGATIVE_INFINITY];
  for (const [from, to] of spans) {
    total += Math.max(0, to - Math.max(from, reached));
    reached = Math.max(reached, to);
  }
  return total;
}

/** The call that made a child has its result: it is not made again. */
export function isDone({ state }: EarlierRun, call: RunCall | undefined): boolean {
  return call !== undefined && (state.calls.get(call.callId)?.state ?? "ended") === "ended" && call.background !== true;
}

/** The runs whose reports this result of `subagent_wait` has brought. */
export function reportedRuns({ metadata }: EventOf<"tool-call-end">): string[] {
  const runs = metadata?.reported_runs;
  return Array.isArray(runs) ? runs.filter((id) => typeof id === "string") : [];
}
