/** Measures how long programs waited for a core on this machine: a promise in seconds is made for programs that are let run. */

import { readFileSync } from "node:fs";

/** In milliseconds since the machine began, and 0 for ever where the kernel does not count. Differences mean something. */
export function starvedMilliseconds(): number {
  try {
    const total = /^some .*\btotal=(\d+)/m.exec(readFileSync("/proc/pressure/cpu", "latin1"))?.[1];
    return Number(total ?? 0) / 1000;
  } catch (error) {
    if (error instanceof Error && "code" in error) return 0;
    throw error;
  }
}
