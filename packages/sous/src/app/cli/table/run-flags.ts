/** What the options of a command that runs agents say: which model, which limits, which rights, and what is stored. */

import type { PermissionRule } from "../../core/configuration.ts";
import type { LogLevel } from "../../telemetry/log.ts";
import { usageError } from "../exit-codes.ts";
import type { OptionValues } from "./options.ts";
import type { RUN } from "./run-entries.ts";

/** Undefined is "as configured". */
export type RunFlags = {
  readonly configFile: string | undefined;
  readonly model: string | undefined;
  /** The name of the agent that is the root. */
  readonly agent: string | undefined;
  /** `isRequired` fails when the run cannot be stored. */
  readonly storage: { dbPath: string | undefined; isEphemeral: boolean; isRequired: boolean };
  /** Reads no file of the project. */
  readonly isBare: boolean;
  readonly limits: RunLimits;
  readonly rights: RunRights;
  /** Of the endpoint for Prometheus. */
  readonly metricsPort: number | undefined;
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

/** Of a command that has all of these options, or some. */
export function readRunFlags(values: Partial<OptionValues<typeof RUN>>): RunFlags {
  const isEphemeral = values.ephemeral ?? false;
  const parks = values.park ?? false;
  if (parks && isEphemeral)
    throw usageError("--ephemeral stores nothing, and --park leaves its questions in the store");
  // What is not stored could not be answered.
  const isRequired = (values["require-store"] ?? false) || parks;
  if (isRequired && isEphemeral)
    throw usageError("--ephemeral stores nothing, and --require-store wants the run stored");
  return {
    configFile: values.config,
    model: values.model,
    agent: values.agent,
    storage: { dbPath: values["db-path"], isEphemeral, isRequired },
    isBare: values.bare ?? false,
    limits: {
      maxTurns: values["max-turns"],
      maxDepth: values["max-depth"],
      maxAgents: values["max-agents"],
      maxConcurrent: values["max-concurrent"],
      tokens: values["max-tokens-total"],
      costUsd: values.budget,
      seconds: values.timeout,
    },
    rights: {
      tools: values.tools,
      denyTools: values["deny-tools"] ?? [],
      noDelegate: values["no-delegate"] ?? false,
      rules: (values.allow ?? []).map((pattern) => ({ effect: "allow", pattern, origin: "--allow" })),
      allowsAll: values.yes ?? false,
    },
    metricsPort: values["metrics-port"],
    log: {
      format: values["log-format"] ?? "pretty",
      level: values["log-level"] ?? (values.verbose ? "debug" : undefined),
      isQuiet: values.quiet ?? false,
    },
  };
}
