/** A folder for one look at agents: their homes, the folder they work in, and a mark that their processes are found by. */

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Entry, entryOf, giveAway, MARK } from "./agents.ts";
import type { ExternalName } from "./mock.ts";

export type Place = Disposable & {
  readonly folder: string;
  /** Where the agents work. */
  readonly cwd: string;
  /** The variable that its processes are found by. */
  readonly mark: { readonly name: string; readonly value: string };
  entry(name: ExternalName): Entry;
  /** The processes that agents of this place have left; waits a moment for those that are about to end. */
  remains(): Promise<string[]>;
};

export function makePlace(url: string): Place {
  const folder = mkdtempSync(join(tmpdir(), "sous-interop-"));
  chmodSync(folder, 0o755);
  const cwd = join(folder, "work");
  mkdirSync(cwd);
  giveAway(cwd);
  return {
    folder,
    cwd,
    mark: { name: MARK, value: folder },
    entry: (name) => entryOf(name, url, folder, folder),
    remains: () => remainsOf(folder),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}

const WAIT_MS = 100;
const WAITS = 50;

async function remainsOf(mark: string): Promise<string[]> {
  for (let wait = 0; ; wait++) {
    const there = marked(mark);
    if (there.length === 0 || wait === WAITS) return there;
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  }
}

/** Only Linux shows the variables of other processes; elsewhere none is seen. */
function marked(mark: string): string[] {
  if (!existsSync("/proc/self/environ")) return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((id) => read(`/proc/${id}/environ`).split("\0").includes(`${MARK}=${mark}`))
    .map((id) => `${id} ${read(`/proc/${id}/cmdline`).replaceAll("\0", " ").slice(0, 100)}`)
    .filter((line) => !line.endsWith(" "));
}

/** A process may end while it is looked at. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
