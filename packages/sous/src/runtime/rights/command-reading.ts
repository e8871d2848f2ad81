/** A command of the terminal as rules see it: its simple commands, the files it opens, and what is not understood. */

import { isAbsolute, join, resolve } from "node:path";
import { leadsToDevice, linkNames, packageFolders, searchedFolders } from "./linked-programs.ts";
import { countOptions } from "./programs.ts";
import { readShellCommand, type SimpleCommand } from "./shell-command.ts";
import { closedWord, quoted, type ShellWord } from "./shell-words.ts";
import { INERT_VARIABLES, type ProgramContext, type Understood, understand } from "./understand-command.ts";

type FileUse = {
  readonly kind: "read" | "write";
  /** Relative to the workspace, or absolute. Several when a `cd` before it may have failed. */
  readonly paths: readonly string[];
  /** False when another program of the same line could change what the paths lead to. */
  readonly isSure: boolean;
};

export type CommandReading = {
  readonly parts: readonly Understood[];
  readonly files: readonly FileUse[];
  /** The reason why the command is not understood as a whole; undefined when it is. */
  readonly problem: string | undefined;
  /** True when it is understood but for a file that the shell opens. */
  readonly hasUnknownFile: boolean;
  /** The words of the command in one spelling, when it is one command of plain words and nothing else. */
  readonly canonical: string | undefined;
};

export type CommandContext = {
  readonly home?: string | undefined;
  /** Names of variables that a command may set, besides those that are known to be harmless. */
  readonly variables?: readonly string[] | undefined;
  /** The folder it starts in, relative to the workspace. */
  readonly folder?: string | undefined;
  /** The absolute path of the workspace. Without it no link to a program is followed. */
  readonly workspace?: string | undefined;
};

export function readCommandLine(text: string, context: CommandContext): CommandReading {
  const { home, variables = [], folder, workspace } = context;
  const { commands, problem } = readShellCommand(text, { home });
  const inert = new Set([...INERT_VARIABLES, ...variables]);
  const folders = foldersOf(commands, folder ?? ".", home);
  const filesAt = fileReader(workspace);
  const parts = commands.map((command, index) => understand(command, { variables: inert, ...filesAt(folders[index]) }));
  const found = filesOf(commands, folders);
  // Rules see a start in another folder as a `cd`.
  if (folder !== undefined)
    parts.unshift({
      views: [{ words: ["cd", folder].map(closedWord), finds: "itself" }],
      linked: [],
      problem: undefined,
    });
  const unclear = problem ?? parts.find((part) => part.problem !== undefined)?.problem;
  return {
    parts,
    files: found.files,
    problem: unclear ?? found.problem,
    hasUnknownFile: unclear === undefined && found.problem !== undefined,
    canonical: problem === undefined ? canonicalOf(commands) : undefined,
  };
}

/** These paths lead each process to files of its own. */
const OF_PROCESS = /^\/+proc\/.*\/(?:cwd|root|exe|fd)(?:\/|$)/;

/** Looks at the files of a command from the folders where the shell may be. */
function fileReader(workspace: string | undefined): (folders: Folders) => Omit<ProgramContext, "variables"> {
  // Programs get the PATH of this process, at most.
  const inPath = workspace === undefined ? [] : searchedFolders(workspace, process.env.PATH ?? "");
  return (folders) => {
    const isLost = (path: string): boolean => (isAbsolute(path) ? OF_PROCESS.test(path) : folders === undefined);
    const known = folders ?? ["."];
    return {
      linkNames: ({ text, isOpen }, finds) => {
        if (isLost(text) && text.includes("/")) return undefined;
        if (workspace === undefined) return [];
        const own = finds === "package" ? known.flatMap((folder) => packageFolders(workspace, folder)) : [];
        return linkNames(text, known, workspace, { searched: [...inPath, ...own], isOpen });
      },
      fullPaths: (path) => known.map((folder) => resolve(workspace ?? "/workspace", folder, path)),
      mayBeDevice: (path) => isLost(path) || (workspace !== undefined && leadsToDevice(path, known, workspace)),
    };
  };
}

/**
 * The folders that git may work in when the command is run in one, relative to that or absolute: where a `cd` or `-C` leads, and
 * whatever else a word could name. Undefined when they are not known.
 */
export function gitFoldersOf(text: string, context: CommandContext): readonly string[] | undefined {
  if (readCommandLine(text, context).problem !== undefined) return undefined;
  const { commands } = readShellCommand(text, context);
  const folders = foldersOf(commands, ".", context.home);
  const found = new Set<string>();
  for (const [index, { words }] of commands.entries()) {
    if (!words.some(({ text: word }) => word.includes("git"))) continue;
    let starts = folders[index];
    if (starts === undefined || words.some(({ isOpen }) => isOpen)) return undefined;
    for (const [at, { text: word }] of words.entries()) {
      const name = word.slice(word.startsWith("-") ? word.indexOf("=") + 1 : 0);
      const named: readonly string[] = starts.map((start) => (isAbsolute(name) ? name : `${start}/${name}`));
      // The next folder is one below it.
      if (words[at - 1]?.text === "-C") starts = [...starts, ...named];
      for (const folder of [...starts, ...named]) found.add(folder);
      if (found.size > MAX_GIT_FOLDERS) return undefined;
    }
  }
  return [...found];
}

/** These join streams, or discard what they get. */
const HARMLESS_FILE = /^\/dev\/(?:null|stdin|stdout|stderr)$/;
const MAX_FOLDERS = 16;
const MAX_GIT_FOLDERS = 500;
const MAX_PATH = 4096;

type Folders = readonly string[] | undefined;

/** The folders where the shell may be at each command: a `cd` may fail. Undefined behind one whose folder is unknown. */
function foldersOf(commands: readonly SimpleCommand[], start: string, home: string | undefined): Folders[] {
  let folders: Folders = [start];
  return commands.map(({ words }) => {
    const before = folders;
    // The shell itself knows `time`.
    const own = words.slice(words.findIndex(({ text }) => text !== "time" && text !== "-p"));
    if (own[0]?.text === "cd") folders = foldersAfter(folders, own.slice(1), home);
    return before;
  });
}

/** A file may lie in every folder where the shell may be at that point. */
function filesOf(
  commands: readonly SimpleCommand[],
  folders: readonly Folders[],
): { files: FileUse[]; problem: string | undefined } {
  const files: FileUse[] = [];
  for (const [index, { redirections }] of commands.entries()) {
    const isSure = commands.every((other, at) => at === index || CALM.has(other.words[0]?.text ?? ""));
    for (const { kind, target } of redirections) {
      if (HARMLESS_FILE.test(target.text)) continue;
      const paths = pathsOf(target.text, folders[index]);
      if (paths === undefined) return { files, problem: `which file ${target.text.slice(0, 60)} is, is not known` };
      files.push({ kind, paths, isSure });
    }
  }
  return { files, problem: undefined };
}

/** The kernel follows a link before it goes up from it, so `..` behind a name may lead anywhere. */
function pathsOf(target: string, folders: Folders): readonly string[] | undefined {
  const names = target.split("/").filter((name) => name !== "" && name !== ".");
  const up = names.lastIndexOf("..");
  if (target.length > MAX_PATH || names.slice(0, up + 1).some((name) => name !== "..")) return undefined;
  if (isAbsolute(target)) return [target];
  if (up !== -1 && folders !== undefined && folders.length > 1) return undefined;
  return folders?.map((folder) => join(folder, target));
}

/** Undefined when its target is unknown. */
function foldersAfter(folders: Folders, words: readonly ShellWord[], home: string | undefined): Folders {
  // `-L` is what the shell does anyway; with `-P` a later `..` leads elsewhere.
  const at = countOptions(words, { options: /^-L$/ });
  const [target, more] = words.slice(words[at]?.text === "--" ? at + 1 : at);
  if (folders === undefined || more !== undefined || target?.isOpen === true) return undefined;
  const wanted = target === undefined ? home : target.text;
  if (wanted === undefined || wanted === "" || wanted.startsWith("-") || wanted.length > MAX_PATH) return undefined;
  const next = folders.map((folder) => (isAbsolute(wanted) ? wanted : join(folder, wanted)));
  const all = [...new Set([...folders, ...next])];
  return all.length > MAX_FOLDERS ? undefined : all;
}

/** Any other program could replace a file by a link before the shell opens it. */
const CALM = new Set(
  "[ : cat cd cut date echo false grep head ls mkdir printf pwd rg set sleep sort tail test tr true uniq wc".split(" "),
);

/** The same text for commands that are the same to the shell. */
function canonicalOf([command, more]: readonly SimpleCommand[]): string | undefined {
  if (command === undefined || more !== undefined) return undefined;
  const { words, assignments, redirections, hasStreams } = command;
  const isPlain = assignments.length + redirections.length === 0 && !hasStreams && words.every(({ isOpen }) => !isOpen);
  return isPlain ? words.map(({ text }) => quoted(text)).join(" ") : undefined;
}
