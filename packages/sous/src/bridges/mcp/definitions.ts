/** Tools as a server lists them, made safe for models and people: every string of a server is a stranger's. */

import { createHash } from "node:crypto";
import type { Client, StandardSchemaV1 } from "@modelcontextprotocol/client";
import { cleanText, oneLine, shortened } from "../../core/clean-text.ts";
import type { McpServer } from "../../core/configuration.ts";
import { messageOf } from "../../core/errors.ts";
import { matchesGlob } from "../../core/glob.ts";
import { mayMeanMcpTool } from "../../core/mcp-names.ts";
import { isRecord, type JsonSchema } from "../../core/schema.ts";
import { type McpDefinition, toolNameOf } from "./pins.ts";

/** Max characters of a description, and of any text in a schema. */
const MAX_TEXT = 2048;
const MAX_SCHEMA = 64 * 1024;
const MAX_DEPTH = 64;
const MAX_TOOLS = 200;
/** MCP allows 128. */
const MAX_NAME = 256;
/** Max sentences about one server. */
const MAX_NOTES = 20;
const MAX_SHOWN_NAME = 80;

/** Throws for a schema that the runtime could not use. */
export type CheckSchema = (schema: JsonSchema) => void;

export type ReadDefinitions = {
  readonly definitions: readonly McpDefinition[];
  /** One sentence for each tool that was left out. */
  readonly notes: readonly string[];
};

/** The tools that the settings of the server choose, at most 200. What cannot be used is left out by itself. */
function readDefinitions(server: McpServer, listed: readonly unknown[], check: CheckSchema): ReadDefinitions {
  const notes: string[] = [];
  const found = new Map<string, McpDefinition>();
  let tooMany = 0;
  for (const tool of listed) {
    const name = isRecord(tool) ? tool.name : undefined;
    if (typeof name !== "string" || name === "" || name.length > MAX_NAME) {
      notes.push(
        `A tool of the MCP server ${server.name} was left out: its name is missing or longer than ${MAX_NAME} characters`,
      );
    } else if (isChosen(server, name)) {
      if (found.has(name)) notes.push(leftOut(server, name, "another tool of the server has the same name"));
      else if (found.size >= MAX_TOOLS) tooMany += 1;
      else {
        const read = readDefinition(name, tool as Record<string, unknown>, check);
        if (typeof read === "string") notes.push(leftOut(server, name, read));
        else found.set(name, read);
      }
    }
  }
  const rest = Math.max(0, notes.length - MAX_NOTES);
  return {
    definitions: [...found.values()],
    notes: [
      ...notes.slice(0, MAX_NOTES),
      ...(rest === 0 ? [] : [`${rest} more tools of the MCP server ${server.name} were left out`]),
      ...(tooMany === 0 ? [] : [tooManyWords(server, tooMany)]),
    ],
  };
}

/** True for a tool that the settings offer, by the name that the server gives it; they deny it by its name here, too. */
function isChosen({ name: server, tools, deny }: McpServer, name: string): boolean {
  const isOffered = tools === undefined || tools.some((pattern) => matchesGlob(pattern, name));
  const toolName = toolNameOf(server, name);
  const isDenied = (pattern: string): boolean =>
    [pattern, `mcp__${server}__${pattern}`].some((each) => mayMeanMcpTool(each, toolName));
  return isOffered && !deny.some((pattern) => matchesGlob(pattern, name) || isDenied(pattern));
}

function leftOut(server: McpServer, tool: string, why: string): string {
  return `The tool ${shownName(tool)} of the MCP server ${server.name} was left out: ${why}`;
}

function tooManyWords({ name }: McpServer, count: number): string {
  return `The MCP server ${name} has more than ${MAX_TOOLS} tools, ${count} were left out: choose with its setting tools`;
}

/** The name of a tool or server for people. */
export function shownName(name: string): string {
  return shortened(oneLine(name), MAX_SHOWN_NAME);
}

/** A sentence for a tool that cannot be used. */
function readDefinition(
  name: string,
  { description = "", inputSchema = {} }: Record<string, unknown>,
  check: CheckSchema,
): McpDefinition | string {
  if (typeof description !== "string") return "its description is not a text";
  if (!isRecord(inputSchema)) return "its input schema is not an object";
  try {
    const sha256 = hashOf([name, description, sorted(inputSchema)]);
    const schema = cleanSchema(inputSchema);
    check(schema);
    return { name, description: bounded(description), inputSchema: schema, sha256 };
  } catch (error) {
    return `its input schema cannot be used (${shortened(oneLine(messageOf(error)), 200)})`;
  }
}

/** True when the runtime can use a stored definition: another version may have stored it. */
export function usable(definition: McpDefinition, check: CheckSchema): boolean {
  try {
    check(definition.inputSchema);
    return true;
  } catch {
    return false;
  }
}

function bounded(text: string): string {
  return shortened(cleanText(text.slice(0, 2 * MAX_TEXT)), MAX_TEXT);
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

/** Puts the keys of every object in order: a server may write them in another one each time. */
function sorted(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new Error(`it is nested deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) return value.map((each) => sorted(each, depth + 1));
  if (!isRecord(value)) return value;
  const keys = Object.keys(value).toSorted();
  // The pairs are put into an object, so that it is not the same as a list of pairs.
  return { pairs: keys.map((key) => [key, sorted(value[key], depth + 1)]) };
}

function cleanSchema(schema: JsonSchema): JsonSchema {
  const { type = "object", ...rest } = schema;
  if (type !== "object") throw new Error("its type must be object");
  const cleaned = cleanValue({ type, ...rest }) as JsonSchema;
  if (JSON.stringify(cleaned).length > MAX_SCHEMA) throw new Error(`it is larger than ${MAX_SCHEMA / 1024} KB`);
  return cleaned;
}

const FOR_READERS: ReadonlySet<string> = new Set(["description", "title", "$comment"]);

/** Texts for readers are cleaned and cut. Names and values would mean something else then, so they must be clean already. */
function cleanValue(value: unknown): unknown {
  if (typeof value === "string") return checkedText(value);
  if (Array.isArray(value)) return value.map(cleanValue);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, each]): [string, unknown] => {
    const isText = FOR_READERS.has(key) && typeof each === "string";
    return [checkedText(key), isText ? bounded(each) : cleanValue(each)];
  });
  return Object.fromEntries(entries);
}

function checkedText(text: string): string {
  if (text.length > MAX_TEXT) throw new Error(`a name or value in it is longer than ${MAX_TEXT} characters`);
  if (cleanText(text) !== text) throw new Error("a name or value in it holds invisible characters");
  return text;
}

const MAX_PAGES = 64;
/** Max tools that are looked at, over all pages. */
const MAX_LISTED = 20_000;
/** Our own timers end a request; the SDK's would be a second one with the same error. */
export const NO_LIMIT_MS: number = 2 ** 31 - 1;

/** Takes what comes as it is: one field of a wrong type must not cost the whole list. */
export const ANY_RESULT: StandardSchemaV1<unknown, Record<string, unknown>> = {
  "~standard": {
    version: 1,
    vendor: "sous",
    validate: (value) => (isRecord(value) ? { value } : { issues: [{ message: "not an object" }] }),
  },
};

/** The list of tools of a server that is connected, page by page. */
export async function listTools(
  client: Client,
  server: McpServer,
  checkSchema: CheckSchema,
  signal: AbortSignal,
): Promise<ReadDefinitions> {
  if (client.getServerCapabilities()?.tools === undefined) {
    return { definitions: [], notes: [`The MCP server ${server.name} has no tools`] };
  }
  const found: unknown[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: "tools/list", params }, ANY_RESULT, { signal, timeout: NO_LIMIT_MS });
    if (!Array.isArray(page.tools)) throw new Error("its answer to tools/list is not a list of tools");
    for (const tool of page.tools.slice(0, MAX_LISTED - found.length)) found.push(tool);
    cursor = typeof page.nextCursor === "string" && page.nextCursor !== "" ? page.nextCursor : undefined;
    pages += 1;
  } while (cursor !== undefined && pages < MAX_PAGES && found.length < MAX_LISTED);
  const { definitions, notes } = readDefinitions(server, found, checkSchema);
  if (cursor === undefined) return { definitions, notes };
  return {
    definitions,
    notes: [...notes, `The MCP server ${server.name} lists tools without end: the rest was left out`],
  };
}
