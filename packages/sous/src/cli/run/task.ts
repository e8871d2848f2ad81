/** The task of `sous run`, which may be piped in. */

import { fstatSync } from "node:fs";
import type { UserInput } from "../../core/message.ts";
import { usageError } from "../exit-codes.ts";

type TaskOptions = {
  prompt: string;
  signal: AbortSignal;
  /** Says what is waited for. */
  tell: (line: string) => void;
};

/** A prompt of `-` is read; any other comes first, and what is piped in follows as a text of its own. */
export async function readTask({ prompt, signal, tell }: TaskOptions): Promise<UserInput> {
  const isPrompt = prompt.trim() === "-";
  if (!isPrompt && !hasPipedInput()) return prompt;
  const onSilence = (): void => tell("waiting for the end of standard input; add </dev/null to run without it");
  const piped = await readStdin({ signal, onSilence });
  if (isPrompt) {
    if (piped.trim() === "") throw usageError("The prompt is missing: standard input is empty");
    return piped;
  }
  if (piped.trim() === "") return prompt;
  return [
    { type: "text", text: prompt },
    // Begins with a gap: wherever the task is shown as one text, the two are told apart.
    { type: "text", text: `\n\nStandard input:\n\n${piped}` },
  ];
}

export const MAX_STDIN_BYTES = 10_000_000;

/** After this long without input a line says what is waited for. */
const SILENCE_MS = 3000;

/** True when a pipe, a socket or a file is there to be read; a terminal and /dev/null are not. */
function hasPipedInput(): boolean {
  try {
    const found = fstatSync(0);
    return found.isFIFO() || found.isFile() || found.isSocket();
  } catch {
    // It is closed.
    return false;
  }
}

type ReadStdinOptions = {
  signal: AbortSignal;
  /** Called once when nothing comes. */
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
      if (bytes > MAX_STDIN_BYTES) {
        throw usageError(
          `Standard input has more than ${MAX_STDIN_BYTES / 1_000_000} MB: give a file to look into instead`,
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
