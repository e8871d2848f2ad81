/** Explains in words what a setting is and where it came from. A secret is said to be set and nothing more. */

import { nearest } from "../../core/nearest.ts";
import type { JsonSchema } from "../../core/schema.ts";
import type { LoadedConfiguration } from "./load-configuration.ts";
import type { Resolved } from "./resolve-settings.ts";
import { ALL_SETTINGS, isSetting, SETTINGS, type Setting, variableOf } from "./settings.ts";
import { aboutOf, jsonSchemaOf, showValue } from "./value-type.ts";

export type Explanation = {
  readonly key: string;
  /** The value as people write it, `set` for a secret, `not set` for nothing. */
  readonly shown: string;
  readonly where: string;
  readonly isDefault: boolean;
  /** The values of lower layers, from the highest. */
  readonly behind: readonly { readonly shown: string; readonly where: string }[];
  readonly about: SettingFacts;
};

type SettingFacts = {
  readonly description: string;
  readonly allowed: string;
  readonly fallback: string;
  readonly variable: string | undefined;
  /** Says whether the file of a project may set it, and how. */
  readonly project: string;
};

/** Explains one setting, or all in a group; undefined when there is no such name. Without a name, explains all. */
export function explain({ origins }: LoadedConfiguration, name?: string): readonly Explanation[] | undefined {
  const all = ALL_SETTINGS.flatMap(({ key }) => origins.get(key) ?? []).map(explainOne);
  if (name === undefined) return all;
  const wanted = all.filter(({ key }) => key === name || key.startsWith(`${name}.`));
  return wanted.length === 0 ? undefined : wanted;
}

/** The key that was probably meant. */
export function nearestSetting(name: string): string | undefined {
  const keys = ALL_SETTINGS.map(({ key }) => key);
  const lastWords = new Map(keys.map((key) => [key.slice(key.lastIndexOf(".") + 1), key]));
  const word = nearest(name.slice(name.lastIndexOf(".") + 1), lastWords.keys());
  return nearest(name, keys) ?? (word === undefined ? undefined : lastWords.get(word));
}

function explainOne({ setting, value, origin, behind }: Resolved): Explanation {
  return {
    key: setting.key,
    shown: shownValue(setting, value),
    where: origin.where,
    isDefault: origin.layer === "default",
    behind: behind
      .filter((each) => each.origin.layer !== "default")
      .map((each) => ({ shown: shownValue(setting, each.value), where: each.origin.where })),
    about: settingFacts(setting),
  };
}

function shownValue({ type, isSecret }: Setting, value: unknown): string {
  if (value === undefined) return "not set";
  return isSecret ? "set" : showValue(type, value);
}

/** The facts about a setting, which the reference says, too. */
export function settingFacts(setting: Setting): SettingFacts {
  const { description, type, default: fallback, project } = setting;
  return {
    description,
    allowed: aboutOf(type)?.allowed ?? "",
    fallback: fallback === undefined ? "not set" : showValue(type, fallback),
    variable: variableOf(setting),
    project: PROJECT[project],
  };
}

const PROJECT: Readonly<Record<Setting["project"], string>> = {
  never: "no",
  lower: "only lower than yours",
  free: "yes",
  add: "only add or narrow",
  "same-provider": "only another model of your provider",
};

/** The settings as a JSON Schema: editors complete and check a file with it. */
export function configurationSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "sous configuration",
    ...groupSchema(SETTINGS),
  };
}

function groupSchema(group: object): JsonSchema {
  const properties = Object.entries(group).map(([name, each]: [string, object]) => [
    name,
    isSetting(each) ? settingSchema(each) : { ...groupSchema(each), type: ["object", "null"] },
  ]);
  return { type: "object", properties: Object.fromEntries(properties), additionalProperties: false };
}

function settingSchema({ description, type, default: fallback }: Omit<Setting, "key">): JsonSchema {
  if (fallback !== undefined) return { description, ...jsonSchemaOf(type), default: fallback };
  return { description, anyOf: [jsonSchemaOf(type), { type: "null" }], default: null };
}
