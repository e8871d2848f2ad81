/** What a person or a script hears when a command cannot do what it was asked. */

import { MissingKey, messageOf, StoreError, stackOf, UnpricedModel, UserError } from "../core/errors.ts";
import { ConfigurationError } from "../core/problem.ts";
import { errorPicture } from "./error-picture.ts";
import { CommandError, EXIT } from "./exit-codes.ts";
import { inert } from "./inert.ts";
import { type Display, openOutput, printJson, tell } from "./output.ts";

/** Prints one sentence on stderr, and with `--json` also an object on stdout. Returns the code to end with. */
export function reportError(error: unknown, isJson: boolean): number {
  const exitCode = exitCodeFor(error);
  if (error instanceof ConfigurationError) {
    showProblems(error, { color: "auto", isAscii: process.argv.includes("--ascii") });
    if (isJson) printJson({ schema: "sous.error.v1", error: { message: inert(error.message), exit_code: exitCode } });
    return exitCode;
  }
  const isForPeople = error instanceof CommandError || error instanceof UserError || error instanceof StoreError;
  // Anything else is a mistake of ours, and whoever looks for it needs the place.
  const words = isForPeople ? messageOf(error) : (stackOf(error) ?? messageOf(error));
  const message = inert(isFolderGone(error) ? FOLDER_GONE : words);
  tell(`error: ${message}`);
  if (isJson) printJson({ schema: "sous.error.v1", error: { message, exit_code: exitCode } });
  return exitCode;
}

const FOLDER_GONE = "The folder in which sous was started is gone: go to another one";

/** Anything can ask for the folder we are in, and nothing works without one. */
function isFolderGone(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "uv_cwd";
}

/** Every mistake of a configuration, each with its picture. */
export function showProblems({ problems }: ConfigurationError, display: Display): void {
  const { style, print } = openOutput(process.stderr, display);
  const pictures = problems.map((problem) => errorPicture(problem, style));
  print(pictures.flatMap((lines, index) => (index === 0 ? lines : ["", ...lines])));
}

export function exitCodeFor(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof ConfigurationError) return isTyped(error) ? EXIT.usage : EXIT.configuration;
  if (error instanceof UnpricedModel) return EXIT.configuration;
  return error instanceof MissingKey ? EXIT.key : EXIT.failed;
}

/** A value that was typed is a mistake of usage; a file that a flag names is a configuration. */
function isTyped({ problems }: ConfigurationError): boolean {
  return problems.every(({ code, place }) => place.kind === "flag" && code !== "SOUS-C001");
}
