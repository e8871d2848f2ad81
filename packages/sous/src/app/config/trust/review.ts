/** The things that a person should see before a project is trusted: its files, its agents, and every program it wants to start. */

import { isRecord } from "../../../core/schema.ts";
import type { ReadAgent } from "../agents/file.ts";
import { dialectOf, PROJECT_FOLDERS, placeIn } from "../agents/folders.ts";
import { isPlainReadme } from "../agents/load.ts";
import { readAgentFile } from "../agents/read.ts";
import { isFlat, openMcpFile, SERVER_KEYS } from "../mcp-file.ts";
import { normalFields } from "../mcp-servers.ts";
import { spelledOut, variablesIn } from "../to-mcp-servers.ts";
import { readYaml } from "../yaml/document.ts";
import type { ProjectFile, ProjectSnapshot } from "./files.ts";

export type ProjectReview = {
  readonly agents: readonly ReadAgent[];
  /** Programs and addresses, each with the file and the name it stands under. */
  readonly servers: readonly NamedServer[];
};

type NamedServer = {
  readonly file: string;
  readonly name: string;
  readonly runs: string;
  /** The folder it wants to start in; undefined is the project. */
  readonly cwd: string | undefined;
  /** The names of the variables and headers that it sets: `npm_config_registry` makes `npx` start another program. */
  readonly sets: readonly string[];
  /** The names of the variables that it asks for. */
  readonly variables: readonly string[];
};

const MAX_YAML = 1024 * 1024;

/** Reviews the snapshot and nothing else: what is shown is what is trusted. */
export function reviewProject({ files }: ProjectSnapshot): ProjectReview {
  return { agents: files.flatMap(readAgent), servers: files.flatMap(serversOf) };
}

function readAgent({ path, content }: ProjectFile): ReadAgent[] {
  const folder = PROJECT_FOLDERS.find((each) => path.startsWith(`${each}/`));
  const place = folder === undefined ? undefined : placeIn(dialectOf(folder), path.slice(folder.length + 1));
  if (content === undefined || place === undefined || isPlainReadme(path, content)) return [];
  return [readAgentFile({ ...place, file: path, text: content, scope: "project" })];
}

function serversOf({ path, content }: ProjectFile): ProjectReview["servers"] {
  if (content === undefined) return [];
  if (path === ".mcp.json") {
    const { value } = openMcpFile(content, path);
    return named(path, isFlat(value) ? { mcpServers: value } : value, SERVER_KEYS);
  }
  if (path !== ".sous/config.yaml") return [];
  return named(path, readYaml(content, { file: path, maxBytes: MAX_YAML }).value, ["mcp_servers", "agent_servers"]);
}

function named(file: string, value: unknown, keys: readonly string[]): ProjectReview["servers"] {
  if (!isRecord(value)) return [];
  return keys.flatMap((key) => {
    const servers = Object.hasOwn(value, key) ? value[key] : undefined;
    if (!isRecord(servers)) return [];
    return Object.entries(servers).map(([name, server]) => ({
      ...{ file, name, runs: runsOf(server), ...surroundingsOf(server) },
      variables: askedBy(server),
    }));
  });
}

/** Leaves out the values of variables and headers, which may be keys. */
function runsOf(server: unknown): string {
  if (!isRecord(server)) return NOTHING;
  const { command, args, url } = normalFields(server);
  const words = [command, ...(Array.isArray(args) ? args : []), ...(command === undefined ? [url] : [])];
  // Blanks would push what follows out of sight.
  const line = words
    .filter((word) => word !== undefined)
    .map(String)
    .join(" ")
    .replace(/\s+/g, " ");
  return line === "" ? NOTHING : line;
}

/** It is not used then, and a warning says why. */
const NOTHING = "no command and no url";

function surroundingsOf(server: unknown): Pick<NamedServer, "cwd" | "sets"> {
  const { cwd, env, headers } = isRecord(server) ? normalFields(server) : {};
  const names = [env, headers].flatMap((each) => (isRecord(each) ? Object.keys(each) : []));
  return { cwd: cwd === undefined ? undefined : String(cwd), sets: names };
}

function askedBy(server: unknown): string[] {
  const { env, headers } = isRecord(server) ? normalFields(server) : {};
  return variablesIn([...textsIn(server), ...textsIn([env, headers]).map(spelledOut)]);
}

/** Every text of a server, however deep. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
