/** Reads a small file that may be anything: not there, a pipe without an end, or a terabyte. */

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { codeOf, orUndefined } from "../../core/errors.ts";

export const MAX_CONFIGURATION_BYTES = 1_000_000;
/** The front matter of an agent file and what stands below it. */
export const MAX_AGENT_BYTES: number = 128 * 1024;

export type SmallFile = { bytes: Uint8Array } | { trouble: "missing" | "not-a-file" | "too-large" | "unreadable" };

export async function readSmallFile(path: string, maxBytes: number): Promise<SmallFile> {
  try {
    // Without it, opening a pipe would wait for a writer.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await file.stat();
    if (!facts.isFile()) return { trouble: "not-a-file" };
    if (facts.size > maxBytes) return { trouble: "too-large" };
    const bytes = Buffer.alloc(maxBytes + 1);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length);
      if (bytesRead === 0) return { bytes: bytes.subarray(0, length) };
      length += bytesRead;
    }
    return { trouble: "too-large" };
  } catch (error) {
    const code = codeOf(error);
    return { trouble: code === "ENOENT" || code === "ENOTDIR" ? "missing" : "unreadable" };
  }
}

/** Undefined when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  return orUndefined(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes));
}
