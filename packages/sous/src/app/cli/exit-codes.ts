/** The exit codes of commands, and what each means: the reference is made from the table. */

import { StoreError, UserError } from "../../core/errors.ts";
import type { RunResult } from "../../core/runtime.ts";
import { endingRow } from "../../core/words/outcomes.ts";

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

/** A message that says what is wrong; anything else is a bug, and its stack shows where. */
export function isForPeople(error: unknown): boolean {
  return error instanceof CommandError || error instanceof UserError || error instanceof StoreError;
}

/** The command was not typed as it should be. */
export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}

/** Chooses the exit code by the ending of a run. `whenCancelled` is the code of the signal that came. */
export function exitCodeOf(result: Pick<RunResult, "status" | "stopReason">, whenCancelled: number): number {
  const { exit } = endingRow(result);
  return exit === "signal" ? whenCancelled : EXIT[exit];
}

export type ExitCodeEntry = { readonly code: number; readonly about: string; readonly remedy: string };

export const EXIT_CODE_TABLE: readonly ExitCodeEntry[] = [
  { code: 0, about: "Done. The run completed, or the command did what it was asked.", remedy: "" },
  {
    code: 1,
    about:
      "The run failed or the model refused; its provider is unknown or has no address; an id is unknown; a database cannot be used; `sous doctor` found a problem.",
    remedy: "Read the last line of stderr. `sous replay --tree --id last` shows which agent failed.",
  },
  {
    code: 2,
    about: "Invalid command line, or a value in it that is not allowed. Nothing was started.",
    remedy: "`sous COMMAND --help`",
  },
  {
    code: 3,
    about: "Invalid configuration or agent file; a model without a price where money is limited. Nothing was started.",
    remedy: "`sous config check`, `sous agents check`",
  },
  {
    code: 4,
    about: "No model is chosen, its key is missing, or its provider refused the key.",
    remedy: "Set the variable that is named. `sous doctor` shows what is set.",
  },
  {
    code: 5,
    about: "The budget is spent. The partial result is printed.",
    remedy:
      "More `--budget` or `--max-tokens-total`. `sous resume ID --add-budget USD` or `--add-tokens N` continues the run: stderr has the whole command.",
  },
  {
    code: 6,
    about: "Out of turns, or out of time. The result is incomplete.",
    remedy: "More `--max-turns` or `--timeout`, also with `sous resume ID`; or a smaller task.",
  },
  {
    code: 7,
    about:
      "An action needed consent, no one could be asked, and no rule decided. It was refused, and the run continued without it. With `--park`: questions wait for an answer.",
    remedy:
      "`--allow RULE` for what `denied` of the JSON result lists, or `permissions` in the configuration. `sous resume ID --approve N` or `--deny N` for what `questions` lists.",
  },
  { code: 8, about: "A recording does not match what happened now.", remedy: "The first step that differs is named." },
  { code: 129, about: "Ended by a hang-up (HUP): the terminal was closed.", remedy: "`sous resume` continues it." },
  { code: 130, about: "Stopped by an interrupt (INT, Ctrl+C).", remedy: "`sous resume` continues it." },
  { code: 141, about: "The reader of stdout closed the pipe.", remedy: "" },
  { code: 143, about: "Ended by TERM.", remedy: "`sous resume` continues it." },
];
