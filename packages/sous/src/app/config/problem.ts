/** A mistake in a file, a variable or a flag of the user: what is wrong, exactly where, and what to do. All are told at once. */

import { UserError } from "../../core/errors.ts";

export type ConfigurationCode = keyof typeof CONFIGURATION_CODES;

/** The meaning of each code; a code is never used for anything else. */
export const CONFIGURATION_CODES = {
  "SOUS-C001": "a configuration file cannot be read",
  "SOUS-C002": "a configuration file is not YAML, or exceeds the limits of size, depth or aliases",
  "SOUS-C003": "a value is outside of what is allowed",
  "SOUS-C004": "a value has the wrong type",
  "SOUS-C005": "a key is unknown",
} as const;

/** The code of a mistake in an agent file. */
export type AgentFileCode = keyof typeof AGENT_FILE_CODES;

/** The same for agent files. */
export const AGENT_FILE_CODES = {
  "SOUS-A001": "an agent file is not read",
  "SOUS-A002": "an agent file does not begin with settings that can be read",
  "SOUS-A003": "a setting of an agent is not as it should be",
  "SOUS-A004": "a restriction of an agent is not understood, so the agent is not loaded",
  "SOUS-A005": "a setting of an agent has no effect",
  "SOUS-A006": "a tool or a rule that an agent file names is not one of sous",
  "SOUS-A007": "an agent may do less than its file says",
  "SOUS-A008": "a file gives no agent here",
  "SOUS-A009": "an agent says too little of itself",
  "SOUS-A010": "one call of an agent takes much of a limit",
} as const;

export type Problem = {
  /** `SOUS-C003`. */
  readonly code: string;
  readonly location: ProblemLocation;
  /** The sentence without the location: `agent.max_turns must be greater than 0 (allowed: 1–1000)`. */
  readonly message: string;
  /** The text that was there instead, in short and without secrets; undefined when the message says it. */
  readonly found?: string | undefined;
  /** Advice in a few words. */
  readonly fix: string;
};

export type ProblemLocation =
  | {
      readonly kind: "file";
      /** The file as it is named to people. */
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
export function whereIs({ location }: Problem): string {
  return location.kind === "file" ? `${location.file}:${location.line}:${location.column}` : location.name;
}
