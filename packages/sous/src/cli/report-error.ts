/** What a person or a script hears when a command cannot do what it was asked. */

import { MissingKey, messageOf, StoreError, stackOf, UserError } from "../core/errors.ts";
import { CommandError, EXIT } from "./exit-codes.ts";
import { inert } from "./inert.ts";
import { printJson, tell } from "./output.ts";

/** Prints one sentence on stderr, and with `--json` also an object on stdout. Returns the code to end with. */
export function reportError(error: unknown, isJson: boolean): number {
  const exitCode = exitCodeFor(error);
  const isForPeople = error instanceof CommandError || error instanceof UserError || error instanceof StoreError;
  // Anything else is a mistake of ours, and whoever looks for it needs the place.
  const message = inert(isForPeople ? messageOf(error) : (stackOf(error) ?? messageOf(error)));
  tell(`error: ${message}`);
  if (isJson) printJson({ schema: "sous.error.v1", error: { message, exit_code: exitCode } });
  return exitCode;
}

export function exitCodeFor(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  return error instanceof MissingKey ? EXIT.key : EXIT.failed;
}
