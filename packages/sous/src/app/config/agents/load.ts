/** Finds the agent files of the user and of a trusted project, reads them, and decides which file a name belongs to. */

import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, join, posix } from "node:path";
import { visibleText } from "../../../core/clean-text.ts";
import { messageOf } from "../../../core/errors.ts";
import { readRegular } from "../../../machine/private-file.ts";
import { MAX_AGENT_BYTES } from "../read-file.ts";
import { NOTES_NAMES, type ProjectFile, realInside } from "../trust/files.ts";
import type { AgentFile, AgentProblem, AgentScope, AgentSource } from "./file.ts";
import { type AgentFolder, type AgentPlace, dialectOf, PROJECT_FOLDERS, placeIn } from "./folders.ts";

type AgentFolders = Pick<AgentSource, "checkRule" | "servers" | "mcpServers" | "ignoreHooks"> & {
  /** The folders of the user, in the order in which they win. A path is a folder that need not be there; its name says its dialect. */
  readonly userFolders: readonly (string | AgentFolder)[];
  /** The files of a trusted project, as they were compared: none of them is opened here. */
  readonly projectFiles: readonly ProjectFile[];
};

export type LoadedAgents = { readonly agents: readonly AgentFile[]; readonly problems: readonly AgentProblem[] };

/** Each agent is offered to models, and more than this are no help to them. */
const MAX_FILES = 500;
/** Folders below a folder of agents. */
const MAX_DEPTH = 16;

/** Never throws. The user's agents win over the project's, and within each ours over those of other programs. */
export async function loadAgentFiles(folders: AgentFolders): Promise<LoadedAgents> {
  const { checkRule, servers, mcpServers, ignoreHooks } = folders;
  const problems: AgentProblem[] = [];
  const found = await findAll(folders, problems);
  for (const { file } of found.slice(MAX_FILES, MAX_FILES + 1))
    problems.push(
      about(file, `there are more than ${MAX_FILES} agent files: this one and those behind it are not read`),
    );
  if (found.length === 0) return { agents: [], problems };
  // The module brings a reader of YAML, which takes long to load.
  const { readAgentFile } = await import("./read.ts");
  const agents = new Map<string, AgentFile>();
  for (const source of found.slice(0, MAX_FILES)) {
    const text = await source.read();
    if (typeof text === "string") problems.push(about(source.file, `the file cannot be read: ${text}`, "error"));
    if (typeof text === "string" || isPlainReadme(source.file, text)) continue;
    const read = readAgentFile({ ...source, text, checkRule, servers, mcpServers, ignoreHooks });
    problems.push(...read.problems);
    if (read.agent === undefined) continue;
    const winner = agents.get(read.agent.name);
    if (winner === undefined) agents.set(read.agent.name, read.agent);
    else {
      const message = `${winner.file} has an agent ${winner.name} already: this one is not used`;
      problems.push({ ...about(source.file, message), code: "SOUS-A008" });
    }
  }
  return { agents: [...agents.values()], problems };
}

type Found = AgentPlace & { file: string; scope: AgentScope; read: () => Promise<Buffer | string> };

async function findAll({ userFolders, projectFiles }: AgentFolders, problems: AgentProblem[]): Promise<Found[]> {
  const found: Found[] = [];
  const seen = new Set<string>();
  for (const each of userFolders) {
    const folder = typeof each === "string" ? { path: each, dialect: dialectOf(each) } : each;
    const real = await realpath(folder.path).catch(() => undefined);
    if (real === undefined && typeof each !== "string")
      problems.push(about(folder.path, "the folder is not there, or cannot be read"));
    if (real === undefined || seen.has(real)) continue;
    seen.add(real);
    found.push(...(await findAgentFiles(folder, problems)));
  }
  for (const folder of PROJECT_FOLDERS) found.push(...findInProject(folder, projectFiles, problems));
  return found;
}

/** The agent files of one folder of the user, in the order of their paths. */
export async function findAgentFiles(
  { path: folder, dialect }: AgentFolder,
  problems: AgentProblem[],
): Promise<Found[]> {
  const found: Found[] = [];
  await look([]);
  return found;

  async function look(above: readonly string[]): Promise<void> {
    const entries = await readdir(join(folder, ...above), { withFileTypes: true }).catch((): Dirent[] => []);
    for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1)))
      await add(entry, [...above, entry.name]);
  }

  async function add(entry: Dirent, parts: readonly string[]): Promise<void> {
    const file = join(folder, ...parts);
    if (entry.isDirectory()) {
      // The kind that a file in it would have decides whether it is looked at.
      if (placeIn(dialect, [...parts, "any.md"].join("/")) === undefined) return;
      if (parts.length > MAX_DEPTH)
        problems.push(about(file, `it lies deeper than ${MAX_DEPTH} folders: it is not read`));
      else await look(parts);
      return;
    }
    const place = placeIn(dialect, parts.join("/"));
    if (place === undefined) {
      if (entry.isSymbolicLink() && (await isFolder(file))) problems.push(about(file, LINKED_FOLDER));
      return;
    }
    const real = await realInside(file, folder);
    if (real === undefined) problems.push(about(file, LEADS_OUT));
    else found.push({ ...place, file, scope: "user", read: () => readRegular(real, MAX_AGENT_BYTES).catch(messageOf) });
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function findInProject(folder: string, files: readonly ProjectFile[], problems: AgentProblem[]): Found[] {
  // Links were not followed when the project was trusted.
  if (files.some(({ path, target }) => target !== undefined && (path === folder || path === posix.dirname(folder))))
    problems.push(about(folder, LINKED_FOLDER));
  const dialect = dialectOf(folder);
  return files.flatMap(({ path, target, content }): Found[] => {
    if (!path.startsWith(`${folder}/`)) return [];
    const place = placeIn(dialect, path.slice(folder.length + 1));
    if (place === undefined) {
      if (target !== undefined && content === undefined) problems.push(about(path, LINKED_FOLDER));
      return [];
    }
    if (content === undefined) {
      problems.push(about(path, target === undefined ? "it is not a file: it is not read" : LEADS_OUT));
      return [];
    }
    const tooLarge = `it is larger than ${MAX_AGENT_BYTES / 1024} KB`;
    const text = content.length > MAX_AGENT_BYTES ? tooLarge : content;
    return [{ ...place, file: path, scope: "project", read: async () => text }];
  });
}

const LINKED_FOLDER = "the folder is reached through a link: it is not read";
const LEADS_OUT = "the file is a link that leads out of its folder: it is not read";

/** Folders of agents often have one, and it is not meant to be an agent. */
export function isPlainReadme(file: string, text: Buffer): boolean {
  return /^readme\.md$/i.test(basename(file)) && !text.subarray(0, 6).toString("latin1").includes("---");
}

function about(file: string, message: string, severity: AgentProblem["severity"] = "warning"): AgentProblem {
  return { code: "SOUS-A001", file, severity, line: 1, column: 1, message, fix: "rename, move or remove the file" };
}

/** `AGENTS.md`, else `CLAUDE.md`, else `GEMINI.md`: what a project wants every agent to know. */
const MAX_BYTES = 64 * 1024;

type AgentsMd = { readonly name: string; readonly text: string; readonly isCut: boolean };

/** Undefined when there is none, or it is empty. Give the files of a trusted project, as they were compared. */
export function readAgentsMd(trusted: readonly ProjectFile[]): AgentsMd | undefined {
  const found = trusted.find(({ path }) => NOTES_NAMES.includes(path));
  return found?.content === undefined ? undefined : toNotes(found.path, found.content);
}

/** The notes of the user, for every project; undefined when there are none, or they cannot be read. */
export async function readUserNotes(file: string): Promise<AgentsMd | undefined> {
  const content = await readRegular(file, MAX_BYTES * 16).catch(() => undefined);
  return content === undefined ? undefined : toNotes("AGENTS.md", content);
}

/** Notes as text that a reader sees whole; undefined for what is not text, or empty. */
export function toNotes(name: string, content: Buffer, maxBytes = MAX_BYTES): AgentsMd | undefined {
  if (content.includes(0)) return undefined;
  const isCut = content.length > maxBytes;
  // A character that was cut in two is left out.
  const whole = new TextDecoder().decode(content.subarray(0, maxBytes), { stream: isCut });
  const text = visibleText(whole).trim();
  if (text === "") return undefined;
  return {
    name,
    text: isCut ? `${text}\n\n[${name} is longer than ${maxBytes / 1024} KB; the rest was left out.]` : text,
    isCut,
  };
}
