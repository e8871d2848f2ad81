/** `.mcp.json` of a project: servers as other programs write them. A mistake in it is told, and costs only the server it is in. */

import { isRecord } from "../../core/schema.ts";
import type { ServerFields } from "./group-types.ts";
import type { Layer, LayerEntry } from "./layer.ts";
import { hasTransport, MAX_SERVERS, meantField, splitFields } from "./mcp-servers.ts";
import { decodeUtf8, MAX_CONFIGURATION_BYTES } from "./read-file.ts";
import { SETTINGS } from "./settings.ts";
import { readValue } from "./value-type.ts";
import { readYaml, type YamlDocument } from "./yaml/document.ts";

type McpFile = { readonly layer: Layer | undefined; readonly warnings: readonly string[] };

/** The keys that Claude Code and Cursor use, and the one of VS Code. */
export const SERVER_KEYS = ["mcpServers", "servers"] as const;

/** True when its servers stand at the top, as in many plugins of Claude Code. */
export function isFlat(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isRecord(value) || SERVER_KEYS.some((key) => Object.hasOwn(value, key))) return false;
  const servers = Object.values(value);
  return servers.length > 0 && servers.every((server) => isRecord(server) && hasTransport(server));
}

/** `file` is how it is named to people. */
export function readMcpFile(bytes: Uint8Array, file: string): McpFile {
  const document = openMcpFile(bytes, file);
  const [wrong] = document.problems;
  if (wrong !== undefined)
    return nothing(`${file}:${wrong.line}: none of its servers is used: ${wrong.message}; ${wrong.fix}`);
  const { value } = document;
  const key = SERVER_KEYS.find((each) => isRecord(value) && Object.hasOwn(value, each));
  if (value === null || (isRecord(value) && Object.keys(value).length === 0)) return { layer: undefined, warnings: [] };
  const servers = isFlat(value) ? value : isRecord(value) && key !== undefined ? value[key] : undefined;
  if (!isRecord(servers))
    return nothing(`${file}: none of its servers is used: it must have servers by name below mcpServers`);
  const warnings: string[] = [];
  const above = key === undefined ? [] : [key];
  const lineOf = (path: readonly (string | number)[]) => `${file}:${document.at([...above, ...path], "key").line}`;
  const given = goodServers(servers, { file, lineOf, warnings });
  const entry: LayerEntry = {
    given,
    origin: (path = []) => ({ layer: "project", where: lineOf(path) }),
    location: (path, part) => ({ kind: "file", file, ...document.at([...above, ...path], part), source: [] }),
  };
  return { layer: { name: "project", entries: new Map([["mcp_servers", entry]]) }, warnings };
}

function nothing(warning: string): McpFile {
  return { layer: undefined, warnings: [warning] };
}

type Told = {
  readonly file: string;
  lineOf(path: readonly (string | number)[]): string;
  readonly warnings: string[];
};

/** Keeps the servers that can be used, with the fields that mean something here. */
function goodServers(servers: Readonly<Record<string, unknown>>, told: Told): Record<string, ServerFields> {
  const good: Record<string, ServerFields> = Object.create(null);
  const unused = new Set<string>();
  const all = Object.entries(servers);
  if (all.length > MAX_SERVERS)
    told.warnings.push(`${told.file}: it has ${all.length} servers: only the first ${MAX_SERVERS} are used`);
  for (const [name, server] of all.slice(0, MAX_SERVERS)) {
    const fields = isRecord(server) ? splitFields(server) : undefined;
    for (const field of fields?.unused ?? []) {
      const meant = meantField(field);
      unused.add(meant === undefined ? field : `${field} (did you mean ${meant}?)`);
    }
    // Each server is read together with those before it: two may have one short name.
    const tried = readValue(SETTINGS.mcp_servers.type, { ...good, [name]: fields?.used ?? server });
    if ("value" in tried) good[name] = fields?.used ?? {};
    else {
      const [first] = tried.complaints;
      const path = (first?.path ?? [name]).join(".");
      const { message = "", fix: advice } = first ?? {};
      // Some advice only repeats what must be there.
      const fix = advice === undefined || message.endsWith(advice.replace(/^(?:give|add) /, "")) ? "" : `; ${advice}`;
      told.warnings.push(
        `${told.lineOf(first?.path ?? [name])}: the MCP server ${name.slice(0, 100)} is not used: ${path.slice(0, 200)} ${message}${fix}`,
      );
    }
  }
  if (unused.size > 0)
    told.warnings.push(`${told.file}: ${[...unused].slice(0, MAX_NAMED).join(", ").slice(0, 300)}: no effect in sous`);
  return good;
}

const MAX_NAMED = 20;

/** JSON is YAML but for its comments and its tabs. */
export function openMcpFile(bytes: Uint8Array, file: string): YamlDocument {
  const text = decodeUtf8(bytes);
  return readYaml(text === undefined ? bytes : plainJson(text), { file, maxBytes: MAX_CONFIGURATION_BYTES });
}

/** Blanks in place of comments and tabs, so that every position stays what it was. */
function plainJson(text: string): string {
  const parts: string[] = [];
  let at = 0;
  while (at < text.length) {
    const end = pieceEnd(text, at);
    const piece = text.slice(at, end);
    const isBlank = piece === "\t" || piece.startsWith("//") || piece.startsWith("/*");
    parts.push(isBlank ? piece.replace(/[^\n\r]/g, " ") : piece);
    at = end;
  }
  return parts.join("");
}

/** The end of the string, the comment, the tab or the rest between them that begins here. */
function pieceEnd(text: string, start: number): number {
  if (text[start] === '"') return stringEnd(text, start);
  if (text[start] === "\t") return start + 1;
  if (text.startsWith("//", start)) return ends(text.indexOf("\n", start), text);
  // One that is not closed is a comment to the end.
  if (text.startsWith("/*", start)) return ends(text.indexOf("*/", start + 2), text, 2);
  let end = start + 1;
  while (end < text.length && !STARTS.has(text[end] ?? "")) end += 1;
  return end;
}

const STARTS = new Set(['"', "\t", "/"]);

function ends(found: number, text: string, length = 0): number {
  return found === -1 ? text.length : found + length;
}

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}
