/** Databases as a crash leaves them, made by hand: each state comes up at a known place, and not by chance. */

import { readFileSync, writeFileSync } from "node:fs";

/** Copies the first `pages` of what is in the log into the file, as a checkpoint does that is then cut off. Returns how many there are. */
export function cutCheckpoint(file: string, pages: number): number {
  const log = readFileSync(`${file}-wal`);
  const size = log.readUInt32BE(8);
  const latest = new Map<number, Buffer>();
  for (let at = LOG_HEADER; at + FRAME_HEADER + size <= log.length; at += FRAME_HEADER + size)
    latest.set(log.readUInt32BE(at), log.subarray(at + FRAME_HEADER, at + FRAME_HEADER + size));
  let bytes = readFileSync(file);
  for (const [number, page] of [...latest].sort(([one], [other]) => one - other).slice(0, pages)) {
    const end = number * size;
    if (bytes.length < end) bytes = Buffer.concat([bytes, Buffer.alloc(end - bytes.length)]);
    page.copy(bytes, end - size);
  }
  writeFileSync(file, bytes);
  return latest.size;
}

const LOG_HEADER = 32;
const FRAME_HEADER = 24;

/** The journal of a write that began when the file had no pages: the next process that opens it makes it empty again. */
export function journalOfCreation(): Buffer {
  const journal = Buffer.alloc(512);
  JOURNAL_MAGIC.copy(journal);
  journal.writeUInt32BE(512, 20);
  journal.writeUInt32BE(4096, 24);
  return journal;
}

/** The same, and it names another journal, as one of several databases that were written together does. */
export function journalNaming(other: string): Buffer {
  const name = Buffer.from(other);
  const tail = Buffer.alloc(4 + name.length + 8);
  // The page on which the lock is, which holds no data.
  tail.writeUInt32BE(2 ** 30 / 4096 + 1);
  name.copy(tail, 4);
  tail.writeUInt32BE(name.length, 4 + name.length);
  tail.writeInt32BE(
    name.reduce((sum, byte) => sum + ((byte << 24) >> 24), 0),
    8 + name.length,
  );
  return Buffer.concat([journalOfCreation(), tail, JOURNAL_MAGIC]);
}

const JOURNAL_MAGIC = Buffer.from("d9d505f920a163d7", "hex");

/** True when the first page of the file names more pages than the file has. */
export function isCut(bytes: Buffer): boolean {
  return bytes.length >= 100 && bytes.readUInt32BE(28) * bytes.readUInt16BE(16) > bytes.length;
}
