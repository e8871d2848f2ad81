/** The output of a program line by line: the program waits while its output is not read, and no line can fill the memory. */

import type { Socket } from "node:net";
import { ignore } from "../../core/errors.ts";
import type { TalkRequest } from "../../core/process.ts";
import { textOf } from "./output.ts";
import type { ProgramOutlet } from "./running-program.ts";

type ReaderOptions = Pick<TalkRequest, "maxLineBytes" | "isQuiet" | "onLongLine">;

/**
 * Reads nothing before a line is asked for, and at most one chunk ahead of the reader. While a reader waits, the process stays
 * alive, unless the request is quiet. A loop over the lines may be left and another begun: it continues with the next line.
 */
export class LineReader implements AsyncIterable<string> {
  readonly #splitter: LineSplitter;
  readonly #reading: AsyncGenerator<string, void>;
  #stream: Socket | undefined;
  #lines: string[] = [];
  #bytes = 0;
  #lateBytes: number | undefined;
  #isAtEnd = false;
  #wake = () => {};
  readonly #isQuiet: boolean;
  readonly #onLongLine: () => void;

  constructor({ maxLineBytes, isQuiet = false, onLongLine = ignore }: ReaderOptions) {
    this.#splitter = new LineSplitter(maxLineBytes);
    this.#isQuiet = isQuiet;
    this.#onLongLine = onLongLine;
    this.#reading = this.#read();
  }

  /** Holds the stream back until it is read. The one that opened it calls `add` with what comes. */
  attach(stream: Socket): ProgramOutlet {
    this.#stream = stream;
    stream.pause();
    stream.on("error", () => {});
    stream.once("close", () => {
      this.#isAtEnd = true;
      this.#wake();
    });
    return { stream, heard: () => this.#bytes, finish: () => this.#finish() };
  }

  /** The bytes are copied: the chunk may be used again after the call. */
  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const droppedBefore = this.#splitter.dropped;
    for (const line of this.#splitter.split(chunk)) this.#lines.push(line);
    if (this.#splitter.dropped > droppedBefore) this.#onLongLine();
    if (this.#lateBytes !== undefined) this.#addLate(chunk.length);
    else if (this.#lines.length > 0) this.#stream?.pause();
    if (this.#lines.length > 0) this.#wake();
  }

  get droppedLines(): number {
    return this.#splitter.dropped;
  }

  /** Reads what is still in the pipe when the program has ended, without a reader, so that its last lines are not lost. */
  #finish(): void {
    this.#lateBytes = 0;
    this.#stream?.resume();
  }

  [Symbol.asyncIterator](): AsyncIterator<string, void> {
    // The iterator has no `return`: a loop that is left does not end the reading.
    return { next: () => this.#reading.next() };
  }

  async *#read(): AsyncGenerator<string, void> {
    while (!this.#isAtEnd || this.#lines.length > 0) {
      const lines = this.#lines;
      this.#lines = [];
      yield* lines;
      if (this.#lines.length === 0 && !this.#isAtEnd) await this.#more();
    }
  }

  async #more(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (!this.#isQuiet) this.#stream?.ref();
    this.#stream?.resume();
    await promise;
    this.#stream?.unref();
  }

  /** A pipe holds less; more comes only from a process that was not found and writes on. */
  #addLate(bytes: number): void {
    this.#lateBytes = (this.#lateBytes ?? 0) + bytes;
    if (this.#lateBytes > MAX_LATE_BYTES) this.#stream?.destroy();
  }
}

const MAX_LATE_BYTES = 256 * 1024;

/** Cuts bytes into lines. Holds one unfinished line, in a buffer of at most the size of the longest line allowed. */
export class LineSplitter {
  readonly #maxBytes: number;
  #held: Buffer = EMPTY;
  #heldBytes = 0;
  #isSkipping = false;
  /** Lines that were too long. */
  dropped = 0;

  constructor(maxLineBytes: number) {
    this.#maxBytes = maxLineBytes;
  }

  split(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      this.#hold(chunk.subarray(from, end));
      const line = this.#take();
      if (line !== undefined) lines.push(line);
      from = end + 1;
    }
    this.#hold(chunk.subarray(from));
    return lines;
  }

  #hold(piece: Buffer): void {
    if (this.#isSkipping) return;
    const bytes = this.#heldBytes + piece.length;
    // One more, for the CR that may belong to the end of the line.
    if (bytes > this.#maxBytes + 1) {
      this.#isSkipping = true;
      this.dropped += 1;
      this.#held = EMPTY;
      this.#heldBytes = 0;
      return;
    }
    if (bytes > this.#held.length) this.#grow(bytes);
    piece.copy(this.#held, this.#heldBytes);
    this.#heldBytes = bytes;
  }

  /** Doubles the buffer: a program that writes byte by byte must not make us copy the line for every byte. */
  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.min(this.#maxBytes + 1, Math.max(bytes, 2 * this.#held.length)));
    this.#held.copy(grown, 0, 0, this.#heldBytes);
    this.#held = grown;
  }

  /** Undefined for a line that was too long. */
  #take(): string | undefined {
    if (this.#isSkipping) {
      this.#isSkipping = false;
      return undefined;
    }
    const end = this.#heldBytes > 0 && this.#held[this.#heldBytes - 1] === CR ? this.#heldBytes - 1 : this.#heldBytes;
    this.#heldBytes = 0;
    if (end > this.#maxBytes) {
      this.dropped += 1;
      return undefined;
    }
    const line = textOf(this.#held.subarray(0, end));
    // One long line must not cost its size for as long as the program lives.
    if (this.#held.length > MAX_IDLE_BYTES) this.#held = EMPTY;
    return line;
  }
}

const LF = 0x0a;
const CR = 0x0d;
const EMPTY = Buffer.alloc(0);
const MAX_IDLE_BYTES = 64 * 1024;
