/** MCP servers as the files say them, with their variables filled in: what sous can start or reach. */

import { realpathSync } from "node:fs";
import { basename, isAbsolute, relative, resolve } from "node:path";
import { MCP_TIMEOUTS, type McpServer, type McpTransport } from "../../core/configuration.ts";
import { orUndefined } from "../../core/errors.ts";
import { mcpServerPart } from "../../core/mcp-names.ts";
import { loadsCode, PASSED_ON, type Variables } from "../../core/process.ts";
import { isRecord } from "../../core/schema.ts";
import type { ServerFields } from "./group-types.ts";
import { normalFields, splitFields, texts, toMs } from "./mcp-servers.ts";
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
  // Few, so that a server of a project cannot send keys away.
  const readable = new Set([...EVERYBODYS, ...ground.readable]);
  const made = servers.map((given): McpServer => {
    const { name, server, origin, isProject } = given;
    const place = placeOf(isProject, ground);
    const source = { env: ground.env, readable: isProject ? readable : undefined, folder: place.folder };
    const made = toMcpServer(given, place, createFiller(source));
    // A server that is switched off is not read.
    if (isOff(normalFields(server))) return made;
    warnings.push(...notesOf(server).map((note) => `${origin}: mcp_servers: ${name}${note}`));
    if (made.problem !== undefined) warnings.push(startWarning(made));
    return made;
  });
  return Object.fromEntries(made.map((server) => [server.name, server]));
}

/** Makes the warning for a server that has a problem. */
export function startWarning({ name, origin, problem }: McpServer): string {
  return `${origin}: the MCP server ${name} is not started: ${problem}`;
}

/** Notes on fields that are written and have no effect. */
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

/** The path behind links; a path that does not exist stays as it is. */
function realOf(path: string): string {
  return orUndefined(() => realpathSync(path)) ?? path;
}

function isInside(path: string, folder: string): boolean {
  const inside = relative(folder, path);
  return inside !== ".." && !inside.startsWith("../") && !isAbsolute(inside);
}

/** A header that is sent is never part of a sentence: it may be a key. */
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

/** The variables that are filled in, and what the folders of editors stand for. */
type VariableSource = {
  readonly env: Variables;
  /** The names that may be read; undefined is all. */
  readonly readable: ReadonlySet<string> | undefined;
  /** The folder that `${workspaceFolder}` stands for. */
  readonly folder: string;
};

/** Fills in texts, and collects what is missing: one sentence each. */
type Filler = { fill(text: string): string; readonly missing: ReadonlySet<string> };

/** Every program that is started gets these anyway. */
const EVERYBODYS: readonly string[] = [...PASSED_ON, "HOME", "PATH", "SHELL"];

/**
 * The forms of Claude Code, of VS Code and Cursor (`${env:NAME}`, `${workspaceFolder}`, `${userHome}`, `${/}`, `${input:x}`), and of
 * opencode (`{env:NAME}`).
 */
const REFERENCE =
  /(?:\$\{(?:env:)?|\{env:)([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}|\$\{(input:[^{}]{0,100})\}|\$\{(env:[^{}]{0,100})\}|\$\{(\/)\}/g;

/** gemini-cli also takes `$NAME`. In commands it is for a shell; a value of env or of a header that is nothing else is a variable. */
export function spelledOut(value: string): string {
  return value.replace(
    /^((?:[A-Za-z]+ )?)\$([A-Za-z_][A-Za-z0-9_]*)$/,
    (_, before: string, name: string) => `${before}\${${name}}`,
  );
}

/** Names that stand for a folder. */
const FOLDERS: Readonly<Record<string, (folder: string) => string>> = {
  workspaceFolder: (folder) => folder,
  CLAUDE_PROJECT_DIR: (folder) => folder,
  workspaceFolderBasename: (folder) => basename(folder),
  pathSeparator: () => "/",
};

function createFiller({ env, readable, folder }: VariableSource): Filler {
  const missing = new Set<string>();
  const lookUp = (name: string, fallback: string | undefined): string => {
    const asFolder = Object.hasOwn(FOLDERS, name) ? FOLDERS[name] : undefined;
    if (asFolder !== undefined) return asFolder(folder);
    const own = name === "userHome" ? "HOME" : name;
    const mayRead = readable?.has(own) ?? true;
    const value = mayRead ? env[own] : undefined;
    if (value !== undefined && (value !== "" || fallback === undefined)) return value;
    if (fallback !== undefined) return fallback;
    missing.add(
      mayRead
        ? `set the variable ${own}`
        : `a project gets the variable ${own} only when mcp_variables of your own configuration lists it`,
    );
    return "";
  };
  return {
    missing,
    fill: (text) =>
      text.replace(REFERENCE, (_, name?: string, fallback?: string, input?: string, other?: string, slash?: string) => {
        if (name !== undefined) return lookUp(name, fallback);
        if (slash !== undefined) return slash;
        missing.add(`write a variable instead of \${${input ?? other}}, which sous cannot fill in`);
        return "";
      }),
  };
}

/** The names of variables in these texts, those left out that every program gets. For people. */
export function variablesIn(texts: readonly string[]): string[] {
  const names = texts.flatMap((text) => [...text.matchAll(REFERENCE)].map(([, name, , input]) => name ?? input ?? ""));
  const known = new Set(["", ...EVERYBODYS, "userHome", ...Object.keys(FOLDERS)]);
  return [...new Set(names.filter((name) => !known.has(name)))];
}
