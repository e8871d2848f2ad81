/** `!command`: a shell line that the person runs, not the agent. Nobody is asked about it, and its output is text. */

import type { ProgramResult, Programs } from "../../core/process.ts";

export type ShellOptions = { cwd: string; timeoutMs: number; signal: AbortSignal };

const MAX_OUTPUT_BYTES = 32 * 1024;

/** What it printed, and how it ended when that was not well. */
export async function runShell(programs: Programs, line: string, options: ShellOptions): Promise<string> {
  const result = await programs.run({
    program: "sh",
    args: ["-c", line],
    mayUseProject: true,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    ...options,
  });
  const { head, tail, droppedBytes } = result.output;
  const gap = droppedBytes === 0 ? "" : `\n[${droppedBytes} bytes are left out]\n`;
  const printed = (head + gap + tail).trimEnd();
  return [printed, endingOf(result)].filter((part) => part !== "").join("\n") || "(no output)";
}

function endingOf({ exitCode, endedBy, stopped }: ProgramResult): string {
  if (stopped !== undefined) return `[stopped: ${stopped}]`;
  if (endedBy !== null) return `[ended by ${endedBy}]`;
  return exitCode === 0 ? "" : `[exit code ${exitCode}]`;
}
