/** The settings as a JSON Schema: editors complete and check a file with it. */

import type { JsonSchema } from "../core/schema.ts";
import { ALL_SETTINGS, type Setting } from "./settings.ts";

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

function settingSchema({ type, description, default: fallback, isLater }: Setting): JsonSchema {
  const described = isLater ? `${description} It has no effect in this version.` : description;
  if (fallback !== undefined) return { description: described, ...type.jsonSchema, default: fallback };
  return { description: described, anyOf: [type.jsonSchema, { type: "null" }], default: null };
}
