/** The options of a command that runs agents: which model, which limits, which rights, and what is stored. */

import type { PermissionRule } from "../../../core/configuration.ts";
import type { FlagSetting } from "../../config/load-configuration.ts";
import { usageError } from "../exit-codes.ts";
import type { OptionGroup } from "./entry.ts";
import type { OptionValues } from "./options.ts";
import { RUN } from "./run-entries.ts";

/** Undefined is "as configured". */
export type RunFlags = Readonly<ReturnType<typeof readRunFlags>>;

/** Reads the options of a command that has all of these, or some. */
export function readRunFlags(values: Partial<OptionValues<typeof RUN>>) {
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
    /** The name of the agent that is the root. */
    agent: values.agent,
    /** `isRequired` fails when the run cannot be stored. */
    storage: { dbPath: values["db-path"], isEphemeral, isRequired },
    /** Reads no file of the project. */
    isBare: values.bare ?? false,
    /** The run fails when a child of it does. */
    requireAll: values["require-all"] ?? false,
    /** Turns of the root. */
    maxTurns: values["max-turns"],
    /** The options that stand in for settings: the model, the database, limits. */
    settings: flagSettings(values),
    rights: {
      /** Exactly these tools, when given. */
      tools: values.tools,
      denyTools: values["deny-tools"] ?? [],
      /** No tools for children. */
      noDelegate: values["no-delegate"] ?? false,
      rules: (values.allow ?? []).map((pattern): PermissionRule => ({ effect: "allow", pattern, origin: "--allow" })),
      /** Allows what no rule denies. */
      allowsAll: values.yes ?? false,
    },
    log: {
      format: values["log-format"] ?? "pretty",
      level: values["log-level"] ?? (values.verbose ? "debug" : undefined),
      isQuiet: values.quiet ?? false,
    },
  };
}

/** Finds the settings by the names of options. Options of all commands that run agents are options of `sous run`, too. */
export function flagSettings(values: Readonly<Record<string, unknown>>): FlagSetting[] {
  const groups: readonly OptionGroup[] = RUN.groups;
  return groups
    .flatMap(({ options }) => options)
    .flatMap(({ name, sets }) =>
      sets === undefined || values[name] === undefined ? [] : [{ key: sets, flag: `--${name}`, value: values[name] }],
    );
}
