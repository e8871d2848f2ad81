/** A schema whose error messages are whole sentences that name the field and what is allowed. */

import * as z from "zod";
import { type JsonSchema, once, type StandardIssue, type StandardSchema } from "../../core/schema.ts";

export const notBlank: z.ZodString = z.string().refine((text) => text.trim() !== "");

/** The sentence for a field, whatever is wrong with it. `*` is for one that is not known; when unset it lists those that are. */
export type Sentences = Readonly<Record<string, string>>;

/** A schema of this module, with its own converter to JSON Schema. */
export type SentenceSchema<Value> = StandardSchema<Value> & {
  readonly "~standard": { readonly jsonSchema: { input(): JsonSchema } };
};

/** A field that may be given under another name, too; the JSON Schema shows `name` only. */
export type Alias = { readonly name: string; readonly other: string };

/** Wraps a zod object. Converted to JSON Schema once, when a tool with it is first offered. */
export function sentenceSchema<Shape extends z.ZodObject>(
  shape: Shape,
  given: Sentences,
  alias?: Alias,
): SentenceSchema<z.infer<Shape>> {
  const sentences = { "*": `Allowed: ${Object.keys(shape.shape).join(", ")}.`, ...given };
  const jsonSchema = once(() => z.toJSONSchema(shape, { io: "input" }) as JsonSchema);
  return {
    "~standard": {
      version: 1,
      vendor: "sous",
      validate(input: unknown) {
        const value = alias === undefined ? input : renamed(input, alias);
        if (value === DIFFER)
          return { issues: [{ message: `${alias?.name} and ${alias?.other} are two names of one field: give one` }] };
        const result = shape.safeParse(value);
        if (result.success) return { value: result.data };
        return { issues: result.error.issues.map((issue) => ({ message: toSentence(issue, value, sentences) })) };
      },
      jsonSchema: { input: jsonSchema },
    },
  } as SentenceSchema<z.infer<Shape>>;
}

const DIFFER = Symbol("differ");

/** The input with the field under its own name, also in the entries of lists; `DIFFER` when both names say different things. */
function renamed(value: unknown, alias: Alias): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const all = value.map((each) => renamed(each, alias));
    return all.includes(DIFFER) ? DIFFER : all;
  }
  const { name, other } = alias;
  const { [other]: text, tasks, ...rest } = value as Record<string, unknown>;
  if (text !== undefined && rest[name] !== undefined && text !== rest[name]) return DIFFER;
  const inner = renamed(tasks, alias);
  if (inner === DIFFER) return DIFFER;
  return { ...rest, ...(text !== undefined && { [name]: text }), ...(tasks !== undefined && { tasks: inner }) };
}

/** The same schema with descriptions that depend on the tree; they also apply to fields of list entries. */
export function describedSchema<Value>(
  schema: SentenceSchema<Value>,
  descriptions: Readonly<Record<string, string>>,
): StandardSchema<Value> {
  const standard = schema["~standard"];
  const input = () => describe(standard.jsonSchema.input(), descriptions);
  return { "~standard": { ...standard, jsonSchema: { input } } } as StandardSchema<Value>;
}

function describe(schema: JsonSchema, descriptions: Readonly<Record<string, string>>): JsonSchema {
  const { properties, items } = schema as { properties?: Record<string, JsonSchema>; items?: JsonSchema };
  if (items !== undefined) return { ...schema, items: describe(items, descriptions) };
  if (properties === undefined) return schema;
  const described = Object.entries(properties).map(([name, property]) => {
    const description = descriptions[name];
    const own = describe(property, descriptions);
    return [name, description === undefined ? own : { ...own, description }];
  });
  return { ...schema, properties: Object.fromEntries(described) };
}

function toSentence(issue: z.core.$ZodIssue, whole: unknown, sentences: Sentences): string {
  const field = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    const where = field === "" ? "" : ` in ${field}`;
    return `Unknown field${where}: ${issue.keys.join(", ")}. ${sentences["*"] ?? ""}`.trim();
  }
  if (field === "") return "The input must be an object";
  const found = valueAt(whole, issue.path);
  if (found === undefined) return `${field} is required`;
  // The sentence of `label` also serves `tasks.0.label`; an entry of a list has none.
  const last = issue.path.at(-1);
  const known = typeof last === "string" ? sentences[last] : undefined;
  if (known !== undefined) return `${field.slice(0, -String(last).length)}${known}${describeFound(found)}`;
  return `${field}: ${issue.message}${describeFound(found)}`;
}

function describeFound(found: unknown): string {
  if (typeof found === "string" && found.trim() === "") return "";
  const shown = JSON.stringify(found) ?? String(found);
  return `; found ${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown}`;
}

function valueAt(value: unknown, path: StandardIssue["path"]): unknown {
  let current = value;
  for (const step of path ?? []) {
    if (typeof current !== "object" || current === null) return undefined;
    current = (current as Record<PropertyKey, unknown>)[step as PropertyKey];
  }
  return current;
}
