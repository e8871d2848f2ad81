/** What this process has open: taken before and after, it shows what some code has left behind. */

import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";

/** The number of open files, pipes and sockets. */
export function openDescriptors(): number {
  return readdirSync("/dev/fd").length;
}

/** The files below this folder that are open, where the system tells. One that is forgotten is closed by the next collection. */
export function openFilesIn(folder: string): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      const file = readlinkSync(join("/proc/self/fd", descriptor));
      return file.startsWith(folder) ? [file] : [];
    } catch {
      // The one that listed them.
      return [];
    }
  });
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Files, sockets, processes, timers and listeners to signals, by their kind. */
export function whatIsOpen(): Map<string, number> {
  const open = new Map([["descriptors", openDescriptors()]]);
  for (const kind of process.getActiveResourcesInfo()) open.set(kind, (open.get(kind) ?? 0) + 1);
  for (const signal of SIGNALS) open.set(signal, process.listenerCount(signal));
  return open;
}

/** The kinds of which there are more now. What has been told to close may take a while. */
export async function leftOver(earlier: ReadonlyMap<string, number>): Promise<string[]> {
  for (const giveUpAt = performance.now() + 2_500; ; await nextTurn()) {
    const more = [...whatIsOpen()].filter(([kind, count]) => count > (earlier.get(kind) ?? 0));
    if (more.length === 0 || performance.now() > giveUpAt) return more.map(([kind]) => kind);
  }
}
