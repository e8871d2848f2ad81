/**
 * Asks ripgrep, where it is installed, which files hold a text. The answer only saves reading the others:
 * our own search decides what matches and what is shown, so the result is the same with and without it.
 */

import { ToolFailure } from "../../core/errors.ts";
import type { Programs } from "../../core/process.ts";

export type TextSearch = {
  /** A real path inside the workspace. */
  folder: string;
  /** Looked for byte by byte. */
  text: string;
  /** Names of folders that are not entered. */
  skipped: Iterable<string>;
  signal: AbortSignal;
};

/** Shorter texts are in too many files to be worth a process. */
const MIN_LENGTH = 3;
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const TIMEOUT_MS = 20_000;

/** Files by their path below `folder`; undefined when that is unknown, and every file must be read. */
export async function filesHolding(
  programs: Programs,
  { folder, text, skipped, signal }: TextSearch,
): Promise<ReadonlySet<string> | undefined> {
  // ripgrep treats line ends specially.
  if (text.length < MIN_LENGTH || /[\0\n\r]/.test(text)) return undefined;
  const program = await programs.find("rg");
  if (program === undefined) return undefined;
  const start = folder.endsWith("/") ? folder : `${folder}/`;
  const args = [...FLAGS, ...Array.from(skipped, (name) => `--glob=!${name}`), "--", text, start];
  const limits = { maxOutputBytes: MAX_OUTPUT_BYTES, timeoutMs: TIMEOUT_MS };
  // The program does not start in the workspace: it may be a shim that obeys files of its folder.
  const request = { program, args, cwd: "/", ...limits, separateErrors: true, signal };
  const result = await programs.run(request).catch((error: unknown) => {
    // Without it every file is read.
    if (error instanceof ToolFailure) return undefined;
    throw error;
  });
  signal.throwIfAborted();
  if (result === undefined || result.stopped !== undefined || result.output.droppedBytes > 0) return undefined;
  // 0: some found, 1: none; anything else: not everything was searched.
  if (result.exitCode !== 0 && result.exitCode !== 1) return undefined;
  return namesIn(result.output.head + result.output.tail, start);
}

/** Turns off filters and encodings: ripgrep compares the bytes of all regular files. */
const FLAGS = [
  "--no-config",
  "--no-messages",
  "--files-with-matches",
  "--null",
  "--color=never",
  "--fixed-strings",
  "--case-sensitive",
  "--text",
  "--encoding=none",
  "--no-ignore",
  "--hidden",
  "--no-follow",
];

/** Undefined when there is anything but names. */
function namesIn(output: string, start: string): ReadonlySet<string> | undefined {
  const names = output.split("\0");
  if (names.pop() !== "" || !names.every((name) => name.startsWith(start))) return undefined;
  return new Set(names.map((name) => name.slice(start.length)));
}
