/** What a setting is and where it came from, in words. A secret is said to be set and nothing more. */

import { nearest } from "../core/nearest.ts";
import type { JsonSchema } from "../core/schema.ts";
import type { LoadedConfiguration } from "./load-configuration.ts";
import type { Resolved } from "./resolve-settings.ts";
import { ALL_SETTINGS, variableOf } from "./settings.ts";
import type { Setting } from "./value-type.ts";

export type Explanation = {
  readonly key: string;
  /** As people write it, `set` for a secret, `not set` for nothing. */
  readonly shown: string;
  readonly where: string;
  readonly isDefault: boolean;
  /** What lower layers say, from the highest. */
  readonly behind: readonly { readonly shown: string; readonly where: string }[];
  readonly about: SettingFacts;
};

type SettingFacts = {
  readonly description: string;
  readonly allowed: string;
  readonly fallback: string;
  readonly variable: string | undefined;
  /** Whether the file of a project may set it, and how. */
  readonly project: string;
};

/** Of one setting, or of all in a group; undefined when there is no such name. Without a name, of all. */
export function explain({ origins }: LoadedConfiguration, name?: string): readonly Explanation[] | undefined {
  const all = [...origins.values()].map(explainOne);
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
    shown: showValue(setting, value),
    where: origin.where,
    isDefault: origin.layer === "default",
    behind: behind
      .filter((each) => each.origin.layer !== "default")
      .map((each) => ({ shown: showValue(setting, each.value), where: each.origin.where })),
    about: settingFacts(setting),
  };
}

function showValue({ type, isSecret }: Setting, value: unknown): string {
  if (value === undefined) return "not set";
  return isSecret ? "set" : type.show(value);
}

/** What the reference says about a setting, too. */
export function settingFacts(setting: Setting): SettingFacts {
  const { description, type, default: fallback, project } = setting;
  return {
    description,
    allowed: type.allowed,
    fallback: fallback === undefined ? "not set" : type.show(fallback),
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
    ...groupSchema("", ALL_SETTINGS),
  };
}

/** `prefix` is empty, or ends with a dot. */
function groupSchema(prefix: string, settings: readonly Setting[]): JsonSchema {
  const names = new Set(settings.map(({ key }) => key.slice(prefix.length).split(".", 1)[0] ?? ""));
  const properties = [...names].map((name): [string, JsonSchema] => {
    const setting = settings.find(({ key }) => key === prefix + name);
    if (setting !== undefined) return [name, settingSchema(setting)];
    const inner = `${prefix}${name}.`;
    const group = groupSchema(
      inner,
      settings.filter(({ key }) => key.startsWith(inner)),
    );
    return [name, { ...group, type: ["object", "null"] }];
  });
  return { type: "object", properties: Object.fromEntries(properties), additionalProperties: false };
}

function settingSchema(setting: Setting): JsonSchema {
  const { type, default: fallback } = setting;
  const { description } = settingFacts(setting);
  if (fallback !== undefined) return { description, ...type.jsonSchema, default: fallback };
  return { description, anyOf: [type.jsonSchema, { type: "null" }], default: null };
}
