/** What is piped into a command: all of it, bounded, or nothing. */

import { fstatSync } from "node:fs";
import { usageError } from "./exit-codes.ts";

export const MOST_STDIN_BYTES = 10_000_000;

/** So long nothing comes before somebody is told what is waited for. */
const SILENCE_MS = 3000;

/** True when a pipe, a socket or a file is there to be read; a terminal and /dev/null are not. */
export function hasPipedInput(): boolean {
  try {
    const found = fstatSync(0);
    return found.isFIFO() || found.isFile() || found.isSocket();
  } catch {
    // It is closed.
    return false;
  }
}

export type ReadStdinOptions = {
  signal: AbortSignal;
  /** Told once when nothing comes. */
  onSilence?: (() => void) | undefined;
  stream?: NodeJS.ReadableStream | undefined;
};

/** Waits for the end, as every filter does. Throws a `CommandError` when there is too much, and when `signal` aborts. */
export async function readStdin({ signal, onSilence, stream = process.stdin }: ReadStdinOptions): Promise<string> {
  signal.throwIfAborted();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const silence = onSilence === undefined ? undefined : setTimeout(onSilence, SILENCE_MS);
  const stop = (): void => close(stream);
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const chunk of stream) {
      clearTimeout(silence);
      const piece = Buffer.from(chunk);
      bytes += piece.length;
      if (bytes > MOST_STDIN_BYTES) {
        throw usageError(
          `Standard input has more than ${MOST_STDIN_BYTES / 1_000_000} MB: give a file to look into instead`,
        );
      }
      chunks.push(piece);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(silence);
    signal.removeEventListener("abort", stop);
    close(stream);
  }
  signal.throwIfAborted();
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** An open pipe would keep the process alive. */
function close(stream: NodeJS.ReadableStream): void {
  if ("destroy" in stream && typeof stream.destroy === "function") stream.destroy();
}
