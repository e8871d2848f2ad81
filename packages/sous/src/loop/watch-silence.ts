/** Records which runs have been silent for a while, and what each waits for. */

import type { Deadlines } from "../core/clock.ts";
import type { Run } from "../core/run.ts";

const SILENCE_MS = 60_000;

/** One deadline for the whole tree, however many runs it has. Disposing ends the watch. */
export function watchSilence(liveRuns: () => Iterable<Run>, deadlines: Deadlines): Disposable {
  let beatsBefore = new Map<Run, { beats: number; seconds: number }>();
  const look = (): void => {
    const beats = new Map<Run, { beats: number; seconds: number }>();
    for (const run of liveRuns()) {
      const before = beatsBefore.get(run);
      const isSilent = before?.beats === run.beats;
      const seconds = isSilent ? before.seconds + SILENCE_MS / 1000 : 0;
      if (isSilent) run.emit({ type: "stalled", seconds, waitingFor: run.waitingFor });
      beats.set(run, { beats: run.beats, seconds });
    }
    beatsBefore = beats;
    deadline = deadlines.add(SILENCE_MS, look);
  };
  let deadline = deadlines.add(SILENCE_MS, look);
  return { [Symbol.dispose]: () => deadline[Symbol.dispose]() };
}
