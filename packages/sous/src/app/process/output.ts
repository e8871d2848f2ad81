/** The output of a program while it runs: bounded, and cut between two characters. */

import type { ProgramOutput } from "../core/process.ts";

/** What a program says, kept within a number of bytes: the head and the tail of it, and a count of the rest. */
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

  /** Of everything that was said so far. */
  get bytes(): number {
    return this.#headBytes + this.#tailBytes;
  }

  add(chunk: Buffer): void {
    const first = chunk.copy(this.#head, this.#headBytes);
    this.#headBytes += first;
    const size = this.#tail.length;
    // Of a chunk that is longer than the ring only the end can stay.
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

/** Where the last character that is whole ends. */
function lastBoundary(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** Where the first character that is whole begins. */
function firstBoundary(bytes: Buffer): number {
  let start = 0;
  while (start < 3 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return start;
}
