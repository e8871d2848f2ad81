/** One program from its start to the end of everything it has started. */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import type { Readable } from "node:stream";
import type { Clock } from "../core/clock.ts";
import { messageOf, ToolFailure } from "../core/errors.ts";
import type { BackgroundProgram, ProgramOutput, ProgramRequest, ProgramResult } from "../core/process.ts";
import { HeadAndTail } from "./output.ts";
import { type OutputPipe, openOutputPipe } from "./output-pipe.ts";
import {
  hasMembers,
  markedProcesses,
  type ProcessEntry,
  processOf,
  signalGroup,
  signalProcess,
} from "./process-table.ts";

/** What a program is started with, besides what was asked for. */
export type Launch = {
  readonly file: string;
  readonly environment: Record<string, string>;
  /** In the variables of the program and of everything it starts. */
  readonly mark: string;
  readonly isBackground: boolean;
  readonly clock: Clock;
  /** Called in the moment of the start. Throws when it is too late for one. */
  onStart(): void;
  onPid(pid: number): Disposable;
};

/** How long a program has to end by itself: a little less than the loop waits for a tool that was stopped. */
const GRACE_MS = 800;
/** How long output is waited for that a process outside the group may still write. */
const DRAIN_MS = 200;
/** At most this often in a row, when a program never stops writing. */
const MAX_DRAINS = 5;
const LOOK_AGAIN_MS = 25;
const LOOK_LAZILY_MS = 250;
/** A process that makes new ones faster than they can be killed must not keep us for ever. */
const MAX_SWEEPS = 40;

export async function startProgram(request: ProgramRequest, launch: Launch): Promise<RunningProgram> {
  const output = new HeadAndTail(request.maxOutputBytes);
  const pipe = request.separateErrors ? undefined : await openOutputPipe((chunk) => output.add(chunk));
  let child: ChildProcess;
  let known: Disposable;
  try {
    launch.onStart();
    child = spawn(launch.file, [...request.args], {
      argv0: request.program,
      cwd: request.cwd,
      env: launch.environment,
      detached: true,
      stdio: pipe === undefined ? ["ignore", "pipe", "pipe"] : ["ignore", pipe.writer, pipe.writer],
    });
    child.on("error", () => {});
    if (child.pid === undefined) throw await new Promise((resolve) => child.once("error", resolve));
    known = launch.onPid(child.pid);
  } catch (error) {
    pipe?.reader.destroy();
    throw error instanceof Error && "code" in error ? cannotStart(request, error) : error;
  } finally {
    if (pipe !== undefined) closeSync(pipe.writer);
  }
  return new RunningProgram({ child, pipe, output, known }, request, launch);
}

function cannotStart({ program, cwd }: ProgramRequest, error: Error & { code?: unknown }): ToolFailure {
  switch (error.code) {
    case "ENOENT":
      return new ToolFailure(`${program} cannot be started: the folder ${cwd} or the program itself is gone.`);
    case "EACCES":
      return new ToolFailure(`${program} cannot be started: permission denied.`);
    case "E2BIG":
      return new ToolFailure(`${program} cannot be started: its arguments are too long. Put them into a file.`);
    case "ERR_INVALID_ARG_VALUE":
      return new ToolFailure(`${program} cannot be started: an argument holds a NUL byte.`);
    case "EAGAIN":
    case "EMFILE":
    case "ENFILE":
    case "ENOMEM":
      return new ToolFailure(
        `${program} cannot be started: this machine has no room for more (${error.code}). Try later.`,
      );
    default:
      return new ToolFailure(`${program} cannot be started: ${messageOf(error)}`);
  }
}

type Started = { child: ChildProcess; pipe: OutputPipe | undefined; output: HeadAndTail; known: Disposable };

export class RunningProgram implements BackgroundProgram {
  readonly pid: number;
  readonly ended: Promise<ProgramResult>;
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

  constructor(started: Started, request: ProgramRequest, launch: Launch) {
    const { child, pipe, output, known } = started;
    this.pid = child.pid ?? 0;
    this.#child = child;
    this.#launch = launch;
    this.#startedAt = launch.clock.monotonic();
    this.#output = output;
    this.#errors = request.separateErrors ? new HeadAndTail(request.maxOutputBytes) : undefined;
    const streams: (Readable | null)[] = [pipe?.reader ?? child.stdout, child.stderr];
    // A program in the background does not keep us alive; when we end, it ends.
    if (launch.isBackground) child.unref();
    if (launch.isBackground) pipe?.reader.unref();
    this.ended = this.#live(
      streams.filter((each): each is Readable => each !== null),
      request,
      known,
    );
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

  async #live(streams: readonly Readable[], request: ProgramRequest, known: Disposable): Promise<ProgramResult> {
    const { signal, timeoutMs } = request;
    const exit = new Promise<[number | null, string | null]>((resolve) => {
      this.#child.once("exit", (code, endedBy) => resolve([code, endedBy]));
    });
    const read = streams.map((stream, index) => this.#read(stream, index === 0 ? this.#output : this.#errors));
    const cancel = () => void this.stop("cancelled");
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) cancel();
    const timeout =
      timeoutMs === undefined ? undefined : this.#launch.clock.timer(timeoutMs, () => void this.stop("timeout"));
    const [exitCode, endedBy] = await exit;
    await this.#untilGroupIsGone();
    signal?.removeEventListener("abort", cancel);
    timeout?.[Symbol.dispose]();
    this.#grace?.[Symbol.dispose]();
    await this.#killRest();
    this.#isOver = true;
    await this.#drain(Promise.all(read), streams);
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

  /** What a program leaves behind may end in its own time when it was stopped, or is wanted in the background. */
  async #untilGroupIsGone(): Promise<void> {
    while (this.#stopped === undefined ? this.#launch.isBackground : !this.#graceIsOver) {
      if (!hasMembers(this.pid)) return;
      await this.#pause(this.#stopped === undefined ? LOOK_LAZILY_MS : LOOK_AGAIN_MS);
    }
  }

  async #killRest(): Promise<void> {
    signalGroup(this.pid, "SIGKILL");
    // What has left the group on purpose lives on after a command that ended well, until we end.
    if (this.#stopped === undefined) return;
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

  /** Before its leader hears of anything: without it the owner of the group is unknown, and we may not live to end it. */
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

  #read(stream: Readable, kept: HeadAndTail = this.#output): Promise<void> {
    // A pipe of ours is read where it was opened, and says nothing here.
    stream.on("data", (chunk: Buffer) => kept.add(chunk));
    stream.on("error", () => {});
    return new Promise((resolve) => stream.once("close", resolve));
  }

  /** To the end of the output, or until nothing more comes from a process that holds the pipe open. */
  async #drain(atEnd: Promise<unknown>, streams: readonly Readable[]): Promise<void> {
    let isAtEnd = false;
    void atEnd.then(() => {
      isAtEnd = true;
    });
    for (let drain = 0, heard = -1; drain < MAX_DRAINS && heard !== this.#output.bytes; drain++) {
      heard = this.#output.bytes;
      await this.#pause(DRAIN_MS, atEnd);
      if (isAtEnd) return;
    }
    for (const stream of streams) stream.destroy();
    await atEnd;
  }

  /** Also over when `early` is. What came meanwhile has been read then, however busy we were. */
  async #pause(milliseconds: number, early?: Promise<unknown>): Promise<void> {
    const timed = Promise.withResolvers<void>();
    using _timer = this.#launch.clock.timer(milliseconds, timed.resolve);
    await Promise.race([timed.promise, early ?? timed.promise]);
    await new Promise((next) => setImmediate(next));
  }
}
