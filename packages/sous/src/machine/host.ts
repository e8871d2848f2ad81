/** The machine sous runs on: its clock, its randomness, its working directory and variables. */

import type { Clock, Host, Random } from "../core/clock.ts";
import { onDispose } from "../core/scope.ts";
import { ulidSource } from "../core/ulid.ts";

/** Node's timers take no longer delay; a longer wait is made of several. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function systemHost(given: Partial<Host> = {}): Host {
  return {
    clock: given.clock ?? systemClock,
    random: given.random ?? secureRandom,
    cwd: given.cwd ?? process.cwd(),
    environment: given.environment ?? process.env,
    isSampled: given.isSampled,
    trace: given.trace,
  };
}

/** The time when it was last asked for in this turn of the event loop; undefined when it was not. */
let thisTurn: number | undefined;
const endTurn = (): void => {
  thisTurn = undefined;
};
// A test may replace the timers of the program, and then this turn would never end.
const { setImmediate } = globalThis;

/** The default of programs that are opened without a host, too. */
export const systemClock: Clock = {
  now() {
    const now = Date.now();
    if (thisTurn !== undefined) thisTurn = now;
    return now;
  },
  lately() {
    if (thisTurn === undefined) {
      thisTurn = Date.now();
      setImmediate(endTurn);
    }
    return thisTurn;
  },
  monotonic: () => performance.now(),
  timer(milliseconds, callback, isQuiet = false) {
    let rest = milliseconds;
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      const now = Math.min(rest, MAX_TIMER_MS);
      rest -= now;
      timer = setTimeout(rest > 0 ? wait : callback, now);
      if (isQuiet) timer.unref();
    };
    wait();
    return onDispose(() => clearTimeout(timer));
  },
};

/** The same, with timers that do not keep the process alive. */
export const quietClock: Clock = {
  ...systemClock,
  timer: (milliseconds, callback) => systemClock.timer(milliseconds, callback, true),
};

const numbers = new Uint32Array(256);
let nextNumber = numbers.length;

/** Ids must be unique across processes and restarts, so they are drawn from the system's own source, many at a time. */
const secureRandom: Random = () => {
  if (nextNumber === numbers.length) {
    // Loaded with the first id. The global `crypto` would load all of Web Crypto, which takes some milliseconds.
    process.getBuiltinModule("node:crypto").randomFillSync(numbers);
    nextNumber = 0;
  }
  return (numbers[nextNumber++] ?? 0) / 2 ** 32;
};

const systemIds = ulidSource(systemClock.now, secureRandom);

/** Makes ids. All runtimes on the clock of the machine share one source: their runs are listed in the order in which they began. */
export function idSource({ clock, random }: Pick<Host, "clock" | "random">): () => string {
  return clock === systemClock && random === secureRandom ? systemIds : ulidSource(clock.now, random);
}
