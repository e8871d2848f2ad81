/** A command of the terminal as rules see it: its simple commands, the files it opens, and what is not understood. */

import { isAbsolute, join } from "node:path";
import { readShellCommand, type SimpleCommand } from "./shell-command.ts";
import { INERT_VARIABLES, type Understood, understand } from "./understand-command.ts";

export type FileUse = {
  readonly kind: "read" | "write";
  /** Relative to the workspace, or absolute. Several when a `cd` before it may have failed. */
  readonly paths: readonly string[];
};

export type CommandReading = {
  readonly parts: readonly Understood[];
  readonly files: readonly FileUse[];
  /** Why the command is not understood as a whole; undefined when it is. */
  readonly problem: string | undefined;
  /** Its words in one spelling, when it is one command of plain words and nothing else. */
  readonly canonical: string | undefined;
};

export type CommandContext = {
  readonly home?: string | undefined;
  /** Names of variables that a command may set, besides those that are known to be harmless. */
  readonly variables?: readonly string[] | undefined;
  /** Where it starts, relative to the workspace. */
  readonly folder?: string | undefined;
};

export function readCommandLine(text: string, { home, variables = [], folder }: CommandContext): CommandReading {
  const { commands, problem } = readShellCommand(text, { home });
  const inert = new Set([...INERT_VARIABLES, ...variables]);
  const parts = commands.map((command) => understand(command, inert));
  const found = filesOf(commands, folder ?? ".", home);
  // To start in another folder is what `cd` does, so rules see it as one.
  if (folder !== undefined)
    parts.unshift({ views: [{ words: ["cd", folder].map(plain), finds: "itself" }], problem: undefined });
  return {
    parts,
    files: found.files,
    problem: problem ?? parts.find((part) => part.problem !== undefined)?.problem ?? found.problem,
    canonical: problem === undefined ? canonicalOf(commands) : undefined,
  };
}

/** These join streams, or throw away what they get. */
const HARMLESS_FILE = /^\/dev\/(?:null|stdin|stdout|stderr)$/;
const MAX_FOLDERS = 16;

/** Follows `cd` as far as its folder is known. A file is sought in every folder where the shell may be by then. */
function filesOf(
  commands: readonly SimpleCommand[],
  start: string,
  home: string | undefined,
): { files: FileUse[]; problem: string | undefined } {
  const files: FileUse[] = [];
  let folders: readonly string[] | undefined = [start];
  for (const { words, redirections } of commands) {
    for (const { kind, target } of redirections) {
      if (HARMLESS_FILE.test(target.text)) continue;
      const from: readonly string[] | undefined = isAbsolute(target.text) ? [""] : folders;
      if (from === undefined) return { files, problem: `the folder of ${target.text} is not known` };
      files.push({ kind, paths: from.map((folder) => (folder === "" ? target.text : join(folder, target.text))) });
    }
    if (words[0]?.text === "cd")
      folders = foldersAfter(
        folders,
        words.slice(1).map(({ text, isOpen }) => (isOpen ? undefined : text)),
        home,
      );
  }
  return { files, problem: undefined };
}

/** Undefined when nobody knows where it leads. */
function foldersAfter(
  folders: readonly string[] | undefined,
  [target, more]: readonly (string | undefined)[],
  home: string | undefined,
): readonly string[] | undefined {
  const wanted = target ?? home;
  if (folders === undefined || more !== undefined || wanted === undefined || wanted.startsWith("-")) return undefined;
  const next = folders.map((folder) => (isAbsolute(wanted) ? wanted : join(folder, wanted)));
  const all = [...new Set([...folders, ...next])];
  return all.length > MAX_FOLDERS ? undefined : all;
}

/** The same text for commands that are the same to the shell. */
function canonicalOf([command, more]: readonly SimpleCommand[]): string | undefined {
  if (command === undefined || more !== undefined) return undefined;
  const { words, assignments, redirections, hasStreams } = command;
  const isPlain = assignments.length + redirections.length === 0 && !hasStreams && words.every(({ isOpen }) => !isOpen);
  return isPlain ? words.map(({ text }) => quoted(text)).join(" ") : undefined;
}

function quoted(text: string): string {
  return /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}

function plain(text: string): { text: string; isOpen: false } {
  return { text, isOpen: false };
}
