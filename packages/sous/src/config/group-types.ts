/** Settings that are groups by name, checked field by field: what any group is, and servers that a later version starts. */

import { nearest } from "../core/nearest.ts";
import { isRecord } from "../core/schema.ts";
import { type Complaint, complaint, type ValueType } from "./value-type.ts";

export type Server = Readonly<Record<string, unknown>>;
export type Servers = Readonly<Record<string, Server>>;

/** What a project may not give to a server: both carry keys. */
export const SECRET_FIELDS: readonly string[] = ["env", "headers"];

export function agentServers(): ValueType<Servers> {
  return servers(AGENT_FIELDS, ["command"]);
}

export function mcpServers(): ValueType<Servers> {
  return servers(MCP_FIELDS, ["command", "url"]);
}

function servers(fields: Fields, oneOf: readonly string[]): ValueType<Servers> {
  const allowed = `servers by name, each with ${oneOf.join(" or ")}`;
  const name = { pattern: /^[A-Za-z0-9][\w-]{0,63}$/, wants: "a name of letters, digits, - and _" };
  return groupsOf({ allowed, advice: allowed, name, fields, needed: { oneOf }, toValue: (given) => given });
}

/** Its schema, and what is wrong with a value; undefined when nothing is. */
export type Field = {
  readonly schema: Readonly<Record<string, unknown>>;
  complain(value: unknown): Pick<Complaint, "kind" | "message"> | undefined;
};
export type Fields = Readonly<Record<string, Field>>;

const TEXT = field({ type: "string", minLength: 1 }, "a text", (value) => typeof value === "string" && value !== "");
const TEXTS = field(
  { type: "array", items: { type: "string" } },
  "a list of texts",
  (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
);
const TEXT_BY_NAME = field(
  { type: "object", additionalProperties: { type: "string" } },
  "texts by name",
  (value) => isRecord(value) && Object.values(value).every((each) => typeof each === "string"),
);
const TRANSPORTS: readonly unknown[] = ["stdio", "http", "sse"];
const TRANSPORT = field({ enum: TRANSPORTS }, "stdio, http or sse", (value) => TRANSPORTS.includes(value));

const AGENT_FIELDS: Fields = { command: TEXT, args: TEXTS, env: TEXT_BY_NAME };
const MCP_FIELDS: Fields = { ...AGENT_FIELDS, url: TEXT, headers: TEXT_BY_NAME, type: TRANSPORT };

function field(schema: Field["schema"], wants: string, accepts: (value: unknown) => boolean): Field {
  return { schema, complain: (value) => (accepts(value) ? undefined : { kind: "type", message: `must be ${wants}` }) };
}

type Groups<Value> = {
  readonly allowed: string;
  readonly advice: string;
  readonly name: { readonly pattern: RegExp; readonly wants: string };
  readonly fields: Fields;
  readonly needed: { readonly all: readonly string[] } | { readonly oneOf: readonly string[] };
  toValue(given: Readonly<Record<string, unknown>>): Value;
};

export function groupsOf<Value>(groups: Groups<Value>): ValueType<Readonly<Record<string, Value>>> {
  const { allowed, advice, name, fields, needed, toValue } = groups;
  const group = {
    type: "object",
    properties: Object.fromEntries(Object.entries(fields).map(([key, { schema }]) => [key, schema])),
    ...("all" in needed ? { required: needed.all } : { anyOf: needed.oneOf.map((key) => ({ required: [key] })) }),
    additionalProperties: false,
  };
  return {
    allowed,
    advice,
    jsonSchema: { type: "object", propertyNames: { pattern: name.pattern.source }, additionalProperties: group },
    read(given) {
      if (!isRecord(given)) return complaint("type", `must be ${allowed}`);
      const complaints = Object.entries(given).flatMap(([key, each]) => complaintsAbout(key, each, groups));
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
    return [{ kind: "range", path: [name], message: `must be ${groups.name.wants}` }];
  const message = `must have ${"all" in needed ? needed.all.join(" and ") : needed.oneOf.join(" or ")}`;
  if (!isRecord(given)) return [{ kind: "type", path: [name], message }];
  const wrong = Object.entries(given).flatMap(([key, value]): Complaint[] => {
    const known = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (known === undefined) {
      const meant = nearest(key, Object.keys(fields));
      const fix = meant === undefined ? `known are ${Object.keys(fields).join(", ")}` : `did you mean ${meant}?`;
      return [{ kind: "unknown-key", path: [name, key], message: "is not known", fix }];
    }
    const found = known.complain(value);
    return found === undefined ? [] : [{ ...found, path: [name, key] }];
  });
  const has = (key: string) => Object.hasOwn(given, key);
  if ("all" in needed ? needed.all.every(has) : needed.oneOf.some(has)) return wrong;
  return [...wrong, { kind: "range", path: [name], message }];
}
