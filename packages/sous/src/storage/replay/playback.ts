/** A recording while it is played: which run is which, what was asked, and whose turn it is. */

import { UserError } from "../core/errors.ts";
import type { EventOf, StoredEvent } from "../core/event.ts";
import { NO_REDACTION, type Redactor } from "../core/redactor.ts";
import type { SpawnRequest } from "../core/spawn.ts";
import type { ShownTool } from "../core/tool-set.ts";
import { Comparison, type ComparisonOptions } from "./comparison.ts";
import { Conductor } from "./conductor.ts";
import type { IdMap } from "./id-map.ts";
import { RecordedOrder } from "./recorded-order.ts";
import { RecordedPrompts } from "./recorded-prompts.ts";
import { isCancelledCall, type Recording, type RunRecording } from "./recording.ts";
import { ReplayClock } from "./replay-clock.ts";

export class Playback {
  readonly recording: Recording;
  readonly clock: ReplayClock;
  readonly comparison: Comparison;
  readonly order: RecordedOrder;
  readonly conductor: Conductor;
  readonly prompts: RecordedPrompts;
  /** Tools give back what was recorded. */
  readonly isStubbed: boolean;
  /** What was kept is without secrets, so what it is compared with is too. */
  readonly redactor: Redactor;
  /** All that was kept of the rerun. */
  readonly events: StoredEvent[] = [];
  /** Requests that a stub makes for its tool: what they ask for is in the recording. */
  readonly respawned = new WeakSet<SpawnRequest>();
  /** What comes now is not in the recording, and says nothing about it. */
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

  /** Why no child was made at this path. */
  refusalAt(path: string): EventOf<"spawn-refused"> | undefined {
    return this.recording.events.find((event) => event.type === "spawn-refused" && event.childPath === path) as
      | EventOf<"spawn-refused">
      | undefined;
  }

  /** The agent outside that a person was asked about before this child was refused; undefined when none was. */
  askedAbout({ runId, label }: EventOf<"spawn-refused">): string | undefined {
    for (const { toolName, input, callId } of this.recording.runs.get(runId)?.asked.values() ?? []) {
      const { serverName, description } = (input ?? {}) as { serverName?: unknown; description?: unknown };
      if (toolName === "subagent_delegate" && callId.includes("/") && description === label) return String(serverName);
    }
    return undefined;
  }

  toolsOf({ path, start }: RunRecording): readonly ShownTool[] {
    const shown = this.recording.toolSets.get(start.tools.hash);
    if (shown === undefined) throw new UserError(`The recording does not say which tools ${path} had`);
    return shown;
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
    this.conductor.arrived(this.#isWaiting(event));
  }

  /** Whether the run does nothing after this event until something comes from outside. */
  #isWaiting(event: StoredEvent): boolean {
    if (event.type === "outside-call") return event.kind !== "provider";
    if (event.type !== "tool-call-start") return event.type === "turn-start" || event.type === "approval-request";
    const run = this.runOf(event.runId);
    const result = run?.results.get(this.ids.toRecorded(event.callId));
    // A call that was stopped before it was made has its result at once.
    return result === undefined || !isCancelledCall(result);
  }
}
