/**
 * The pipe a program writes into. Node's own are sockets, and two of them: `/dev/stderr` cannot be opened, and it is unknown
 * what came first. This is one pipe for both streams, as a terminal is one.
 */

import { spawn } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmdirSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { orUndefined } from "../core/errors.ts";

export type OutputPipe = {
  readonly reader: Socket;
  /** For the program; close it here once the program has it, or the end is never seen. */
  readonly writer: number;
};

/** One buffer for everything that comes: a new one for each piece would be garbage by the hundred megabytes. */
const BUFFER_BYTES = 64 * 1024;

/** Undefined where no pipe can be made; Node's own must do then. What `onData` is given is gone after the call. */
export async function openOutputPipe(onData: (chunk: Buffer) => void): Promise<OutputPipe | undefined> {
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
    const onread = {
      buffer: Buffer.allocUnsafeSlow(BUFFER_BYTES),
      callback(bytes: number, buffer: Uint8Array): boolean {
        onData(Buffer.from(buffer.buffer, buffer.byteOffset, bytes));
        return true;
      },
    };
    return { reader: new Socket({ fd: reading, readable: true, writable: false, onread }), writer };
  } finally {
    // One by one: to look into a folder takes a file descriptor, and there may be none.
    orUndefined(() => unlinkSync(path));
    orUndefined(() => rmdirSync(folder));
  }
}

function makeFifo(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn("mkfifo", ["-m", "600", path], { cwd: "/", stdio: "ignore", env: { PATH: "/usr/bin:/bin" } });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}
