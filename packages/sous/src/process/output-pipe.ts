/**
 * The pipe a program writes into. Node's own are sockets, and two of them: `/dev/stderr` cannot be opened, and nobody knows
 * what came first. This is one pipe for both streams, as a terminal is one.
 */

import { spawn } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type OutputPipe = {
  readonly reader: Socket;
  /** For the program; close it here once the program has it, or the end is never seen. */
  readonly writer: number;
};

/** Undefined where no pipe can be made; Node's own must do then. */
export async function openOutputPipe(): Promise<OutputPipe | undefined> {
  const folder = orUndefined(() => mkdtempSync(join(tmpdir(), "sous-pipe-")));
  if (folder === undefined) return undefined;
  const path = join(folder, "pipe");
  try {
    if (!(await makeFifo(path))) return undefined;
    const reading = orUndefined(() => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
    if (reading === undefined) return undefined;
    const writer = orUndefined(() => openSync(path, constants.O_WRONLY));
    if (writer === undefined) {
      closeSync(reading);
      return undefined;
    }
    return { reader: new Socket({ fd: reading, readable: true, writable: false }), writer };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function makeFifo(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn("mkfifo", ["-m", "600", path], { cwd: "/", stdio: "ignore", env: { PATH: "/usr/bin:/bin" } });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}

function orUndefined<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof Error && "code" in error) return undefined;
    throw error;
  }
}
