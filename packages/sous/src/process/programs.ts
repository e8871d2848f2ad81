/**
 * The one place where programs are started, and where all of them end: with their time, with a signal, with us. What is not
 * promised: a process that leaves its session and throws its variables away is found by nobody; one that only leaves its
 * session outlives a command that ended well, and ends when everything is closed, or at the next start.
 */

import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { ToolFailure } from "../core/errors.ts";
import type { BackgroundProgram, ProgramRequest, ProgramResult, Programs } from "../core/process.ts";
import { cleanEnvironment, MARK_VARIABLE, outerMark } from "./clean-environment.ts";
import { GroupRecord, reapLeftovers } from "./group-record.ts";
import { Guard } from "./guard.ts";
import { markedProcesses, signalMarked, startOf } from "./process-table.ts";
import { type RunningProgram, startProgram } from "./running-program.ts";

export type ProgramsOptions = {
  /** Where started groups are written down for the next of us; without it nobody looks for leftovers. */
  stateFolder?: string | undefined;
  /** Our own variables: a few of them are passed on. */
  environment: Readonly<Record<string, string | undefined>>;
  clock?: Clock | undefined;
};

/** Starts nothing by itself; kills what an earlier one of us left behind. Whoever opens it writes `await using`. */
export function openPrograms({ stateFolder, environment, clock = machineClock }: ProgramsOptions): Programs {
  if (stateFolder !== undefined) reapLeftovers(stateFolder);
  return new OpenPrograms(stateFolder, environment, clock);
}

class OpenPrograms implements Programs {
  readonly #environment: ProgramsOptions["environment"];
  readonly #clock: Clock;
  /** Found in the variables of everything that is started here; each program adds a number of its own. */
  readonly #mark = `${randomBytes(16).toString("hex")}-`;
  readonly #guard: Guard;
  readonly #record: GroupRecord;
  readonly #running = new Set<RunningProgram>();
  readonly #starting = new Set<Promise<unknown>>();
  #started = 0;
  #closed: Promise<void> | undefined;

  constructor(stateFolder: string | undefined, environment: ProgramsOptions["environment"], clock: Clock) {
    this.#environment = environment;
    this.#clock = clock;
    this.#record = new GroupRecord(stateFolder, this.#mark);
    // Whoever started us ends the guard together with what it guards, so it carries the mark that we carry.
    this.#guard = new Guard(this.#mark, { PATH: "/usr/bin:/bin", [MARK_VARIABLE]: outerMark(environment) });
  }

  async run(request: ProgramRequest): Promise<ProgramResult> {
    const program = await this.#start(request, false);
    return await program.ended;
  }

  async start(request: ProgramRequest): Promise<BackgroundProgram> {
    return await this.#start(request, true);
  }

  async find(program: string): Promise<string | undefined> {
    if (isAbsolute(program)) return (await isProgram(program)) ? program : undefined;
    if (program === "" || /[/\0]/.test(program)) return undefined;
    for (const folder of (this.#environment.PATH ?? DEFAULT_PATH).split(delimiter)) {
      // An empty or relative folder would be one of the workspace, where a stranger may have put a program.
      if (isAbsolute(folder) && (await isProgram(join(folder, program)))) return join(folder, program);
    }
    return undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #start(request: ProgramRequest, isBackground: boolean): Promise<RunningProgram> {
    const starting = this.#startOne(request, isBackground);
    this.#starting.add(starting);
    const forget = () => void this.#starting.delete(starting);
    starting.then(forget, forget);
    return starting;
  }

  async #startOne(request: ProgramRequest, isBackground: boolean): Promise<RunningProgram> {
    this.#refuse(request);
    const file = await this.find(request.program);
    if (file === undefined) throw new ToolFailure(`There is no program named ${request.program} on this machine.`);
    this.#started += 1;
    const mark = `${this.#mark}${this.#started}/`;
    const program = await startProgram(request, {
      file,
      environment: cleanEnvironment(this.#environment, request.environment ?? {}, mark),
      mark,
      isBackground,
      clock: this.#clock,
      onStart: () => {
        this.#refuse(request);
        if (!this.#guard.stand()) throw new ToolFailure(NO_GUARD);
      },
      onPid: (pid) => this.#know(pid),
    });
    this.#running.add(program);
    void program.ended.then(() => this.#running.delete(program));
    return program;
  }

  #refuse({ signal }: ProgramRequest): void {
    signal?.throwIfAborted();
    if (this.#closed !== undefined)
      throw new ToolFailure("No program is started any more: everything is being closed.");
  }

  /** Guarded and written down for as long as it may have to be killed. */
  #know(pid: number): Disposable {
    const group = { pid, start: startOf(pid) };
    this.#guard.add(group);
    this.#record.add(group);
    return {
      [Symbol.dispose]: () => {
        this.#guard.remove(pid);
        this.#record.remove(pid);
      },
    };
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#starting);
    await Promise.all([...this.#running].map((each) => each.stop("cancelled")));
    // Also what has left its group behind a command that ended long ago.
    if (this.#started > 0) await this.#sweep();
    await this.#guard.dismiss();
    this.#record.close();
  }

  async #sweep(): Promise<void> {
    for (let sweep = 0; sweep < MOST_SWEEPS; sweep++) {
      const left = markedProcesses(this.#mark);
      if (left.length === 0) return;
      for (const each of left) signalMarked(each, "SIGKILL");
      await new Promise<void>((next) => this.#clock.timer(5, next));
    }
  }
}

const NO_GUARD =
  "No program is started without the guard that ends it with us, and the guard cannot be started: /bin/sh is missing, or this machine has no room for more.";
const MOST_SWEEPS = 40;
const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";

/** Node takes a longer time for none at all. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const machineClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  timer(milliseconds, callback) {
    const timer = setTimeout(callback, Math.min(milliseconds, LONGEST_TIMER_MS));
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch (error) {
    if (error instanceof Error && "code" in error) return false;
    throw error;
  }
}
