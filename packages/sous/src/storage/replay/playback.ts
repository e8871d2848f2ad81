/** A recording while it is played: which run is which, what was asked, and whose turn it is. */

import { NO_REDACTION, type Redactor } from "../../core/clean-text.ts";
import type { Clock } from "../../core/clock.ts";
import { UserError } from "../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";
import type { SpawnRequest } from "../../core/spawn.ts";
import type { ShownTool } from "../../core/tool-set.ts";
import { DELEGATE_TOOL } from "../../core/words/tools.ts";
import { Comparison, type ComparisonOptions } from "./comparison.ts";
import { Conductor } from "./conductor.ts";
import type { IdMap } from "./id-map.ts";
import { RecordedOrder } from "./recorded-order.ts";
import { RecordedPrompts } from "./recorded-prompts.ts";
import type { Recording, RunRecording } from "./recording.ts";
import { isCancelledCall } from "./stops.ts";

export class Playback {
  readonly recording: Recording;
  readonly clock: ReplayClock;
  readonly comparison: Comparison;
  readonly order: RecordedOrder;
  readonly conductor: Conductor;
  readonly prompts: RecordedPrompts;
  /** Tools give back what was recorded. */
  readonly isStubbed: boolean;
  /** The recording is without secrets, so anything compared with it must be too. */
  readonly redactor: Redactor;
  /** All that was kept of the rerun. */
  readonly events: StoredEvent[] = [];
  /** Requests that a stub makes for its tool: what they ask for is in the recording. */
  readonly respawned = new WeakSet<SpawnRequest>();
  /** True when further events are not in the recording and say nothing about it. */
  isClosing = false;

  constructor(recording: Recording, options: ComparisonOptions, redactor: Redactor = NO_REDACTION) {
    this.recording = recording;
    this.redactor = redactor;
    this.isStubbed = options.isStubbed === true;
    this.clock = new ReplayClock(recording.events[0]?.time ?? 0);
    this.comparison = new Comparison(recording, options);
    this.order = new RecordedOrder(recording);
    this.conductor = new Conductor(this);
    this.prompts = new RecordedPrompts(recording);
  }

  get ids(): IdMap {
    return this.comparison.ids;
  }

  /** The recorded run that this run of the rerun plays. */
  runOf(runId: string): RunRecording | undefined {
    return this.recording.runs.get(this.ids.toRecorded(runId));
  }

  /** The recorded run that the next start at this path plays. */
  upcoming(path: string): RunRecording | undefined {
    return this.recording.paths.get(path)?.[this.comparison.startsAt(path)];
  }

  get root(): RunRecording {
    const root = this.recording.runs.get(this.recording.rootId);
    if (root === undefined) throw new UserError("The recording has no root");
    return root;
  }

  /** The runs of the root, in order. */
  get roots(): readonly RunRecording[] {
    return this.recording.paths.get(this.root.path) ?? [];
  }

  /** The refusal of a child at this path. */
  refusalAt(path: string): EventOf<"spawn-refused"> | undefined {
    return this.recording.events.find((event) => event.type === "spawn-refused" && event.childPath === path) as
      | EventOf<"spawn-refused">
      | undefined;
  }

  /** The external agent that a person was asked about before this child was refused; undefined when none was. */
  askedAbout({ runId, label }: EventOf<"spawn-refused">): string | undefined {
    for (const { toolName, input, callId } of this.recording.runs.get(runId)?.asked.values() ?? []) {
      const { serverName, description } = (input ?? {}) as { serverName?: unknown; description?: unknown };
      if (toolName === DELEGATE_TOOL && callId.includes("/") && description === label) return String(serverName);
    }
    return undefined;
  }

  toolsOf({ path, start }: RunRecording): readonly ShownTool[] {
    const shown = this.recording.toolSets.get(start.tools.hash);
    if (shown === undefined) throw new UserError(`The recording does not say which tools ${path} had`);
    return shown;
  }

  /** True when a tool started this child in the moment it was called. */
  startedAtOnce({ start, parent }: RunRecording): boolean {
    const called = parent?.events.find(
      (event) => event.type === "tool-call-start" && event.callId === start.call?.callId,
    );
    return called !== undefined && this.order.isImmediate(called, start);
  }

  /** Takes an event of the rerun. */
  add(event: StoredEvent): void {
    this.conductor.news();
    if (this.isClosing) return;
    this.events.push(event);
    this.comparison.add(event);
    if (event.type === "run-start") this.conductor.started(this.ids.toRecorded(event.runId));
    this.conductor.arrived(this.#isWaiting(event));
  }

  /** True when the run does nothing after this event until something comes from outside. */
  #isWaiting(event: StoredEvent): boolean {
    if (event.type === "outside-call") return event.kind !== "provider";
    if (event.type !== "tool-call-start") return event.type === "turn-start" || event.type === "approval-request";
    const run = this.runOf(event.runId);
    const result = run?.results.get(this.ids.toRecorded(event.callId));
    // A call that was stopped before it was made has its result at once.
    return result === undefined || !isCancelledCall(result);
  }
}

type Timer = { readonly due: number; readonly callback: () => void };

/** The clock of a rerun: it shows the time of the recording and moves only when the rerun moves it. */
class ReplayClock implements Clock {
  readonly #start: number;
  readonly #timers = new Set<Timer>();
  #time: number;

  constructor(start: number) {
    this.#start = start;
    this.#time = start;
  }

  // Fields, not methods: a clock is handed around in pieces.
  readonly now = (): number => this.#time;
  readonly monotonic = (): number => this.#time - this.#start;
  readonly timer = (milliseconds: number, callback: () => void): Disposable => {
    const timer = { due: this.#time + Math.max(0, milliseconds), callback };
    this.#timers.add(timer);
    // No time need pass for it.
    if (milliseconds <= 0) queueMicrotask(() => this.#timers.delete(timer) && callback());
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  };

  /** Never back: the clock of the recording may have been set. */
  moveTo(time: number): void {
    this.#time = Math.max(this.#time, time);
  }

  isDueAt(time: number): boolean {
    for (const timer of this.#timers) if (timer.due === time) return true;
    return false;
  }

  /** Moves to the earliest timer that is due before this time and calls it; false when there is none. */
  fireBefore(time: number): boolean {
    let earliest: Timer | undefined;
    for (const timer of this.#timers) {
      // Among equals the youngest: a deadline was set before whatever it would stop.
      const isEarlier = earliest === undefined ? timer.due < time : timer.due <= earliest.due;
      if (isEarlier) earliest = timer;
    }
    if (earliest === undefined) return false;
    this.#timers.delete(earliest);
    this.moveTo(earliest.due);
    earliest.callback();
    return true;
  }
}
