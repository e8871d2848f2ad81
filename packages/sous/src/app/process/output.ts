/** The output of a program while it runs: bounded, and cut between two characters. */

import { spawn } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmdirSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { orUndefined } from "../../core/errors.ts";
import { type ProgramOutput, type ProgramRequest, WATCHED_LENGTH } from "../../core/process.ts";

/** The output of a program within a number of bytes: its head, its tail, and a count of the rest. */
export class HeadAndTail {
  readonly #head: Buffer;
  /** A ring: the byte after the newest is the oldest. */
  readonly #tail: Buffer;
  #headBytes = 0;
  #tailBytes = 0;

  readonly #onAdd: (() => void) | undefined;

  constructor(maxBytes: number, onAdd?: () => void) {
    this.#onAdd = onAdd;
    const half = Math.max(1, Math.ceil(maxBytes / 2));
    this.#head = Buffer.allocUnsafe(half);
    this.#tail = Buffer.allocUnsafe(half);
  }

  /** Bytes of the whole output so far. */
  get bytes(): number {
    return this.#headBytes + this.#tailBytes;
  }

  add(chunk: Buffer): void {
    const first = chunk.copy(this.#head, this.#headBytes);
    this.#headBytes += first;
    const size = this.#tail.length;
    // Only the end of a chunk that is longer than the ring can stay.
    const skipped = Math.max(0, chunk.length - first - size);
    let from = first + skipped;
    this.#tailBytes += skipped;
    while (from < chunk.length) {
      const copied = chunk.copy(this.#tail, this.#tailBytes % size, from);
      this.#tailBytes += copied;
      from += copied;
    }
    this.#onAdd?.();
  }

  read(): ProgramOutput {
    const head = this.#head.subarray(0, this.#headBytes);
    const size = this.#tail.length;
    if (this.#tailBytes <= size) {
      const all = Buffer.concat([head, this.#tail.subarray(0, this.#tailBytes)]);
      return { head: textOf(all), tail: "", droppedBytes: 0 };
    }
    const turn = this.#tailBytes % size;
    const tail = Buffer.concat([this.#tail.subarray(turn), this.#tail.subarray(0, turn)]);
    const end = lastBoundary(head);
    const start = firstBoundary(tail);
    const droppedBytes = this.#tailBytes - size + (head.length - end) + start;
    return { head: textOf(head.subarray(0, end)), tail: textOf(tail.subarray(start)), droppedBytes };
  }
}

/** Well-formed, whatever the bytes are. */
export function textOf(bytes: Buffer): string {
  return decoder.decode(bytes);
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The index at which the last whole character ends. */
function lastBoundary(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** The index at which the first whole character begins. */
function firstBoundary(bytes: Buffer): number {
  let start = 0;
  while (start < 3 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return start;
}

const PAUSE_MS = 250;

/** The kept part of the output. With `onOutput` it is watched, until it is disposed. */
export class WatchedOutput implements Disposable {
  readonly kept: HeadAndTail;
  readonly #clock: Clock;
  readonly #onOutput: ProgramRequest["onOutput"];
  #pause: Disposable | undefined;
  #isOver = false;

  constructor({ maxOutputBytes, onOutput }: Pick<ProgramRequest, "maxOutputBytes" | "onOutput">, clock: Clock) {
    this.#clock = clock;
    this.#onOutput = onOutput;
    this.kept = new HeadAndTail(maxOutputBytes, onOutput && (() => this.#wait()));
  }

  /** However much comes meanwhile, it is read once. */
  #wait(): void {
    if (this.#isOver) return;
    this.#pause ??= this.#clock.timer(
      PAUSE_MS,
      () => {
        this.#pause = undefined;
        const { head, tail } = this.kept.read();
        this.#onOutput?.((tail === "" ? head : tail).slice(-WATCHED_LENGTH));
      },
      true,
    );
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#pause?.[Symbol.dispose]();
  }
}

export type OutputPipe = {
  readonly reader: Socket;
  /** The end of the program; close it here once the program has it, or the end of the output is never seen. */
  readonly writer: number;
};

/** One buffer for everything that comes: a new one for each piece would be garbage by the hundred megabytes. */
const BUFFER_BYTES = 64 * 1024;

/**
 * The pipe a program writes into. Node's own are sockets, and two of them: `/dev/stderr` cannot be opened, and it is unknown
 * what came first. This is one pipe for both streams, as a terminal is one. Undefined where none can be made; Node's own must
 * do then. The chunk given to `onData` is gone after the call.
 */
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
