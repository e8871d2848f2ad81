/** The machine sous runs on: its clock, its randomness, its working directory and variables. */

import type { Clock, Host, Random } from "./core/clock.ts";

/** Node's timers take no longer delay; a longer wait is made of several. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export function systemHost(given: Partial<Host> = {}): Host {
  return {
    clock: given.clock ?? systemClock,
    random: given.random ?? secureRandom(),
    cwd: given.cwd ?? process.cwd(),
    environment: given.environment ?? process.env,
  };
}

const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(milliseconds, callback) {
    let rest = milliseconds;
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      const now = Math.min(rest, LONGEST_TIMER_MS);
      rest -= now;
      timer = setTimeout(rest > 0 ? wait : callback, now);
    };
    wait();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** Ids must be unique across processes and restarts, so they are drawn from the system's own source, many at a time. */
function secureRandom(): Random {
  const numbers = new Uint32Array(256);
  let next = numbers.length;
  return () => {
    if (next === numbers.length) {
      crypto.getRandomValues(numbers);
      next = 0;
    }
    return (numbers[next++] ?? 0) / 2 ** 32;
  };
}
