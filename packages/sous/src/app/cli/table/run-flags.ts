/** The options of a command that runs agents: which model, which limits, which rights, and what is stored. */

import type { LogLevel } from "../../../bridges/telemetry/log.ts";
import type { PermissionRule } from "../../../core/configuration.ts";
import type { FlagSetting } from "../../config/load-configuration.ts";
import { usageError } from "../exit-codes.ts";
import type { OptionGroup } from "./entry.ts";
import type { OptionValues } from "./options.ts";
import { RUN } from "./run-entries.ts";

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
  /** Turns of the root. */
  readonly maxTurns: number | undefined;
  /** The options that stand in for settings: the model, the database, limits. */
  readonly settings: readonly FlagSetting[];
  readonly rights: RunRights;
  readonly log: { format: "pretty" | "json"; level: LogLevel | undefined; isQuiet: boolean };
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

/** Reads the options of a command that has all of these, or some. */
export function readRunFlags(values: Partial<OptionValues<typeof RUN>>): RunFlags {
  const isEphemeral = values.ephemeral ?? false;
  const parks = values.park ?? false;
  if (parks && isEphemeral)
    throw usageError("--ephemeral stores nothing, and --park leaves its questions in the store");
  // A question that is not stored could not be answered.
  const isRequired = (values["require-store"] ?? false) || parks;
  if (isRequired && isEphemeral)
    throw usageError("--ephemeral stores nothing, and --require-store wants the run stored");
  return {
    configFile: values.config,
    model: values.model,
    agent: values.agent,
    storage: { dbPath: values["db-path"], isEphemeral, isRequired },
    isBare: values.bare ?? false,
    maxTurns: values["max-turns"],
    settings: flagSettings(values),
    rights: {
      tools: values.tools,
      denyTools: values["deny-tools"] ?? [],
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

/** By the names of options. Those of all commands that run agents are options of `sous run`, too. */
export function flagSettings(values: Readonly<Record<string, unknown>>): FlagSetting[] {
  const groups: readonly OptionGroup[] = RUN.groups;
  return groups
    .flatMap(({ options }) => options)
    .flatMap(({ name, sets }) =>
      sets === undefined || values[name] === undefined ? [] : [{ key: sets, flag: `--${name}`, value: values[name] }],
    );
}
