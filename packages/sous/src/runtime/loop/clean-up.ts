/** The end of a run: its children stop, then the clean-ups of its tools run, such as ending a server that a call started. */

import type { Run } from "../../core/run.ts";
import type { CleanUp } from "../../core/tool.ts";

/** The longest wait for clean-ups that do not end. */
const MAX_CLEAN_UP_MS = 5000;

/** Runs `cleanUp` at the end of the run, or at once for a tool that was left behind by a run that has ended. */
export function defer(run: Run, cleanUp: CleanUp): void {
  if (run.isCleanedUp) {
    void attempt(cleanUp);
    return;
  }
  run.cleanUps ??= [];
  run.cleanUps.push(cleanUp);
}

/** Stops everything below the run and runs the clean-ups of its tools. */
export async function closeBelow(run: Run): Promise<void> {
  try {
    // A program outside may send to a child while others are being stopped, so repeat until none is left.
    for (let closing = run.tree.closeChildren(run); closing !== undefined; closing = run.tree.closeChildren(run)) {
      await closing;
    }
    run.tree.closeParked(run);
    run.tree.closeOrphans(run);
  } finally {
    await cleanUp(run);
  }
}

/** Runs the clean-ups of its tools. */
export async function cleanUp(run: Run): Promise<void> {
  run.isCleanedUp = true;
  const { cleanUps } = run;
  run.cleanUps = undefined;
  if (cleanUps !== undefined) await runAll(cleanUps, run);
}

async function runAll(cleanUps: readonly CleanUp[], { tree }: Run): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  using _timer = tree.clock.timer(MAX_CLEAN_UP_MS, resolve);
  await Promise.race([Promise.all(cleanUps.map(attempt)), late]);
}

async function attempt(cleanUp: CleanUp): Promise<void> {
  try {
    await cleanUp();
  } catch {
    // The run has ended, and its outcome does not depend on a clean-up.
  }
}
