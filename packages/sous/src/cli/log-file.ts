/** A file for log lines: private, appended to, never a link; with a limit it starts over when it is full. */

import { closeSync, constants, fstatSync, mkdirSync, openSync, renameSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "../core/errors.ts";
import { CommandError } from "./exit-codes.ts";
import { inertLine } from "./inert.ts";
import { withoutSecrets } from "./without-secrets.ts";

const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;

export type LogFile = Disposable & { write(line: string): void };

/**
 * Throws a `CommandError` when it cannot be opened; to write throws what the system says. With `maxBytes` its folder is made if need be, and a full file becomes
 * `FILE.1` in place of the one before, so that both together have at most twice as much. Processes may share it.
 */
export function openLogFile(file: string, { maxBytes }: { maxBytes?: number } = {}): LogFile {
  try {
    if (maxBytes !== undefined) mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_FOLDER });
    return new AppendedFile(file, maxBytes ?? Number.POSITIVE_INFINITY);
  } catch (error) {
    throw new CommandError(`The log ${inertLine(file, 200)} cannot be written: ${inertLine(messageOf(error))}`);
  }
}

class AppendedFile implements LogFile {
  readonly #file: string;
  readonly #maxBytes: number;
  /** Undefined when it is closed. */
  #descriptor: number | undefined;

  constructor(file: string, maxBytes: number) {
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#descriptor = openAppended(file);
  }

  write(line: string): void {
    // A number that is closed may belong to another file by now.
    if (this.#descriptor === undefined) return;
    const bytes = Buffer.from(`${withoutSecrets(line)}\n`);
    const isFull = fstatSync(this.#descriptor).size + bytes.length > this.#maxBytes;
    writeSync(isFull ? this.#startOver(this.#descriptor, bytes.length) : this.#descriptor, bytes);
  }

  /** Another process may have done so already: then its file is used. */
  #startOver(full: number, needed: number): number {
    const current = statSync(this.#file, { throwIfNoEntry: false });
    if (current !== undefined && current.size + needed > this.#maxBytes) renameSync(this.#file, `${this.#file}.1`);
    const opened = openAppended(this.#file);
    closeSync(full);
    this.#descriptor = opened;
    return opened;
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

function openAppended(file: string): number {
  const descriptor = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, PRIVATE_FILE);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw new Error("it is not a file");
}
