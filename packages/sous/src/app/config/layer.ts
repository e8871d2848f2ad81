/** The sources of settings: a file, the environment, or the flags. Higher layers go before lower ones. */

import { nearest } from "../../core/nearest.ts";
import type { Variables } from "../../core/process.ts";
import { createRedactor } from "../../runtime/secrets/redact.ts";
import type { ProblemLocation, SourceLine } from "./problem.ts";
import { ALL_SETTINGS, type Setting, variableOf } from "./settings.ts";
import { aboutOf } from "./value-type.ts";

type LayerName = "flag" | "variable" | "project" | "user";

/** The source of a value, as it is shown. */
export type Origin = {
  readonly layer: LayerName | "default";
  /** `--model`, `SOUS_MODEL`, `/home/ada/.config/sous/config.yaml:3`, `default`. */
  readonly where: string;
};

export type Layer = { readonly name: LayerName; readonly entries: ReadonlyMap<string, LayerEntry> };

/** The value that a layer gives one setting, before it is checked. */
export type LayerEntry = {
  readonly given: unknown;
  /** The origin of the value, or of a part of it when a path is given. */
  origin(path?: readonly (string | number)[]): Origin;
  /** The same for a problem. */
  location(path: readonly (string | number)[], part: "key" | "value"): ProblemLocation;
};

/** The line and the one before it. */
export function linesAround(lines: readonly string[], line: number): SourceLine[] {
  return [line - 1, line].flatMap((number) => {
    const found = lines[number - 1];
    return found === undefined ? [] : [{ number, text: hideSecrets(found.slice(0, MAX_LINE)) }];
  });
}

/** Hides secrets by the name in front of them, and by their shape: a key in the wrong field is still a key. */
export function hideSecrets(text: string): string {
  return redactor.text(text.replace(NAMED, "$1(hidden)"));
}

const redactor = createRedactor([]);
const MAX_LINE = 2000;
const NAMED =
  /((?:api[_-]?key\w{0,100}|(?:access|auth|bearer)[_-]?token|\btoken|secret\w{0,100}|passw(?:or)?d\w{0,100}|authorization)["']?\s*[:=]\s*)(?!null\b)\S[^\n]*/gi;

/** Variables that are not the path of a setting, and what they are for. */
export const OTHER_VARIABLES: Readonly<Record<string, string>> = {
  SOUS_CONFIG: "The configuration file, instead of the one in the user's folder. The flag is --config.",
  SOUS_DB_PATH: "The database of runs; a short name for SOUS_AGENT_SUBAGENT_PERSISTENCE_PATH. The flag is --db-path.",
  SOUS_RUN: "Set by sous for the programs it starts; it changes nothing.",
  SOUS_WITHIN:
    "Set by sous for the agents it delegates to: the depth and the budget that are left. It can only lower the limits of the run.",
  SOUS_LOG_LEVEL: "How much is logged: debug, info, warn or error. The flag is --log-level.",
};

/** Read before the long name. */
const SHORT_NAMES: Readonly<Record<string, string>> = { SOUS_DB_PATH: "agent.subagent.persistence_path" };

/** An empty variable counts as unset. */
export function readEnvironment(env: Variables): { layer: Layer; warnings: readonly string[] } {
  const entries = new Map<string, LayerEntry>();
  for (const setting of ALL_SETTINGS) {
    const short = Object.keys(SHORT_NAMES).find((name) => SHORT_NAMES[name] === setting.key && isSet(env, name));
    const name = short ?? variableOf(setting);
    if (name !== undefined && isSet(env, name)) entries.set(setting.key, entryOf(setting, name, env[name] ?? ""));
  }
  return { layer: { name: "variable", entries }, warnings: unknownVariables(env) };
}

function entryOf(setting: Setting, name: string, text: string): LayerEntry {
  return {
    given: aboutOf(setting.type)?.fromText?.(text),
    origin: () => ({ layer: "variable", where: name }),
    location: () => ({ kind: "variable", name, text: setting.isSecret ? undefined : hideSecrets(`${name}=${text}`) }),
  };
}

/** An unknown variable is probably a typo, so it gives a warning. */
function unknownVariables(env: Variables): string[] {
  const known = [...ALL_SETTINGS.flatMap((setting) => variableOf(setting) ?? []), ...Object.keys(OTHER_VARIABLES)];
  const unknown = Object.keys(env).filter((name) => name.startsWith("SOUS_") && !known.includes(name));
  return unknown.sort().map((name) => {
    const meant = nearest(name, known);
    const hint = meant === undefined ? "sous config explain --all lists them" : `did you mean ${meant}?`;
    return `the variable ${name.slice(0, 100)} is not known and changes nothing; ${hint}`;
  });
}

function isSet(env: Variables, name: string): boolean {
  return (env[name] ?? "") !== "";
}
