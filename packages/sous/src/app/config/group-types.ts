/** Settings that are groups by name, checked field by field. */

import * as z from "zod";
import { nearest } from "../../core/nearest.ts";
import { isRecord, type JsonSchema } from "../../core/schema.ts";
import { aboutOf, type Complaint, described, jsonSchemaOf, type Read, readBy, readValue } from "./value-type.ts";

export type ServerFields = Readonly<Record<string, unknown>>;
export type Servers = Readonly<Record<string, ServerFields>>;

/** Fields by name. A fault in a value is told about the whole field. */
export type Fields = Readonly<Record<string, z.ZodType>>;

export const LIST_ADVICE = 'a list such as ["one", "two"]';
export const BY_NAME_ADVICE = 'names with texts such as { "NAME": "text" }';

export const TEXT = described(z.string("must be a text").min(1, "must not be empty"), {
  allowed: "a text",
  advice: "a text",
});
export const TEXTS = field(
  { type: "array", items: { type: "string" } },
  "a list of texts",
  (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
  LIST_ADVICE,
);
export const TEXT_BY_NAME = field(
  { type: "object", additionalProperties: { type: "string" } },
  "names with texts",
  (value) => isRecord(value) && Object.values(value).every((each) => typeof each === "string"),
  BY_NAME_ADVICE,
);

/** `advice` follows "give" in what to do about a wrong value. */
export function field(
  schema: JsonSchema,
  wants: string,
  accepts: (value: unknown) => boolean,
  advice: string = wants,
): z.ZodType {
  const type = z.custom(accepts, { error: `must be ${wants}`, params: { kind: "type" } }).meta(schema);
  return described(type, { allowed: wants, advice });
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
  /** More than this are a mistake. */
  readonly most?: number;
  /** Faults of the names together. */
  complainOfNames?(names: readonly string[]): readonly Complaint[];
  /** Faults of one of them whose fields are all right. */
  complainOfGroup?(name: string, given: ServerFields): readonly Complaint[];
  toValue(given: Readonly<Record<string, unknown>>): Value;
};

export function groupsOf<Value>(groups: Groups<Value>) {
  const { allowed, advice, name, fields, needed, toValue } = groups;
  const record = z.custom<ServerFields>(isRecord, { error: `must be ${allowed}`, params: { kind: "type" } });
  const type = readBy(record, (given): Read<Readonly<Record<string, Value>>> => {
    const { most = Number.POSITIVE_INFINITY } = groups;
    if (Object.keys(given).length > most)
      return { complaints: [{ kind: "range", path: [], message: `must be at most ${most} servers` }] };
    const complaints = [
      ...Object.entries(given).flatMap(([key, each]) => complaintsOf(key, each, groups)),
      ...(groups.complainOfNames?.(Object.keys(given)) ?? []),
    ];
    const seen = new Set(complaints.map(({ path: [key] }) => key));
    for (const [key, each] of Object.entries(given))
      if (isRecord(each) && !seen.has(key)) complaints.push(...(groups.complainOfGroup?.(key, each) ?? []));
    if (complaints.length > 0) return { complaints };
    const value: Record<string, Value> = Object.create(null);
    for (const [key, each] of Object.entries(given)) if (isRecord(each)) value[key] = toValue(each);
    return { value };
  });
  const schema = () => ({
    type: "object",
    propertyNames: { pattern: name.pattern.source },
    additionalProperties: {
      type: "object",
      properties: Object.fromEntries(Object.entries(fields).map(([key, each]) => [key, jsonSchemaOf(each)])),
      ...("all" in needed
        ? { required: needed.all }
        : { anyOf: [...needed.oneOf.map((key) => ({ required: [key] })), ...(needed.or ? [needed.or.schema] : [])] }),
      additionalProperties: false,
    },
    ...(groups.most === undefined ? {} : { maxProperties: groups.most }),
  });
  return described(type, { allowed, advice, schema });
}

function complaintsOf<Value>(name: string, given: unknown, groups: Groups<Value>): Complaint[] {
  const { fields, needed } = groups;
  if (!groups.name.pattern.test(name)) {
    const message = `must be ${groups.name.wants}`;
    return [{ kind: "range", path: [name], message, fix: "give it such a name", isName: true }];
  }
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
    return complaintsAbout(known, value).map((each) => ({ ...each, path: [name, key] }));
  });
  // A misspelt name is one mistake, and not also a field that is missing.
  const has = (key: string) => Object.hasOwn(given, key) || meant.has(key);
  const isEnough =
    "all" in needed ? needed.all.every(has) : needed.oneOf.some(has) || needed.or?.accepts(given) === true;
  if (isEnough) return wrong;
  return [...wrong, { kind: "range", ...missing }];
}

/** The first thing that is wrong with the value of a field, with what to do. */
export function complaintsAbout(type: z.ZodType, value: unknown): Complaint[] {
  const read = readValue(type, value);
  const [first] = "complaints" in read ? read.complaints : [];
  const about = aboutOf(type);
  return first === undefined ? [] : [{ fix: about && `give ${about.advice}`, ...first, path: [] }];
}

/** Refuses a name whose short name an earlier one has; `why` says what both would be. */
export function uniqueNames(shortOf: (name: string) => string, why: (short: string) => string) {
  return (names: readonly string[]): Complaint[] => {
    const first = new Map<string, string>();
    return names.flatMap((name): Complaint[] => {
      const short = shortOf(name);
      const other = first.get(short);
      first.set(short, other ?? name);
      if (other === undefined) return [];
      const message = `has the same short name as ${other}: ${why(short)}`;
      return [{ kind: "range", path: [name], message, fix: "give one of them another name", isName: true }];
    });
  };
}
