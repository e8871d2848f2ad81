/** Finds the agent files of the user and of a trusted project, reads them, and decides which file a name belongs to. */

import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, posix } from "node:path";
import { visibleText } from "../../core/clean-text.ts";
import { messageOf } from "../../core/errors.ts";
import { MAX_AGENT_BYTES } from "../read-file.ts";
import { type ProjectFile, readRegular, realInside } from "../trust/files.ts";
import type { AgentDialect, AgentFile, AgentProblem, AgentScope, AgentSource } from "./file.ts";

type AgentFolders = {
  /** In the order in which they win. */
  readonly userFolders: readonly string[];
  /** Of a trusted project, as they were compared: nothing of it is opened here. */
  readonly projectFiles: readonly ProjectFile[];
  /** What is wrong with the pattern of a rule. */
  readonly checkRule?: AgentSource["checkRule"];
  readonly servers?: AgentSource["servers"];
};

export type LoadedAgents = { readonly agents: readonly AgentFile[]; readonly problems: readonly AgentProblem[] };

const MAX_FILES = 200;
export const PROJECT_FOLDERS: readonly string[] = [
  ".sous/agents",
  ".claude/agents",
  ".gemini/agents",
  ".opencode/agent",
  ".opencode/agents",
];

/** Never throws. The user's agents win over the project's, and within each ours over those of other programs. */
export async function loadAgentFiles({ checkRule, servers, ...folders }: AgentFolders): Promise<LoadedAgents> {
  const problems: AgentProblem[] = [];
  const found = await findAll(folders, problems);
  for (const { file } of found.slice(MAX_FILES, MAX_FILES + 1))
    problems.push(
      about(file, `there are more than ${MAX_FILES} agent files: this one and those behind it are not read`),
    );
  if (found.length === 0) return { agents: [], problems };
  // With it comes a reader of YAML, which takes long to load.
  const { readAgentFile } = await import("./read.ts");
  const agents = new Map<string, AgentFile>();
  for (const source of found.slice(0, MAX_FILES)) {
    const text = await source.read();
    if (typeof text === "string") problems.push(about(source.file, `the file cannot be read: ${text}`, "error"));
    if (typeof text === "string" || isPlainReadme(source.file, text)) continue;
    const read = readAgentFile({ ...source, text, checkRule, servers });
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

/** Which dialect a folder's files are written in. */
export function dialectOf(folder: string): AgentDialect {
  const parent = basename(dirname(folder));
  const name = basename(folder);
  if (parent === ".claude" && name === "agents") return "claude";
  if (parent === ".gemini" && name === "agents") return "gemini";
  return parent === ".opencode" && (name === "agent" || name === "agents") ? "opencode" : "sous";
}

type Found = { file: string; dialect: AgentDialect; scope: AgentScope; read: () => Promise<Buffer | string> };

async function findAll({ userFolders, projectFiles }: AgentFolders, problems: AgentProblem[]): Promise<Found[]> {
  const found: Found[] = [];
  for (const folder of userFolders) found.push(...(await findIn(folder, problems)));
  for (const folder of PROJECT_FOLDERS) found.push(...findInProject(folder, projectFiles, problems));
  return found;
}

async function findIn(folder: string, problems: AgentProblem[]): Promise<Found[]> {
  const dialect = dialectOf(folder);
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => []);
  const found: Found[] = [];
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    if (entry.isDirectory() || !isAgentFile(entry.name, dialect)) continue;
    const file = join(folder, entry.name);
    const real = await realInside(file, folder);
    if (real === undefined) problems.push(about(file, LEADS_OUT));
    else found.push({ file, dialect, scope: "user", read: () => readRegular(real, MAX_AGENT_BYTES).catch(messageOf) });
  }
  return found;
}

function findInProject(folder: string, files: readonly ProjectFile[], problems: AgentProblem[]): Found[] {
  // Links were not followed when the project was trusted.
  if (files.some(({ path, target }) => target !== undefined && (path === folder || path === posix.dirname(folder))))
    problems.push(about(folder, "the folder is reached through a link: it is not read"));
  const dialect = dialectOf(folder);
  const inside = files.filter(
    ({ path }) => posix.dirname(path) === folder && isAgentFile(posix.basename(path), dialect),
  );
  return inside.flatMap(({ path, target, content }): Found[] => {
    if (content === undefined) {
      problems.push(about(path, target === undefined ? "it is not a file: it is not read" : LEADS_OUT));
      return [];
    }
    const tooLarge = `it is larger than ${MAX_AGENT_BYTES / 1024} KB`;
    const text = content.length > MAX_AGENT_BYTES ? tooLarge : content;
    return [{ file: path, dialect, scope: "project", read: async () => text }];
  });
}

const LEADS_OUT = "the file is a link that leads out of its folder: it is not read";

/** gemini-cli leaves out names that begin with an underscore. */
function isAgentFile(name: string, dialect: AgentDialect): boolean {
  const isHidden = name.startsWith(".") || (dialect === "gemini" && name.startsWith("_"));
  return !isHidden && /\.md$/i.test(name);
}

/** Folders of agents often have one, and it is not meant to be an agent. */
function isPlainReadme(file: string, text: Buffer): boolean {
  return /^readme\.md$/i.test(basename(file)) && !text.subarray(0, 6).toString("latin1").includes("---");
}

function about(file: string, message: string, severity: AgentProblem["severity"] = "warning"): AgentProblem {
  return { code: "SOUS-A001", file, severity, line: 1, column: 1, message, fix: "rename, move or remove the file" };
}

/** `AGENTS.md`: what a project wants every agent to know. It becomes part of the root's instructions. */
const MAX_BYTES = 64 * 1024;

type AgentsMd = { readonly text: string; readonly isCut: boolean };

/** Undefined when there is none, or it is empty. Give the files of a trusted project, as they were compared. */
export function readAgentsMd(trusted: readonly ProjectFile[]): AgentsMd | undefined {
  const content = trusted.find(({ path }) => path === "AGENTS.md")?.content;
  if (content === undefined || content.includes(0)) return undefined;
  const isCut = content.length > MAX_BYTES;
  // A character that was cut in two is left out.
  const whole = new TextDecoder().decode(content.subarray(0, MAX_BYTES), { stream: isCut });
  const text = visibleText(whole).trim();
  if (text === "") return undefined;
  return { text: isCut ? `${text}\n\n[AGENTS.md is longer than 64 KB; the rest was left out.]` : text, isCut };
}
