/** Starts one program: its streams, its variables, and a failure in words when it does not start. */

import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { messageOf, ToolFailure } from "../../core/errors.ts";
import type { ProgramRequest } from "../../core/process.ts";
import { HeadAndTail, type OutputPipe, openOutputPipe, WatchedOutput } from "./output.ts";
import { type Launch, type ProgramOutlet, RunningProgram } from "./running-program.ts";

export type StartRequest = Pick<ProgramRequest, "program" | "args" | "cwd">;

export async function startProgram(request: ProgramRequest, launch: Launch): Promise<RunningProgram> {
  const watched = new WatchedOutput(request, launch.clock);
  const output = watched.kept;
  const errors = request.separateErrors ? new HeadAndTail(request.maxOutputBytes) : undefined;
  const pipe = request.separateErrors ? undefined : await openOutputPipe((chunk) => output.add(chunk));
  const stdio: StdioOptions = pipe === undefined ? ["ignore", "pipe", "pipe"] : ["ignore", pipe.writer, pipe.writer];
  const { child, known } = await spawnInto(pipe, stdio, request, launch);
  // A pipe of ours is read where it was opened, and says nothing to `collect`.
  const outlets = [...collect(pipe?.reader ?? child.stdout, output), ...collect(child.stderr, errors ?? output)];
  const program = new RunningProgram({ child, known, output, errors, outlets }, request, launch);
  void program.exited.then(() => watched[Symbol.dispose]());
  return program;
}

/** Hands the pipe on, or closes it when the program cannot be started: then throws a `ToolFailure`. */
export async function spawnInto(
  pipe: OutputPipe | undefined,
  stdio: StdioOptions,
  request: StartRequest,
  launch: Launch,
): Promise<{ child: ChildProcess; known: Disposable }> {
  try {
    launch.onStart();
    const child = spawn(launch.file, [...request.args], {
      argv0: request.program,
      cwd: request.cwd,
      env: launch.environment,
      detached: true,
      stdio,
    });
    child.on("error", () => {});
    if (child.pid === undefined) throw await new Promise((resolve) => child.once("error", resolve));
    return { child, known: launch.onPid(child.pid) };
  } catch (error) {
    pipe?.reader.destroy();
    throw error instanceof Error && "code" in error ? cannotStart(request, error) : error;
  } finally {
    if (pipe !== undefined) closeSync(pipe.writer);
  }
}

/** Adds everything that comes; nothing when there is no such stream. */
export function collect(stream: Readable | null, kept: HeadAndTail): ProgramOutlet[] {
  if (stream === null) return [];
  stream.on("data", (chunk: Buffer) => kept.add(chunk));
  stream.on("error", () => {});
  // Node reads from programs by sockets, though its types do not say so.
  return [{ stream: stream as Socket, heard: () => kept.bytes }];
}

function cannotStart({ program, cwd }: StartRequest, error: Error & { code?: unknown }): ToolFailure {
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
