/** Servers that a later build starts: their shape is checked now, so that a file that is right stays right. */

import { nearest } from "../core/nearest.ts";
import { isRecord, type JsonSchema } from "../core/schema.ts";
import type { Complaint, ValueType } from "./value-type.ts";

export type Server = Readonly<Record<string, unknown>>;
export type Servers = Readonly<Record<string, Server>>;

/** What a project may not give to a server: both carry keys. */
export const SECRET_FIELDS: readonly string[] = ["env", "headers"];

type Field = { readonly schema: JsonSchema; readonly wants: string; accepts(value: unknown): boolean };

const TEXT: Field = { schema: { type: "string", minLength: 1 }, wants: "a text", accepts: isText };
const TEXTS: Field = {
  schema: { type: "array", items: { type: "string" } },
  wants: "a list of texts",
  accepts: (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
};
const TEXT_BY_NAME: Field = {
  schema: { type: "object", additionalProperties: { type: "string" } },
  wants: "texts by name",
  accepts: (value) => isRecord(value) && Object.values(value).every((each) => typeof each === "string"),
};

const AGENT_FIELDS: Readonly<Record<string, Field>> = { command: TEXT, args: TEXTS, env: TEXT_BY_NAME };
const MCP_FIELDS: Readonly<Record<string, Field>> = {
  ...AGENT_FIELDS,
  url: TEXT,
  headers: TEXT_BY_NAME,
  type: { schema: { enum: ["stdio", "http", "sse"] }, wants: "stdio, http or sse", accepts: isTransport },
};

export function agentServers(): ValueType<Servers> {
  return servers(AGENT_FIELDS, ["command"]);
}

export function mcpServers(): ValueType<Servers> {
  return servers(MCP_FIELDS, ["command", "url"]);
}

/** One of `needed` must be there. */
function servers(fields: Readonly<Record<string, Field>>, needed: readonly string[]): ValueType<Servers> {
  const allowed = `servers by name, each with ${needed.join(" or ")}`;
  const properties = Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]));
  const server = {
    type: "object",
    properties,
    anyOf: needed.map((name) => ({ required: [name] })),
    additionalProperties: false,
  };
  return {
    allowed,
    advice: allowed,
    jsonSchema: { type: "object", propertyNames: { pattern: NAME.source }, additionalProperties: server },
    read(given) {
      if (!isRecord(given)) return { complaints: [{ kind: "type", path: [], message: `must be ${allowed}` }] };
      const complaints = Object.entries(given).flatMap(([name, each]) => complaintsAbout(name, each, fields, needed));
      if (complaints.length > 0) return { complaints };
      const value: Record<string, Server> = Object.create(null);
      for (const [name, each] of Object.entries(given)) if (isRecord(each)) value[name] = each;
      return { value };
    },
    show: (value) => (Object.keys(value).length === 0 ? "none" : Object.keys(value).join(", ")),
  };
}

function complaintsAbout(
  name: string,
  given: unknown,
  fields: Readonly<Record<string, Field>>,
  needed: readonly string[],
): Complaint[] {
  if (!NAME.test(name)) {
    return [{ kind: "range", path: [name], message: "must be a name of letters, digits, - and _" }];
  }
  if (!isRecord(given)) return [{ kind: "type", path: [name], message: `must have ${needed.join(" or ")}` }];
  const wrong = Object.entries(given).flatMap(([key, value]): Complaint[] => {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (field === undefined) {
      const meant = nearest(key, Object.keys(fields));
      const fix = meant === undefined ? `known are ${Object.keys(fields).join(", ")}` : `did you mean ${meant}?`;
      return [{ kind: "unknown-key", path: [name, key], message: "is not known", fix }];
    }
    return field.accepts(value) ? [] : [{ kind: "type", path: [name, key], message: `must be ${field.wants}` }];
  });
  if (needed.some((key) => key in given)) return wrong;
  return [...wrong, { kind: "range", path: [name], message: `must have ${needed.join(" or ")}` }];
}

const NAME = /^[A-Za-z0-9][\w-]{0,63}$/;

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isTransport(value: unknown): boolean {
  return value === "stdio" || value === "http" || value === "sse";
}
