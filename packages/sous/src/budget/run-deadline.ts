/** How long one run may take: its own timeout or its share of the seconds, whichever ends first. */

import type { Clock, Deadline, Deadlines } from "../core/clock.ts";
import { BudgetExceeded } from "../core/errors.ts";
import { type Run, TimedOut } from "../core/run.ts";

export type TimeLimit = {
  /** For this run alone. */
  timeoutMs: number | undefined;
  /** For all runs of the agent together, of which `usedMs` are gone. */
  seconds: number | undefined;
  usedMs: number;
};

/** Aborts the run when its time is up; undefined when it has all the time in the world. */
export function setDeadline(run: Run, limit: TimeLimit, deadlines: Deadlines, clock: Clock): Deadline | undefined {
  const { timeoutMs = Number.POSITIVE_INFINITY, seconds = Number.POSITIVE_INFINITY, usedMs } = limit;
  const ownLeftMs = Math.max(0, timeoutMs - run.usedMs);
  const leftMs = Math.max(0, seconds * 1000 - usedMs - run.usedMs);
  if (Math.min(ownLeftMs, leftMs) === Number.POSITIVE_INFINITY) return undefined;
  const startedAt = clock.monotonic() - run.usedMs;
  const stop = (): void => {
    const used = (usedMs + clock.monotonic() - startedAt) / 1000;
    const whose = run.parent === undefined ? "The run" : "Subagent";
    const message =
      ownLeftMs < leftMs
        ? `${whose} timed out after ${timeoutMs} ms`
        : new BudgetExceeded("seconds", used, seconds).message;
    run.scope.abort(new TimedOut(message, run.who.runId));
  };
  if (leftMs > 0) return deadlines.add(Math.min(ownLeftMs, leftMs), stop);
  // Whoever has no time left does not even ask.
  stop();
  return undefined;
}

/** Throws `BudgetExceeded` when somebody below this run asks for more time than it or anybody above it has left. */
export function checkSeconds(asked: number | undefined, below: Run): void {
  if (asked === undefined) return;
  for (let run: Run | undefined = below; run !== undefined; run = run.parent) {
    const left = (run.deadline?.remaining() ?? Number.POSITIVE_INFINITY) / 1000;
    if (asked > left) throw new BudgetExceeded("seconds", asked, Math.floor(left));
  }
}
