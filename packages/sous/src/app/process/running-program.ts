/** One program from its start to the end of everything it has started. */

import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import type { Clock } from "../../core/clock.ts";
import type { BackgroundProgram, ProgramOutput, ProgramRequest, ProgramResult } from "../../core/process.ts";
import type { HeadAndTail } from "./output.ts";
import {
  hasMembers,
  markedProcesses,
  type ProcessEntry,
  processOf,
  signalGroup,
  signalProcess,
} from "./process-table.ts";

/** The parts that every program is started with, besides its own request. */
export type Launch = {
  readonly file: string;
  readonly environment: Record<string, string>;
  /** The mark in the variables of the program and of everything it starts. */
  readonly mark: string;
  readonly kind: ProgramKind;
  readonly clock: Clock;
  /** Called in the moment of the start. Throws when it is too late for one. */
  onStart(): void;
  onPid(pid: number): Disposable;
};

/** One whose end is waited for, one in the background, one that is talked to. */
export type ProgramKind = "awaited" | "background" | "talking";

/** A stream of a program that is being read. */
export type ProgramOutlet = {
  readonly stream: Socket;
  /** Bytes that came so far. */
  heard(): number;
  /** Called when the program has ended: from now on nothing may hold the stream back. */
  finish?(): void;
};

/** The time a program has to end by itself: a little less than the loop waits for a tool that was stopped. */
const GRACE_MS = 800;
/** The time to wait for output that a process outside the group may still write. */
const DRAIN_MS = 200;
/** Max pauses in a row, when a program never stops writing. */
const MAX_DRAINS = 5;
const LOOK_AGAIN_MS = 25;
const LOOK_LAZILY_MS = 250;
/** A process that makes new ones faster than they can be killed must not keep us for ever. */
const MAX_SWEEPS = 40;

type Started = {
  child: ChildProcess;
  known: Disposable;
  output: HeadAndTail;
  errors: HeadAndTail | undefined;
  outlets: readonly ProgramOutlet[];
};

type Limits = Pick<ProgramRequest, "signal" | "timeoutMs">;

/** Exit code, or the signal that ended it. */
type Exit = readonly [number | null, string | null];

export class RunningProgram implements BackgroundProgram {
  readonly pid: number;
  readonly ended: Promise<ProgramResult>;
  /** The program's own end; what it has started may still be there. */
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #launch: Launch;
  readonly #output: HeadAndTail;
  readonly #errors: HeadAndTail | undefined;
  readonly #startedAt: number;
  /** Groups that a process with our mark has made, by its number. Who is in them may not have the mark. */
  readonly #otherGroups = new Map<number, { start: string; known: Disposable }>();
  #stopped: ProgramResult["stopped"];
  #isOver = false;
  #graceIsOver = false;
  #grace: Disposable | undefined;

  constructor({ child, known, output, errors, outlets }: Started, limits: Limits, launch: Launch) {
    this.pid = child.pid ?? 0;
    this.#child = child;
    this.#launch = launch;
    this.#startedAt = launch.clock.monotonic();
    this.#output = output;
    this.#errors = errors;
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, endedBy) => resolve([code, endedBy]));
    });
    // A program whose end is not awaited does not keep us alive; when we end, it ends.
    if (launch.kind !== "awaited") {
      child.unref();
      for (const { stream } of outlets) stream.unref();
    }
    this.ended = this.#live(outlets, limits, known);
  }

  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  output(): ProgramOutput {
    return this.#output.read();
  }

  /** Ends it and everything it has started: politely first, and after a moment for certain. */
  async stop(why: "timeout" | "cancelled"): Promise<ProgramResult> {
    // Once it is over, its number may be that of another process.
    if (this.#stopped === undefined && !this.#isOver) {
      this.#stopped = why;
      this.#child.ref();
      this.#signalAll("SIGTERM");
      // A stopped process receives no other signal.
      signalGroup(this.pid, "SIGCONT");
      // guard: kill-after-grace
      this.#grace = this.#launch.clock.timer(GRACE_MS, () => {
        this.#graceIsOver = true;
        this.#signalAll("SIGKILL");
      });
    }
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("cancelled");
  }

  async #live(
    outlets: readonly ProgramOutlet[],
    { signal, timeoutMs }: Limits,
    known: Disposable,
  ): Promise<ProgramResult> {
    const atEnd = Promise.all(outlets.map(({ stream }) => new Promise((resolve) => stream.once("close", resolve))));
    const cancel = () => void this.stop("cancelled");
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) cancel();
    const timeout =
      timeoutMs === undefined ? undefined : this.#launch.clock.timer(timeoutMs, () => void this.stop("timeout"));
    const [exitCode, endedBy] = await this.exited;
    await this.#untilGroupIsGone();
    signal?.removeEventListener("abort", cancel);
    timeout?.[Symbol.dispose]();
    this.#grace?.[Symbol.dispose]();
    await this.#killRest();
    this.#isOver = true;
    for (const outlet of outlets) outlet.finish?.();
    await this.#drain(atEnd, outlets);
    known[Symbol.dispose]();
    for (const other of this.#otherGroups.values()) other.known[Symbol.dispose]();
    const durationMs = this.#launch.clock.monotonic() - this.#startedAt;
    return {
      exitCode,
      endedBy,
      stopped: this.#stopped,
      output: this.output(),
      errors: this.#errors?.read(),
      durationMs,
    };
  }

  /** Processes that a program leaves behind may end in their own time when it was stopped, or is wanted in the background. */
  async #untilGroupIsGone(): Promise<void> {
    while (this.#stopped === undefined ? this.#launch.kind === "background" : !this.#graceIsOver) {
      if (!hasMembers(this.pid)) return;
      await this.#pause(this.#stopped === undefined ? LOOK_LAZILY_MS : LOOK_AGAIN_MS);
    }
  }

  async #killRest(): Promise<void> {
    signalGroup(this.pid, "SIGKILL");
    // A process that left the group on purpose lives on after a command that ended well, until we end. A program that is talked to
    // leaves nothing behind: its session has ended with it.
    if (this.#stopped === undefined && this.#launch.kind !== "talking") return;
    for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
      const isOver = markedProcesses(this.#launch.mark).length === 0 && !hasMembers(this.pid);
      if (isOver && this.#othersLeft().length === 0) return;
      this.#signalAll("SIGKILL");
      await this.#pause(5);
    }
  }

  #signalAll(signal: NodeJS.Signals): void {
    signalGroup(this.pid, signal);
    for (const marked of markedProcesses(this.#launch.mark)) {
      if (marked.group === this.pid) continue;
      if (marked.group === marked.pid) this.#rememberGroup(marked);
      else signalProcess(marked.pid, signal);
    }
    for (const group of this.#othersLeft()) signalGroup(group, signal);
  }

  /** Records a group before its leader gets a signal: without it the owner of the group is unknown, and we may not live to end it. */
  #rememberGroup({ pid, start }: ProcessEntry): void {
    if (this.#otherGroups.get(pid)?.start === start) return;
    this.#otherGroups.get(pid)?.known[Symbol.dispose]();
    this.#otherGroups.set(pid, { start, known: this.#launch.onPid(pid) });
  }

  /** One whose leader is gone keeps its number; one whose leader began at another time is another group. */
  #othersLeft(): number[] {
    const groups = [...this.#otherGroups].filter(([pid, { start }]) => (processOf(pid)?.start ?? start) === start);
    return groups.map(([pid]) => pid).filter(hasMembers);
  }

  /** Reads to the end of the output, or until nothing more comes from a process that holds the pipe open. */
  async #drain(atEnd: Promise<unknown>, outlets: readonly ProgramOutlet[]): Promise<void> {
    let isAtEnd = false;
    void atEnd.then(() => {
      isAtEnd = true;
    });
    const heardOf = () => outlets.reduce((sum, outlet) => sum + outlet.heard(), 0);
    for (let drain = 0, heard = -1; drain < MAX_DRAINS && heard !== heardOf(); drain++) {
      heard = heardOf();
      await this.#pause(DRAIN_MS, atEnd);
      if (isAtEnd) return;
    }
    for (const { stream } of outlets) stream.destroy();
    await atEnd;
  }

  /** Ends early when `early` does. What came meanwhile has been read then, however busy we were. */
  async #pause(milliseconds: number, early?: Promise<unknown>): Promise<void> {
    const timed = Promise.withResolvers<void>();
    using _timer = this.#launch.clock.timer(milliseconds, timed.resolve);
    await Promise.race([timed.promise, early ?? timed.promise]);
    await new Promise((next) => setImmediate(next));
  }
}
