/** Finds the processes that belong to a trial in the table of processes: their numbers and when they began. */

import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { MARK_VARIABLE } from "../../src/app/process/environment.ts";
import { listProcesses, markedProcesses, type ProcessEntry, processOf } from "../../src/app/process/process-table.ts";
import { starvedMilliseconds } from "./starved-time.ts";

/** How long until the next look: at first not long, later a share of what has passed, because every look takes time itself. */
const LOOK_AGAIN_MS = { least: 20, most: 100, share: 0.1 };
const LOOK_FOR_OTHERS_MS = 500;
/** A machine that lets nobody run for longer is judged all the same. */
const MOST_STARVED_MS = 20_000;

export class ProcessJudge {
  readonly #mark = `${randomBytes(16).toString("hex")}-1/`;
  readonly #seen = new Map<string, ProcessEntry>();
  readonly #folder: string | undefined;
  /** Ours: a process that is judged must have a group of its own, or we would be judged with it. */
  readonly #group = processOf(process.pid)?.group;

  /** Whoever works in the folder belongs to the trial, with or without a mark. */
  constructor(folder?: string) {
    this.#folder = folder;
  }

  /** For the process that is judged; everything it starts carries it, too. */
  get environment(): Record<string, string> {
    return { [MARK_VARIABLE]: this.#mark };
  }

  /** Remembers everything that carries the mark, descends from such a process, or is in a group with one. */
  look(): number {
    const all = listProcesses();
    for (const each of markedProcesses(this.#mark)) this.#remember(each);
    for (const each of all) if (this.#folder !== undefined && cwdOf(each.pid) === this.#folder) this.#remember(each);
    for (let size = -1; size !== this.#seen.size; ) {
      size = this.#seen.size;
      const seen = [...this.#seen.values()];
      const pids = new Set(seen.map(({ pid }) => pid));
      const groups = new Set(seen.map(({ group }) => group));
      for (const each of all) if (pids.has(each.parent) || groups.has(each.group)) this.#remember(each);
    }
    return this.#seen.size;
  }

  /** Those that are still there. */
  left(): ProcessEntry[] {
    // Some may have come after the last look, and lost their parent since.
    this.look();
    return this.#known();
  }

  #known(): ProcessEntry[] {
    return [...this.#seen.values()].filter(({ pid, start }) => processOf(pid)?.start === start);
  }

  /**
   * Waits until nothing is left. What is left after the time is described, and killed. A guard may stay when it is told so.
   * Time in which somebody waited for a core is not counted: nobody can end who is not let run.
   */
  async untilGone(milliseconds: number, mayHaveGuard = false): Promise<{ left: string[]; milliseconds: number }> {
    const startedAt = performance.now();
    const starvedBefore = starvedMilliseconds();
    const isLate = ({ pid }: ProcessEntry) => !mayHaveGuard || !commandOf(pid).includes(" sous-guard ");
    this.look();
    for (let late = 0, lookedAt = 0; ; ) {
      const passed = performance.now() - startedAt;
      // While some that are known are there, others are looked for less often: that reads the whole table of processes.
      let left = this.#known().filter(isLate);
      if (left.length === 0 || passed - lookedAt > LOOK_FOR_OTHERS_MS) {
        left = this.left().filter(isLate);
        lookedAt = passed;
      }
      if (left.length === 0) return { left: [], milliseconds: passed };
      const starved = Math.max(late, starvedMilliseconds() - starvedBefore);
      if (passed > milliseconds + Math.min(starved, MOST_STARVED_MS)) {
        const described = left.map(describe);
        for (const { pid } of left) kill(pid);
        return { left: described, milliseconds: passed };
      }
      const { least, most, share } = LOOK_AGAIN_MS;
      const wait = Math.min(most, Math.max(least, passed * share));
      // Where the kernel does not count, our own timers tell how busy it is.
      const pausedAt = performance.now();
      await new Promise((next) => setTimeout(next, wait));
      late += Math.max(0, performance.now() - pausedAt - 2 * wait);
    }
  }

  #remember(each: ProcessEntry): void {
    if (each.group !== this.#group && each.pid > 1) this.#seen.set(`${each.pid} ${each.start}`, each);
  }
}

function describe({ pid, group }: ProcessEntry): string {
  return `${pid} of group ${group}: ${commandOf(pid).slice(0, 80)}`;
}

function cwdOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // It has ended in this moment, or is not ours to look at.
    return "";
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    // It has ended in this moment.
    return "";
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended in this moment.
  }
}
