/** Runs a stored tree again from its recorded answers, in memory and without network, and says where it parts from it. */

import type { StoredEvent } from "./core/event.ts";
import { checkOptions, type OptionNames } from "./core/options.ts";
import type { RunResult } from "./core/runtime.ts";
import type { Store } from "./core/store.ts";
import { systemHost } from "./host.ts";
import type { StepDifference } from "./replay/comparison.ts";
import { Playback } from "./replay/playback.ts";
import { earlyEnd, readRecording } from "./replay/recording.ts";
import { redactorFor } from "./tree/redaction.ts";
import { play } from "./tree/rerun/play.ts";
import { type StageOptions, stageFor } from "./tree/rerun/stage.ts";

/** How a stored tree is run again. */
export type RerunOptions = StageOptions & {
  store: Pick<Store, "read" | "run">;
  signal?: AbortSignal | undefined;
};

const OPTIONS: OptionNames<RerunOptions> = {
  ...{ store: true, signal: true, agents: true, liveTools: true, tools: true, onEvent: true },
};

/** What came of running a stored tree again. */
export type Rerun = {
  /** Every event of every path was as recorded, up to the end of the recording. */
  matches: boolean;
  firstDifference: StepDifference | undefined;
  /** Why the recording stops before its work was done: `The recording ends here: it was cancelled`. */
  endsEarly: string | undefined;
  /** What the rerun came to. */
  result: RunResult;
  /** The root of the rerun, which is in no store. */
  runId: string;
  events: readonly StoredEvent[];
};

/**
 * Plays the whole tree that the run belongs to, follow-ups of its root included. Nothing is written to the store, no provider
 * is loaded, and with recorded results no tool does anything. Throws a `UserError` for a tree that cannot be played.
 */
export async function rerun(runId: string, options: RerunOptions): Promise<Rerun> {
  checkOptions("rerun()", options, OPTIONS);
  const { store, liveTools, signal } = options;
  const recording = await readRecording(store, runId, signal);
  const playback = new Playback(recording, { isStubbed: liveTools !== true }, redactorFor(systemHost()));
  using stop = linkedStop(signal, playback.conductor.news);
  // An agent outside was asked about paths in that folder; live tools work where they are.
  const cwd = liveTools === true ? undefined : playback.root.start.cwd;
  const host = systemHost({ clock: playback.clock, ...(cwd !== undefined && { cwd }) });
  const { result, verdict } = await play(stageFor(playback, options, stop.controller, host));
  signal?.throwIfAborted();
  const last = playback.roots.at(-1);
  const reason = last && earlyEnd(last);
  return {
    ...verdict,
    endsEarly: reason && `The recording ends here: ${reason}`,
    result,
    runId: playback.events[0]?.runId ?? "",
    events: playback.events,
  };
}

/** A controller of our own, which the caller's signal aborts too. */
function linkedStop(signal: AbortSignal | undefined, onStop: () => void): Disposable & { controller: AbortController } {
  const controller = new AbortController();
  const stop = () => {
    controller.abort(signal?.reason);
    onStop();
  };
  if (signal?.aborted) stop();
  else signal?.addEventListener("abort", stop, { once: true });
  return { controller, [Symbol.dispose]: () => signal?.removeEventListener("abort", stop) };
}
