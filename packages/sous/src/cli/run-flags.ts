/** The options that every command which runs agents has: which model, which limits, which rights, and what is kept. */

import type { PermissionRule } from "../core/configuration.ts";
import { usageError } from "./exit-codes.ts";
import { DISPLAY_OPTIONS, type OptionValues, quoted, readWhole, readWord } from "./options.ts";

export const RUN_OPTIONS = {
  ...DISPLAY_OPTIONS,
  config: { type: "string" },
  model: { type: "string", short: "m" },
  "db-path": { type: "string" },
  ephemeral: { type: "boolean", default: false },
  "require-store": { type: "boolean", default: false },
  bare: { type: "boolean", default: false },
  "max-turns": { type: "string" },
  "max-depth": { type: "string" },
  "max-agents": { type: "string" },
  "max-tokens-total": { type: "string" },
  budget: { type: "string" },
  timeout: { type: "string" },
  "max-concurrent": { type: "string" },
  tools: { type: "string", multiple: true, mayBeEmpty: true },
  "deny-tools": { type: "string", multiple: true },
  "no-delegate": { type: "boolean", default: false },
  allow: { type: "string", multiple: true },
  yes: { type: "boolean", default: false },
  quiet: { type: "boolean", default: false },
  verbose: { type: "boolean", default: false },
  "log-format": { type: "string" },
  "log-level": { type: "string" },
} as const;

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

const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Of a command that has all of these options, or some. */
export function readRunFlags(values: Partial<OptionValues<typeof RUN_OPTIONS>>): RunFlags {
  const isEphemeral = values.ephemeral ?? false;
  const isRequired = values["require-store"] ?? false;
  if (isRequired && isEphemeral)
    throw usageError("--ephemeral stores nothing, and --require-store wants the run stored");
  const level = values["log-level"] ?? (values.verbose ? "debug" : undefined);
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
      format: readWord("log-format", values["log-format"] ?? "pretty", ["pretty", "json"]),
      level: level === undefined ? undefined : readWord("log-level", level, LOG_LEVELS),
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
  const amount = /^\$?\d{1,9}(\.\d{1,9})?$/.test(given) ? Number(given.replace("$", "")) : Number.NaN;
  if (amount > 0) return amount;
  throw usageError(`--${name} is an amount of US dollars greater than 0, such as 0.50; found ${quoted(given)}`);
}

const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };

/** `90`, `90s`, `5m`, `2h`. */
function readSeconds(name: string, given: string): number {
  const [, count, unit = "s"] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)?$/.exec(given) ?? [];
  const seconds = Number(count) * (SECONDS[unit] ?? Number.NaN);
  if (seconds > 0) return seconds;
  throw usageError(`--${name} is a time greater than 0, such as 90s, 5m or 2h; found ${quoted(given)}`);
}
