/** Reads a file line by line in bounded memory, however long the file and its lines are. */

import type { FileHandle } from "node:fs/promises";
import { truncateUtf8 } from "../../core/truncate.ts";
import { utf8Length } from "../../core/usage.ts";

type Line = {
  /** The first line is 1. */
  number: number;
  /** The line without its line ending, at most `maxLineBytes` long. */
  bytes: Buffer;
  /** Bytes of the line that were dropped. */
  droppedBytes: number;
  /** True when `sought` is anywhere in a line of which a part was dropped, or when nothing was sought. */
  droppedHolds: boolean;
};

type LineScan = {
  maxLineBytes: number;
  /** Max bytes of the file; where they end, a line that has not ended is not shown. */
  maxBytes: number;
  /** Looked for in lines that are too long. */
  sought?: Buffer | undefined;
  /** Called for every line; false ends the scan. */
  onLine(line: Line): boolean;
  signal: AbortSignal;
};

/** The reason why the scan ended: the end of the file, an `onLine` that stopped it, `maxBytes`, or a NUL near the beginning. */
export type ScanEnd = "end" | "stopped" | "limit" | "binary";

const CHUNK_BYTES = 64 * 1024;
/** A NUL among the first bytes marks a binary file, as in git and grep. */
const BINARY_BYTES = 8000;
const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
const asItIs = (kept: Buffer): Buffer => kept;

export async function scanLines(handle: FileHandle, scan: LineScan): Promise<ScanEnd> {
  const { maxLineBytes, maxBytes, sought, onLine, signal } = scan;
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  /** The beginning of a line whose end is not read yet. */
  let open: Buffer[] = [];
  let openBytes = 0;
  let droppedBytes = 0;
  let droppedHolds = sought === undefined;
  /** The last bytes of a line that is being dropped: what is sought may begin in them. */
  let last: Buffer = Buffer.alloc(0);
  let number = 1;

  for (let position = 0; ; ) {
    signal.throwIfAborted();
    if (position >= maxBytes) return "limit";
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    if (position === 0 && chunk.subarray(0, Math.min(bytesRead, BINARY_BYTES)).includes(0)) return "binary";
    position += bytesRead;
    const bytes = chunk.subarray(0, bytesRead);
    for (let start = 0; start < bytesRead; ) {
      const end = bytes.indexOf(NEWLINE, start);
      if (end === -1) {
        keep(bytes.subarray(start), Buffer.from);
        break;
      }
      keep(bytes.subarray(start, end), asItIs);
      if (!take()) return "stopped";
      start = end + 1;
    }
  }
  const hasRest = openBytes > 0 || droppedBytes > 0;
  return hasRest && !take() ? "stopped" : "end";

  /** `copy` when the piece must outlive the chunk, which the next read overwrites. */
  function keep(piece: Buffer, copy: (kept: Buffer) => Buffer): void {
    const fits = Math.min(piece.length, maxLineBytes - openBytes);
    if (fits > 0) open.push(copy(piece.subarray(0, fits)));
    openBytes += fits;
    droppedBytes += piece.length - fits;
    if (droppedBytes > 0 && !droppedHolds && sought !== undefined) lookInto(piece.subarray(fits), sought);
  }

  function lookInto(dropped: Buffer, bytes: Buffer): void {
    const whole = Buffer.concat([last.length > 0 ? last : Buffer.concat(open), dropped]);
    droppedHolds = whole.includes(bytes);
    last = Buffer.from(whole.subarray(Math.max(0, whole.length - bytes.length + 1)));
  }

  function take(): boolean {
    const [first] = open;
    const whole = open.length === 1 && first !== undefined ? first : Buffer.concat(open);
    const isCrlf = droppedBytes === 0 && whole.at(-1) === CARRIAGE_RETURN;
    const isWanted = onLine({ number, bytes: isCrlf ? whole.subarray(0, -1) : whole, droppedBytes, droppedHolds });
    number += 1;
    open = [];
    openBytes = 0;
    droppedBytes = 0;
    droppedHolds = sought === undefined;
    last = Buffer.alloc(0);
    return isWanted;
  }
}

/** The text of a line: bytes that are not UTF-8 become U+FFFD, a byte order mark and half a last character go. */
export function textOfLine({ number, bytes, droppedBytes }: Omit<Line, "droppedHolds">): string {
  const text = droppedBytes === 0 ? bytes.toString("utf8") : new TextDecoder().decode(bytes, { stream: true });
  return number === 1 && text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** `lineBytes` is the size of the line when `line` is only the beginning of it. */
export function truncateLine(line: string, maxBytes: number, lineBytes: number = utf8Length(line)): string {
  const { text, keptBytes } = truncateUtf8(line, maxBytes);
  return lineBytes > keptBytes ? `${text}… [${lineBytes - keptBytes} more bytes]` : text;
}
