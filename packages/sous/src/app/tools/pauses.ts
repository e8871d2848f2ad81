/** Long computations pause every few milliseconds, so that deadlines, signals and other runs get their turn. */

import { setImmediate } from "node:timers/promises";

export type Pauses = {
  /** True when it is time to call `rest`. Cheap enough for every step of a loop. */
  isDue(): boolean;
  /** Lets other work run first. Throws when the signal is aborted. */
  rest(): Promise<void>;
};

const MAX_STEPS = 4;
const MAX_MILLISECONDS = 10;

export function pausesFor(signal: AbortSignal): Pauses {
  let steps = 0;
  let since = performance.now();
  return {
    isDue() {
      steps = (steps + 1) % MAX_STEPS;
      return steps === 0 && performance.now() - since > MAX_MILLISECONDS;
    },
    async rest() {
      await setImmediate();
      signal.throwIfAborted();
      since = performance.now();
    },
  };
}
