/** Questions to a store that may be away for a while: what a run waits for elsewhere does not fail because of that. */

import type { Clock } from "../../../core/clock.ts";
import { StaleOwner, StoreError } from "../../../core/errors.ts";
import type { Journal } from "../../../core/tree-ports.ts";

const PAUSE_MS = 500;
/** As often as a wait for an end asks. */
const MAX_ATTEMPTS = 60;

/** Asks again while the store is away, unless the journal of the one that asks is lost. */
export async function patiently<Result>(
  ask: () => Promise<Result>,
  { clock, journal }: { readonly clock: Pick<Clock, "timer">; readonly journal: Pick<Journal, "degraded"> },
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!mayPass(error) || attempt === MAX_ATTEMPTS || journal.degraded !== undefined) throw error;
    }
    await new Promise<void>((resolve) => void clock.timer(PAUSE_MS, resolve));
  }
}

/** A store that says no has no cause: only what failed on the way to it has one. */
function mayPass(error: unknown): boolean {
  return error instanceof StoreError && !(error instanceof StaleOwner) && error.cause !== undefined;
}
