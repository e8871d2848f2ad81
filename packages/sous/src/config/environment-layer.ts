/** The settings of the environment: `SOUS_` and the path of a setting, and a few shorter names. */

import { nearest } from "../core/nearest.ts";
import type { Variables } from "../core/variables.ts";
import { hideSecrets, type Layer, type LayerEntry } from "./layer.ts";
import { ALL_SETTINGS, SETTINGS, variableOf } from "./settings.ts";
import type { Setting } from "./value-type.ts";

/** Variables that are not the path of a setting, and what they are for. */
export const OTHER_VARIABLES: Readonly<Record<string, string>> = {
  SOUS_CONFIG: "The configuration file, instead of the one in the user's folder. The flag is --config.",
  SOUS_DB_PATH: `The database of runs; a short name for ${variableOf(SETTINGS.persistencePath)}. The flag is --db-path.`,
  SOUS_RUN: "Set by sous for the programs it starts; it changes nothing.",
  SOUS_WITHIN:
    "Set by sous for the agents it delegates to: the depth and the budget that are left. It can only lower the limits of the run.",
  SOUS_LOG_LEVEL: "How much is logged: debug, info, warn or error. The flag is --log-level.",
};

/** Read before the long name. */
const SHORT_NAMES: Readonly<Record<string, Setting>> = { SOUS_DB_PATH: SETTINGS.persistencePath };

/** An empty variable counts as unset. */
export function readEnvironment(env: Variables): { layer: Layer; warnings: readonly string[] } {
  const entries = new Map<string, LayerEntry>();
  for (const setting of ALL_SETTINGS) {
    const short = Object.keys(SHORT_NAMES).find((name) => SHORT_NAMES[name] === setting && isSet(env, name));
    const name = short ?? variableOf(setting);
    if (name !== undefined && isSet(env, name)) entries.set(setting.key, entryOf(setting, name, env[name] ?? ""));
  }
  return { layer: { name: "variable", entries }, warnings: unknownVariables(env) };
}

function entryOf(setting: Setting, name: string, text: string): LayerEntry {
  return {
    given: setting.type.fromText?.(text),
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
