/** MCP servers as the files say them, with their variables filled in: what sous can start or reach. */

import { realpathSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { MCP_TIMEOUTS, type McpServer, type McpTransport } from "../core/configuration.ts";
import { orUndefined } from "../core/errors.ts";
import { mcpServerPart } from "../core/mcp-names.ts";
import { isRecord } from "../core/schema.ts";
import { loadsCode } from "../core/variables.ts";
import type { ServerFields } from "./group-types.ts";
import { normalFields, splitFields, texts, toMs } from "./mcp-servers.ts";
import { createFiller, type Filler, readableInProject, spelledOut } from "./mcp-variables.ts";
import type { ResolvedServer, ServerRules } from "./resolve-settings.ts";
import { inHome, placeOf, type StartPlace, type Surroundings, startFolder } from "./start-folder.ts";

/**
 * A project chooses the command, so it may choose its literal variables and headers, too. Its `GitHub` must not pass for the
 * `github` of the user, nor its `my-docs` for `my_docs`.
 */
export const MCP_SERVER_RULES: ServerRules = {
  shortName: (name) => mcpServerPart(name).toLowerCase().replaceAll("-", "_"),
  usersFields: [],
};

/** All of them; one that cannot be started as it is written is disabled, and a warning says why. */
export function toMcpServers(
  servers: readonly ResolvedServer[],
  /** `readable` is the setting `mcp_variables`. */
  ground: Surroundings & { readonly readable: readonly string[] },
  warnings: string[],
): Readonly<Record<string, McpServer>> {
  const readable = readableInProject(ground.readable);
  const made = servers.map((given): McpServer => {
    const { name, server, origin, isProject } = given;
    const place = placeOf(isProject, ground);
    const filler = createFiller({
      env: ground.env,
      readable: isProject ? readable : undefined,
      folder: place.folder,
    });
    const made = toMcpServer(given, place, filler);
    // What is switched off is not read by anyone.
    if (isOff(normalFields(server))) return made;
    warnings.push(...notesOf(server).map((note) => `${origin}: mcp_servers: ${name}${note}`));
    if (made.problem !== undefined) warnings.push(startWarning(made));
    return made;
  });
  return Object.fromEntries(made.map((server) => [server.name, server]));
}

/** For a server that has a problem. */
export function startWarning({ name, origin, problem }: McpServer): string {
  return `${origin}: the MCP server ${name} is not started: ${problem}`;
}

/** What is written and has no effect. */
function notesOf(server: ServerFields): string[] {
  const { unused } = splitFields(server);
  const { env } = normalFields(server);
  const loading = isRecord(env) ? Object.keys(env).filter(loadsCode) : [];
  return [
    ...(unused.length === 0 ? [] : [`: ${unused.join(", ")}: no effect in sous`]),
    ...loading.map((name) => `.env.${name} is ignored: it makes programs load other code`),
  ];
}

function toMcpServer(
  { name, server, origin, isProject }: ResolvedServer,
  place: StartPlace,
  filler: Filler,
): McpServer {
  const fields = normalFields(server);
  const { transport, problem: wrong } =
    typeof fields.command === "string" ? startedBy(fields, place, filler) : reachedBy(fields, filler);
  const [missing] = filler.missing;
  const problem = missing ?? wrong;
  return {
    name,
    transport,
    startTimeoutMs: toMs(fields.start_timeout) ?? MCP_TIMEOUTS.startTimeoutMs,
    callTimeoutMs: toMs(fields.timeout) ?? MCP_TIMEOUTS.callTimeoutMs,
    tools: fields.tools === undefined ? undefined : texts(fields.tools),
    deny: texts(fields.deny),
    agents: fields.agents === undefined ? undefined : texts(fields.agents),
    isDisabled: isOff(fields) || problem !== undefined,
    ...(problem === undefined ? {} : { problem }),
    scope: isProject ? "project" : "user",
    origin,
  };
}

function isOff({ disabled, enabled }: ServerFields): boolean {
  return disabled === true || enabled === false;
}

type Made = { readonly transport: McpTransport; readonly problem: string | undefined };

function startedBy(fields: ServerFields, place: StartPlace, { fill }: Filler): Made {
  const { folder, isProject, home } = place;
  const command = inHome(fill(String(fields.command)), home);
  const isRelative = command.includes("/") && !isAbsolute(command);
  const cwd = startFolder(fields.cwd === undefined ? undefined : fill(String(fields.cwd)), place);
  const env = Object.entries(filled(fields.env, fill)).filter(([name]) => !loadsCode(name));
  const transport: McpTransport = {
    type: "stdio",
    // A project's programs are in it; elsewhere a path without a beginning would be another program in every folder.
    command: isRelative && isProject ? resolve(folder, command) : command,
    args: texts(fields.args).map(fill),
    env: Object.fromEntries(env),
    cwd,
  };
  const leaves = isProject && !isInside(realOf(cwd), realOf(folder));
  return { transport, problem: leaves ? "its cwd is outside of the project" : undefined };
}

/** Where links lead; what is not there leads nowhere. */
function realOf(path: string): string {
  return orUndefined(() => realpathSync(path)) ?? path;
}

function isInside(path: string, folder: string): boolean {
  const inside = relative(folder, path);
  return inside !== ".." && !inside.startsWith("../") && !isAbsolute(inside);
}

/** What is sent is never part of a sentence: it may be a key. */
function reachedBy(fields: ServerFields, { fill }: Filler): Made {
  const url = fill(String(fields.url));
  const headers = filled(fields.headers, fill);
  const type = fields.type === "sse" ? "sse" : "http";
  const wrong = Object.keys(headers).find((name) => !HEADER.test(name) || UNSENDABLE.test(headers[name] ?? ""));
  const problem =
    complainOfAddress(url) ??
    (wrong === undefined ? undefined : `its header ${wrong} has characters that a header cannot have`);
  return { transport: { type, url, headers }, problem };
}

function complainOfAddress(url: string): string | undefined {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return "its url must begin with http:// or https://";
  return parsed.username === "" && parsed.password === ""
    ? undefined
    : "its url has a name or a password in it; write them into headers";
}

const HEADER = /^[\w!#$%&'*+.^`|~-]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a line break would begin another header.
const UNSENDABLE = /[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/;

function filled(value: unknown, fill: Filler["fill"]): Record<string, string> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, fill(spelledOut(String(text)))]));
}
