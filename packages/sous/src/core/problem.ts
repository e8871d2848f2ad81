/** A mistake in a file, a variable or a flag of the user: what is wrong, exactly where, and what to do. All are told at once. */

import { UserError } from "./errors.ts";

export type ConfigurationCode = keyof typeof CONFIGURATION_CODES;

/** What each code stands for; a code is never used for anything else. */
export const CONFIGURATION_CODES = {
  "SOUS-C001": "a configuration file cannot be read",
  "SOUS-C002": "a configuration file is not YAML, or more than is read from strangers",
  "SOUS-C003": "a value is outside of what is allowed",
  "SOUS-C004": "a value has the wrong type",
  "SOUS-C005": "a key is unknown",
} as const;

export type Problem = {
  /** `SOUS-C003`; agent files have codes of their own. */
  readonly code: string;
  readonly place: ProblemPlace;
  /** Without the place: `agent.max_turns must be greater than 0 (allowed: 1–1000)`. */
  readonly message: string;
  /** What was there instead, in short and without secrets; undefined when the message says it. */
  readonly found?: string | undefined;
  /** What to do, in a few words. */
  readonly fix: string;
};

export type ProblemPlace =
  | {
      readonly kind: "file";
      /** As it is named to people. */
      readonly file: string;
      readonly line: number;
      readonly column: number;
      /** The line itself and the one before it, as far as they can be shown. */
      readonly source: readonly SourceLine[];
    }
  | { readonly kind: "variable" | "flag"; readonly name: string; readonly text: string | undefined };

export type SourceLine = { readonly number: number; readonly text: string };

/** Nothing was started. Holds every problem that was found. */
export class ConfigurationError extends UserError {
  override name = "ConfigurationError";
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(sentenceOf).join("\n"));
    this.problems = problems;
  }
}

function sentenceOf(problem: Problem): string {
  const found = problem.found === undefined ? "" : `; found ${problem.found}`;
  return `${whereIs(problem)}: ${problem.message}${found}`;
}

/** `.sous/config.yaml:3:26`, the name of a variable, or a flag. */
export function whereIs({ place }: Problem): string {
  return place.kind === "file" ? `${place.file}:${place.line}:${place.column}` : place.name;
}
