/** What a command ends with, decided in one place; the contract of the command line has the same table. */

import type { RunResult } from "../core/runtime.ts";

export const EXIT = {
  ok: 0,
  /** A run failed, an id is unknown, or a database cannot be used: what was asked for could not be done. */
  failed: 1,
  usage: 2,
  /** The configuration or an agent file is broken. */
  configuration: 3,
  /** A key is missing or refused. */
  key: 4,
  budget: 5,
  /** Out of turns or out of time. */
  limit: 6,
  consent: 7,
  /** A recording does not match what happened now. */
  mismatch: 8,
} as const;

/** A command cannot do what it was asked: one sentence for a person, and the code to end with. */
export class CommandError extends Error {
  override name = "CommandError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The command was not typed as it should be. */
export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}

/** By how a run ended. `whenCancelled` says which signal it was. */
export function exitCodeOf(
  { status, stopReason }: Pick<RunResult, "status" | "stopReason">,
  whenCancelled: number,
): number {
  switch (status) {
    case "completed":
      return EXIT.ok;
    case "cancelled":
      return whenCancelled;
    case "budget_exceeded":
      return EXIT.budget;
    case "incomplete":
      return stopReason === "consent" ? EXIT.consent : EXIT.limit;
    case "timeout":
      return EXIT.limit;
    case "refused":
    case "failed":
      return EXIT.failed;
    default:
      return status satisfies never;
  }
}
