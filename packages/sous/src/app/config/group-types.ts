/** Settings that are groups by name, checked field by field. */

import { nearest } from "../core/nearest.ts";
import { isRecord, type JsonSchema } from "../core/schema.ts";
import { type Complaint, complaint, type ValueType } from "./value-type.ts";

export type ServerFields = Readonly<Record<string, unknown>>;
export type Servers = Readonly<Record<string, ServerFields>>;

/** Its schema, and what is wrong with a value; undefined when nothing is. */
export type Field = {
  readonly schema: Readonly<Record<string, unknown>>;
  complain(value: unknown): Pick<Complaint, "kind" | "message" | "fix"> | undefined;
};
export type Fields = Readonly<Record<string, Field>>;

export const LIST_ADVICE = 'a list such as ["one", "two"]';
export const BY_NAME_ADVICE = 'names with texts such as { "NAME": "text" }';

export const TEXT: Field = {
  schema: { type: "string", minLength: 1 },
  complain(value) {
    const fix = "give a text";
    if (typeof value !== "string") return { kind: "type", message: "must be a text", fix };
    return value === "" ? { kind: "range", message: "must not be empty", fix } : undefined;
  },
};
export const TEXTS: Field = field(
  { type: "array", items: { type: "string" } },
  "a list of texts",
  (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
  LIST_ADVICE,
);
export const TEXT_BY_NAME: Field = field(
  { type: "object", additionalProperties: { type: "string" } },
  "names with texts",
  (value) => isRecord(value) && Object.values(value).every((each) => typeof each === "string"),
  BY_NAME_ADVICE,
);
/** A field of a type that settings have, too. */
export function fieldOf(type: ValueType<unknown>): Field {
  return {
    schema: type.jsonSchema,
    complain(value) {
      const read = type.read(value);
      const [first] = "complaints" in read ? read.complaints : [];
      return first && { fix: `give ${type.advice}`, ...first };
    },
  };
}

/** `advice` follows "give" in what to do about a wrong value. */
export function field(
  schema: Field["schema"],
  wants: string,
  accepts: (value: unknown) => boolean,
  advice: string = wants,
): Field {
  return {
    schema,
    complain: (value) =>
      accepts(value) ? undefined : { kind: "type", message: `must be ${wants}`, fix: `give ${advice}` },
  };
}

/** `or` is a group that needs none of these fields. */
type OneOf = {
  readonly oneOf: readonly string[];
  readonly or?: { readonly schema: JsonSchema; accepts(given: Readonly<Record<string, unknown>>): boolean } | undefined;
};

type Groups<Value> = {
  readonly allowed: string;
  readonly advice: string;
  readonly name: { readonly pattern: RegExp; readonly wants: string };
  readonly fields: Fields;
  readonly needed: { readonly all: readonly string[] } | OneOf;
  /** What is wrong with the names together. */
  complainOfNames?(names: readonly string[]): readonly Complaint[];
  toValue(given: Readonly<Record<string, unknown>>): Value;
};

export function groupsOf<Value>(groups: Groups<Value>): ValueType<Readonly<Record<string, Value>>> {
  const { allowed, advice, name, fields, needed, toValue } = groups;
  const group = {
    type: "object",
    properties: Object.fromEntries(Object.entries(fields).map(([key, { schema }]) => [key, schema])),
    ...("all" in needed
      ? { required: needed.all }
      : { anyOf: [...needed.oneOf.map((key) => ({ required: [key] })), ...(needed.or ? [needed.or.schema] : [])] }),
    additionalProperties: false,
  };
  return {
    allowed,
    advice,
    jsonSchema: { type: "object", propertyNames: { pattern: name.pattern.source }, additionalProperties: group },
    read(given) {
      if (!isRecord(given)) return complaint("type", `must be ${allowed}`);
      const complaints = [
        ...Object.entries(given).flatMap(([key, each]) => complaintsAbout(key, each, groups)),
        ...(groups.complainOfNames?.(Object.keys(given)) ?? []),
      ];
      if (complaints.length > 0) return { complaints };
      const value: Record<string, Value> = Object.create(null);
      for (const [key, each] of Object.entries(given)) if (isRecord(each)) value[key] = toValue(each);
      return { value };
    },
    show: (value) => (Object.keys(value).length === 0 ? "none" : Object.keys(value).join(", ")),
  };
}

function complaintsAbout(name: string, given: unknown, groups: Groups<unknown>): Complaint[] {
  const { fields, needed } = groups;
  if (!groups.name.pattern.test(name))
    return [
      {
        kind: "range",
        path: [name],
        message: `must be ${groups.name.wants}`,
        fix: "give it such a name",
        isName: true,
      },
    ];
  const names = "all" in needed ? needed.all.join(" and ") : needed.oneOf.join(" or ");
  const missing = { path: [name], message: `must have ${names}`, fix: `add ${names}` };
  if (!isRecord(given)) return [{ kind: "type", ...missing }];
  const meant = new Set<string>();
  const wrong = Object.entries(given).flatMap(([key, value]): Complaint[] => {
    const known = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (known === undefined) {
      const near = nearest(key, Object.keys(fields));
      if (near !== undefined) meant.add(near);
      const fix = near === undefined ? `known are ${Object.keys(fields).join(", ")}` : `did you mean ${near}?`;
      return [{ kind: "unknown-key", path: [name, key], message: "is not known", fix }];
    }
    const found = known.complain(value);
    return found === undefined ? [] : [{ ...found, path: [name, key] }];
  });
  // A misspelt name is one mistake, and not also a field that is missing.
  const has = (key: string) => Object.hasOwn(given, key) || meant.has(key);
  const isEnough =
    "all" in needed ? needed.all.every(has) : needed.oneOf.some(has) || needed.or?.accepts(given) === true;
  if (isEnough) return wrong;
  return [...wrong, { kind: "range", ...missing }];
}
