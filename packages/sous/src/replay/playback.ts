/** A recording while it is played: who is who, what was asked, and whose turn it is. */

import type { StoredEvent } from "../core/event.ts";
import type { IdMap } from "../core/id-map.ts";
import { RecordedPrompts } from "../core/recorded-prompts.ts";
import type { Recording, RunRecording } from "../core/recording.ts";
import { NO_REDACTION, type Redactor } from "../core/redact.ts";
import type { ComparisonOptions } from "./compare-runs.ts";
import { Comparison } from "./comparison.ts";
import { Conductor } from "./conductor.ts";
import { RecordedOrder } from "./recorded-order.ts";
import { ReplayClock } from "./replay-clock.ts";

export class Playback {
  readonly recording: Recording;
  readonly clock: ReplayClock;
  readonly comparison: Comparison;
  readonly order: RecordedOrder;
  readonly conductor: Conductor;
  readonly prompts: RecordedPrompts;
  readonly isRebuilt: boolean;
  /** What was kept is without secrets, so what it is compared with is too. */
  readonly redactor: Redactor;
  /** All that was kept of the rerun. */
  readonly events: StoredEvent[] = [];
  /** What comes now is not in the recording, and says nothing about it. */
  isClosing = false;

  constructor(recording: Recording, options: ComparisonOptions, redactor: Redactor = NO_REDACTION) {
    this.recording = recording;
    this.redactor = redactor;
    this.isRebuilt = options.isRebuilt === true;
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

  /** Whether a tool started this child in the moment it was called. */
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
  }
}
