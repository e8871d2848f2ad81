/** The things that a person should see before a project is trusted: its files, its agents, and every program it wants to start. */

import { isRecord } from "../../../core/schema.ts";
import type { ReadAgent } from "../agents/file.ts";
import { dialectOf, PROJECT_FOLDERS, placeIn } from "../agents/folders.ts";
import { isPlainReadme } from "../agents/load.ts";
import { readAgentFile } from "../agents/read.ts";
import type { ServerFields } from "../group-types.ts";
import { isFlat, openMcpFile, SERVER_KEYS } from "../mcp-file.ts";
import { normalFields, splitFields, texts, toText } from "../mcp-servers.ts";
import { MAX_CONFIGURATION_BYTES } from "../read-file.ts";
import { spelledOut, variablesIn } from "../to-mcp-servers.ts";
import { readYaml } from "../yaml/document.ts";
import type { ProjectFile, ProjectSnapshot } from "./files.ts";

export type ProjectReview = {
  readonly agents: readonly ReadAgent[];
  /** Programs and addresses, each with the file and the name it stands under. */
  readonly servers: readonly NamedServer[];
};

export type NamedServer = {
  readonly file: string;
  readonly name: string;
  /** The program with its arguments, or the address. Empty when it has neither: then it is not used, and a warning says why. */
  readonly runs: readonly string[];
  /** The folder it wants to start in; undefined is the project. */
  readonly cwd: string | undefined;
  /** The variables and headers that it sets: `npm_config_registry` makes `npx` start another program. */
  readonly sets: readonly { readonly name: string; readonly value: string }[];
  /** The names of the variables that it asks for. */
  readonly variables: readonly string[];
};

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
  return named(path, readYaml(content, { file: path, maxBytes: MAX_CONFIGURATION_BYTES }).value, [
    "mcp_servers",
    "agent_servers",
  ]);
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

function runsOf(server: unknown): readonly string[] {
  const { command, args, url } = usedFields(server);
  return [command, ...texts(args), url].filter((word) => word !== undefined).map(toText);
}

/** The fields as the server is started with them: one that is null counts as not written. */
function usedFields(server: unknown): ServerFields {
  return isRecord(server) ? normalFields(splitFields(server).used) : {};
}

function surroundingsOf(server: unknown): Pick<NamedServer, "cwd" | "sets"> {
  const { cwd, env, headers } = usedFields(server);
  // Each value is shown: `bash -c 'eval "$RUN"'` runs what a variable says, and a header may name another account.
  const sets = [env, headers].flatMap((given) =>
    isRecord(given) ? Object.entries(given).map(([name, value]) => ({ name, value: toText(value) })) : [],
  );
  return { cwd: cwd === undefined ? undefined : toText(cwd), sets };
}

function askedBy(server: unknown): string[] {
  const { env, headers } = usedFields(server);
  return variablesIn([...textsIn(server), ...textsIn([env, headers]).map(spelledOut)]);
}

/** Every text of a server, however deep. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
