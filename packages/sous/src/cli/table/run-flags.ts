/** What the options of a command that runs agents say: which model, which limits, which rights, and what is stored. */

import type { PermissionRule } from "../../core/configuration.ts";
import { parseDuration, parseMoney } from "../../core/units.ts";
import { usageError } from "../exit-codes.ts";
import { type OptionValues, quoted, readWhole } from "./options.ts";
import type { LOG_LEVELS, RUN } from "./run-entries.ts";

/** Undefined is "as configured". */
export type RunFlags = {
  readonly configFile: string | undefined;
  readonly model: string | undefined;
  readonly keep: { dbPath: string | undefined; isEphemeral: boolean; isRequired: boolean };
  /** Reads no file of the project. */
  readonly isBare: boolean;
  readonly limits: RunLimits;
  readonly rights: RunRights;
  readonly log: { format: "pretty" | "json"; level: LogLevel | undefined; isQuiet: boolean };
};

export type RunLimits = {
  readonly maxTurns: number | undefined;
  readonly maxDepth: number | undefined;
  readonly maxAgents: number | undefined;
  readonly maxConcurrent: number | undefined;
  readonly tokens: number | undefined;
  readonly costUsd: number | undefined;
  readonly seconds: number | undefined;
};

export type RunRights = {
  /** Exactly these tools, when given. */
  readonly tools: readonly string[] | undefined;
  readonly denyTools: readonly string[];
  /** No tools for children. */
  readonly noDelegate: boolean;
  readonly rules: readonly PermissionRule[];
  /** Allows what no rule denies. */
  readonly allowsAll: boolean;
};

export type LogLevel = (typeof LOG_LEVELS)[number];

/** Of a command that has all of these options, or some. */
export function readRunFlags(values: Partial<OptionValues<typeof RUN>>): RunFlags {
  const isEphemeral = values.ephemeral ?? false;
  const isRequired = values["require-store"] ?? false;
  if (isRequired && isEphemeral)
    throw usageError("--ephemeral stores nothing, and --require-store wants the run stored");
  return {
    configFile: values.config,
    model: values.model,
    keep: { dbPath: values["db-path"], isEphemeral, isRequired },
    isBare: values.bare ?? false,
    limits: {
      maxTurns: whole("max-turns", values["max-turns"]),
      maxDepth: whole("max-depth", values["max-depth"]),
      maxAgents: values["max-agents"] === undefined ? undefined : readWhole("max-agents", values["max-agents"], 0),
      maxConcurrent: whole("max-concurrent", values["max-concurrent"]),
      tokens: whole("max-tokens-total", values["max-tokens-total"]),
      costUsd: values.budget === undefined ? undefined : readMoney("budget", values.budget),
      seconds: values.timeout === undefined ? undefined : readSeconds("timeout", values.timeout),
    },
    rights: {
      tools: values.tools === undefined ? undefined : names(values.tools),
      denyTools: names(values["deny-tools"] ?? []),
      noDelegate: values["no-delegate"] ?? false,
      rules: (values.allow ?? []).map((pattern) => ({ effect: "allow", pattern, origin: "--allow" })),
      allowsAll: values.yes ?? false,
    },
    log: {
      format: values["log-format"] ?? "pretty",
      level: values["log-level"] ?? (values.verbose ? "debug" : undefined),
      isQuiet: values.quiet ?? false,
    },
  };
}

function whole(name: string, given: string | undefined): number | undefined {
  return given === undefined ? undefined : readWhole(name, given, 1);
}

/** `a,b` and `a b`, any number of times. */
function names(given: readonly string[]): string[] {
  return given.flatMap((list) => list.split(/[\s,]+/)).filter((name) => name !== "");
}

export function readMoney(name: string, given: string): number {
  const amount = parseMoney(given) ?? 0;
  if (amount > 0) return amount;
  throw usageError(`--${name} is an amount of US dollars greater than 0, such as 0.50; found ${quoted(given)}`);
}

/** `90`, `90s`, `5m`, `2h`. */
function readSeconds(name: string, given: string): number {
  const seconds = (parseDuration(given) ?? 0) / 1000;
  if (seconds > 0) return seconds;
  throw usageError(`--${name} is a time greater than 0, such as 90s, 5m or 2h; found ${quoted(given)}`);
}
