/** What people and programs did to a tree while it ran, from its recording: words, follow-ups, cancels. */

import type { EventOf, StoredEvent } from "../core/event.ts";
import { textOf } from "../core/message.ts";
import type { CancelMode } from "../core/spawn.ts";
import { isSubagentToolName } from "../core/spawn.ts";
import type { OutsideAct } from "./conductor.ts";
import type { Playback } from "./playback.ts";
import type { Recording, RunRecording } from "./recording.ts";

/** The tree as a program outside of it sees it. */
export type OutsideControl = {
  steer(path: string, text: string): void;
  send(path: string, message: string): void;
  cancel(path: string, mode: CancelMode): void;
};

/** Tells the conductor everything that came from outside. What runs did to each other they will do again. */
export function planOutsideActs(
  {
    recording,
    conductor,
    comparison,
    isStubbed,
  }: Pick<Playback, "recording" | "conductor" | "comparison" | "isStubbed">,
  control: OutsideControl,
): void {
  for (const run of recording.runs.values()) {
    const { path, start, events } = run;
    if (start.depth > 0 && start.origin?.kind === "follow-up" && start.call === undefined) {
      const earlier = recording.runs.get(start.origin.runId)?.end;
      conductor.acts.push({
        key: start.seq - 0.5,
        atStartOf: undefined,
        isReady: () => earlier !== undefined && comparison.hasCome(earlier),
        perform: () => control.send(path, textOf(start.task)),
      });
    }
    const act = (at: StoredEvent, key: number, perform: () => void): OutsideAct => ({
      key,
      // Before its first turn it must hear it in the moment it starts.
      atStartOf: at === start ? run.runId : undefined,
      isReady: () => at !== start && comparison.hasCome(at),
      perform,
    });
    let turnStart: StoredEvent = start;
    let heardUntil = start.seq;
    for (const event of events) {
      if (event.type === "turn-start") {
        turnStart = event;
        heardUntil = event.seq;
      } else if (event.type === "report")
        heardUntil = Math.max(heardUntil, recording.runs.get(event.childRunId)?.end?.seq ?? 0);
      else if (event.type === "steer" && !comesAgain(recording, run, event, isStubbed)) {
        // Read at the beginning of a turn: said since the one before, after the reports that stand before it.
        conductor.acts.push(act(turnStart, heardUntil + 0.5, () => control.steer(path, event.text)));
      } else if (event.type === "cancel" && !comesAgain(recording, run, event, isStubbed)) {
        conductor.cancels.push({ event, perform: () => control.cancel(path, event.mode) });
      }
    }
  }
  conductor.acts.sort((one, other) => one.key - other.key);
  conductor.cancels.sort((one, other) => one.event.seq - other.event.seq);
}

/** True for what a call of the runtime's own tools did, or a live tool: it does so again. */
function comesAgain(
  { paths }: Recording,
  { parent }: RunRecording,
  { callId }: EventOf<"cancel" | "steer">,
  isStubbed: boolean,
): boolean {
  if (callId === undefined) return false;
  // The call may be of a later run of the parent.
  const names = (paths.get(parent?.path ?? "") ?? []).map(({ calls }) => calls.get(callId)?.toolName ?? "");
  return !isStubbed || names.some(isSubagentToolName);
}
