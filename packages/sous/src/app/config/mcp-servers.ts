/** `mcp_servers`: servers of tools as Claude Code, Cursor, VS Code, gemini-cli and opencode write them, with a few fields of ours. */

import * as z from "zod";
import { MCP_SERVER_NAME, mcpServerPart } from "../../core/mcp-names.ts";
import { nearest } from "../../core/nearest.ts";
import { isRecord } from "../../core/schema.ts";
import {
  BY_NAME_ADVICE,
  complaintsAbout,
  type Fields,
  field,
  groupsOf,
  LIST_ADVICE,
  type ServerFields,
  TEXT,
  TEXTS,
  uniqueNames,
} from "./group-types.ts";
import { DURATION_PATTERN, parseDuration } from "./parse-amounts.ts";
import { type Complaint, described, flag, jsonSchemaOf, type Read, readBy } from "./value-type.ts";

export const MCP_SERVERS_ABOUT =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write.
  "Servers of tools that speak MCP, by name, as in .mcp.json: command, args, env and cwd, or url and headers; type (stdio, http, sse). Of ours: tools and deny (names of its tools, * allowed), agents (only these get its tools; sous is the root), timeout of a call (2m), start_timeout (30s), disabled. ${NAME} and ${NAME:-x} stand for variables.";
export const MCP_VARIABLES_ABOUT =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write.
  "Variables that a project's MCP servers may read as ${NAME}. Without it, a project reads only HOME, PATH, USER and the like.";

const DAY_MS = 86_400_000;
/** Each is a program: more are a mistake, or an attack on the machine. */
export const MAX_SERVERS = 100;

/** Types that start a program. */
const STDIO = ["stdio", "local"];
const HTTP = ["http", "streamable-http", "streamableHttp", "streamable_http", "remote"];
const TYPES: readonly unknown[] = [...STDIO, ...HTTP, "sse"];

/** opencode writes the program and its arguments as one list. */
const COMMAND = described(
  readBy(z.unknown(), (value): Read<unknown> => {
    const isList = Array.isArray(value) && value.length > 0 && value[0] !== "";
    const complaints = complaintsAbout(isList ? TEXTS : TEXT, value);
    return complaints.length > 0 ? { complaints } : { value };
  }),
  {
    allowed: "a text",
    advice: "a text",
    schema: () => ({ anyOf: [jsonSchemaOf(TEXT), { ...jsonSchemaOf(TEXTS), minItems: 1 }] }),
  },
);

/** People write `PORT: 3000`. A number that has lost digits would be another text. */
const SCALAR = { type: ["string", "number", "boolean"] };
const isScalar = (value: unknown): boolean =>
  typeof value === "string" ||
  typeof value === "boolean" ||
  (typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER);
const ARGUMENTS = field(
  { type: "array", items: SCALAR },
  "a list of texts",
  (value) => Array.isArray(value) && value.every(isScalar),
  LIST_ADVICE,
);
const SCALARS_BY_NAME = field(
  { type: "object", additionalProperties: SCALAR },
  "names with texts",
  (value) => isRecord(value) && Object.values(value).every(isScalar),
  BY_NAME_ADVICE,
);

const IN_A_DAY = "must be more than 0 and at most 24h";
const LIMIT = described(
  z.preprocess(
    (value) => Math.min(toMs(value) ?? Number.NaN, Number.MAX_VALUE),
    z.number("must be a time such as 90s or 5m").gt(0, IN_A_DAY).max(DAY_MS, IN_A_DAY),
  ),
  {
    allowed: "up to 24h",
    advice: "a time such as 90s or 5m",
    schema: () => ({ type: ["number", "string"], exclusiveMinimum: 0, pattern: DURATION_PATTERN.source }),
  },
);

/**
 * A number means milliseconds to Claude Code, gemini-cli and opencode, and seconds to us, Cline and Roo. No call is meant to end
 * within a second, so less than 1000 are seconds.
 */
export function toMs(value: unknown): number | undefined {
  if (typeof value === "string") return parseDuration(value);
  if (typeof value !== "number" || Number.isNaN(value)) return undefined;
  return value < 1000 ? value * 1000 : value;
}

const OURS: Fields = {
  command: COMMAND,
  args: ARGUMENTS,
  env: SCALARS_BY_NAME,
  cwd: TEXT,
  url: TEXT,
  headers: SCALARS_BY_NAME,
  type: field({ enum: TYPES }, "stdio, http or sse", (value) => TYPES.includes(value)),
  timeout: LIMIT,
  start_timeout: LIMIT,
  disabled: flag(),
  tools: TEXTS,
  deny: TEXTS,
  agents: TEXTS,
};

/** The names that others use for the same fields. */
const ALIASES: Readonly<Record<string, string>> = {
  environment: "env",
  httpUrl: "url",
  serverUrl: "url",
  http_headers: "headers",
  transport: "type",
  transportType: "type",
  includeTools: "tools",
  enabledTools: "tools",
  allowedTools: "tools",
  enabled_tools: "tools",
  excludeTools: "deny",
  disabledTools: "deny",
  disabled_tools: "deny",
};

/** Times of codex, which are seconds and say so. */
const SECONDS: Readonly<Record<string, "timeout" | "start_timeout">> = {
  tool_timeout_sec: "timeout",
  startup_timeout_sec: "start_timeout",
};
const IN_SECONDS = field(
  { type: "number", exclusiveMinimum: 0, maximum: DAY_MS / 1000 },
  "a number of seconds, at most those of a day",
  (value) => typeof value === "number" && value > 0 && value <= DAY_MS / 1000,
);

/** Texts for people. Some are notes, whose names begin with a sign. */
const FOR_PEOPLE: readonly string[] = ["description", "gallery", "name", "title", "version"];
const isForPeople = (name: string): boolean => FOR_PEOPLE.includes(name) || /^[_$/#]/.test(name);

/** Fields of other programs that mean nothing here. Those that allow calls there allow none here. */
const WITHOUT_EFFECT: readonly string[] = [
  ...FOR_PEOPLE,
  ...["alwaysAllow", "alwaysLoad", "autoApprove", "auth", "authProviderType", "dev", "envFile"],
  ...["headersHelper", "oauth", "sandbox", "sandboxEnabled", "trust"],
];

const FIELDS: Fields = {
  ...OURS,
  enabled: flag(),
  ...Object.fromEntries(Object.entries(ALIASES).map(([name, ours]) => [name, OURS[ours] ?? TEXT])),
  ...Object.fromEntries(Object.keys(SECONDS).map((name) => [name, IN_SECONDS])),
  ...Object.fromEntries(WITHOUT_EFFECT.map((name) => [name, field({}, "anything", () => true)])),
};

/** The field that an unknown one was probably meant to be. */
export function meantField(name: string): string | undefined {
  return WITHOUT_EFFECT.includes(name) ? undefined : nearest(name, Object.keys(OURS));
}

/** The fields of a server in a file: those that change something here, and the others that would elsewhere. Null is how some programs write nothing. */
export function splitFields(server: ServerFields): { readonly used: ServerFields; readonly unused: readonly string[] } {
  const isUsed = (name: string): boolean => Object.hasOwn(FIELDS, name) && !WITHOUT_EFFECT.includes(name);
  return {
    used: Object.fromEntries(Object.entries(server).filter(([name, value]) => isUsed(name) && value !== null)),
    unused: Object.keys(server).filter((name) => !isUsed(name) && !isForPeople(name)),
  };
}

const ADDRESSES = ["url", ...Object.keys(ALIASES).filter((name) => ALIASES[name] === "url")];

/** True when it says how the server is started or reached. */
export function hasTransport(server: ServerFields): boolean {
  return ["command", ...ADDRESSES].some((name) => Object.hasOwn(server, name));
}

export function mcpServers() {
  const allowed = "servers by name, each with command or url";
  return groupsOf({
    allowed,
    advice: allowed,
    most: MAX_SERVERS,
    name: MCP_SERVER_NAME,
    fields: FIELDS,
    needed: {
      oneOf: ["command", "url"],
      or: {
        schema: { anyOf: ADDRESSES.slice(1).map((name) => ({ required: [name] })) },
        accepts: (given) => ADDRESSES.some((name) => Object.hasOwn(given, name)),
      },
    },
    // Names of tools have the part of the server in them, so it must lead to one server.
    complainOfNames: uniqueNames(mcpServerPart, (part) => `tools of both would be mcp__${part}__…`),
    complainOfGroup: complainOfTransport,
    toValue: (given): ServerFields => given,
  });
}

function complainOfTransport(name: string, server: ServerFields): Complaint[] {
  const { command, url, type } = normalFields(server);
  const complain = (message: string, fix: string): Complaint[] => [{ kind: "range", path: [name], message, fix }];
  if (command !== undefined && url !== undefined)
    return complain(
      "has command and url, and may have only one of them",
      "remove url to start the program, or command to use the address",
    );
  if (STDIO.some((each) => each === type) && command === undefined)
    return complain(`has the type ${type} and no command`, "write command, or type: http");
  if (typeof type === "string" && !STDIO.includes(type) && url === undefined)
    return complain(`has the type ${type} and no url`, "write url, or type: stdio");
  return [];
}

/** The fields by our names. What denies adds up; of other fields that are there twice, ours holds. */
export function normalFields(server: ServerFields): ServerFields {
  const fields: Record<string, unknown> = { ...server };
  for (const [name, ours] of Object.entries(ALIASES)) {
    if (!Object.hasOwn(server, name)) continue;
    if (ours === "deny") fields.deny = [...texts(fields.deny), ...texts(server[name])];
    else fields[ours] ??= server[name];
  }
  for (const [name, ours] of Object.entries(SECONDS))
    if (Object.hasOwn(server, name)) fields[ours] ??= `${server[name]}s`;
  const { command } = fields;
  if (!Array.isArray(command)) return fields;
  return { ...fields, command: command[0], args: [...command.slice(1), ...texts(fields.args)] };
}

export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(toText) : [];
}

/** A list or an object has no text of its own: it is a mistake in the file, and shown as JSON. */
export function toText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
