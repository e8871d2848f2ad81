/** What tools want done at the end of a run, such as ending a server that a call has started. */

import type { Run } from "../core/run.ts";
import type { CleanUp } from "../core/tool.ts";

/** A clean-up that never ends must not keep the run from ending. */
const PATIENCE_MS = 5000;

/** A tool may have been left behind by a run that was stopped: what it wants done is done at once then. */
export function defer(run: Run, cleanUp: CleanUp): void {
  if (run.isCleanedUp) {
    void attempt(cleanUp);
    return;
  }
  run.cleanUps ??= [];
  run.cleanUps.push(cleanUp);
}

/** Undefined when there is nothing to do. */
export function cleanUpAfter(run: Run): Promise<void> | undefined {
  run.isCleanedUp = true;
  const { cleanUps } = run;
  run.cleanUps = undefined;
  return cleanUps === undefined ? undefined : allInTime(cleanUps, run);
}

async function allInTime(cleanUps: readonly CleanUp[], { tree }: Run): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  using _patience = tree.clock.timer(PATIENCE_MS, resolve);
  await Promise.race([Promise.all(cleanUps.map(attempt)), late]);
}

async function attempt(cleanUp: CleanUp): Promise<void> {
  try {
    await cleanUp();
  } catch {
    // The run has ended: nobody is left to tell.
  }
}
