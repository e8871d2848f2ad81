/** Walks the files of the workspace in the order of their names, without following links or entering ignored folders. */

import { join } from "node:path";
import { ToolFailure } from "../../core/errors.ts";
import { compileSegments, type GlobPattern, matchesPath, pathNames, type Segment, sizeOf } from "../../core/glob.ts";
import { trimEndOf } from "../../core/truncate.ts";
import { type Pauses, pausesFor } from "./pauses.ts";
import { type FolderEntry, nameInside, openKnownFile, readFolder, type Workspace } from "./workspace.ts";

type WalkOptions = {
  /** A real path from `locate`. It is walked even if it is ignored itself. */
  start: string;
  includeIgnored: boolean;
  /** The files to show, by their path below `start`; all when undefined. */
  wanted: GlobPattern | undefined;
  /** Called when the workspace is too large to be walked to its end. */
  onLimit(): void;
  signal: AbortSignal;
};

/** `name` is below the top of the workspace, with forward slashes. */
export type FoundFile = { name: string; real: string };

const MAX_ENTRIES = 200_000;
const MAX_RULES_BYTES = 256 * 1024;
/** Folders that are not entered: never of interest, and large. */
const ALWAYS_SKIPPED = [".git", ".hg", ".svn", ".jj"];
const SKIPPED: ReadonlySet<string> = new Set([...ALWAYS_SKIPPED, "node_modules"]);
const SKIPPED_ANYWAY: ReadonlySet<string> = new Set(ALWAYS_SKIPPED);

export function skippedFolders(includeIgnored: boolean): ReadonlySet<string> {
  return includeIgnored ? SKIPPED_ANYWAY : SKIPPED;
}

type Pending = { name: string; real: string; isFolder: boolean; rules: IgnoreRules };

export async function* walkFiles(workspace: Workspace, options: WalkOptions): AsyncGenerator<FoundFile, void> {
  const { start, includeIgnored, wanted, onLimit, signal } = options;
  const top = nameInside(workspace, start);
  const rules = includeIgnored ? NO_RULES : await rulesAbove(workspace, top);
  const pending: Pending[] = [{ name: top, real: start, isFolder: true, rules }];
  const pauses = pausesFor(signal);
  let seen = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    signal.throwIfAborted();
    if (!next.isFolder) {
      yield next;
      continue;
    }
    const entries = await entriesOf(workspace, next, next.name === top);
    seen += entries.length;
    if (seen > MAX_ENTRIES) {
      onLimit();
      return;
    }
    const below = includeIgnored ? NO_RULES : await rulesWithin(workspace, next, entries);
    // The first name goes in last, because names are taken from the end.
    for (const { name, kind } of entries.reverse()) {
      if (pauses.isDue()) await pauses.rest();
      if (kind === "link" || kind === "other") continue;
      const isFolder = kind === "folder";
      const path = next.name === "." ? name : `${next.name}/${name}`;
      if (isFolder && skippedFolders(includeIgnored).has(name)) continue;
      const fromStart = top === "." ? path : path.slice(top.length + 1);
      const isWanted = isFolder ? wanted?.mayMatchBelow(fromStart) : wanted?.matches(fromStart);
      if (isWanted === false || (await below.ignores(path, isFolder, pauses))) continue;
      pending.push({ name: path, real: join(next.real, name), isFolder, rules: below });
    }
  }
}

/** A folder that cannot be read, or is gone, is left out; the one that was asked for is a failure. */
async function entriesOf(workspace: Workspace, folder: Pending, isTop: boolean): Promise<FolderEntry[]> {
  try {
    return await readFolder(workspace, folder.real, folder.name);
  } catch (error) {
    if (error instanceof ToolFailure && !isTop) return [];
    throw error;
  }
}

/** The rules of the folders above the one where the walk begins. */
async function rulesAbove(workspace: Workspace, top: string): Promise<IgnoreRules> {
  let rules = NO_RULES;
  if (top === ".") return rules;
  const names = top.split("/");
  for (let depth = 0; depth < names.length; depth++) {
    const folder = depth === 0 ? "." : names.slice(0, depth).join("/");
    rules = await withRulesOf(workspace, folder, join(workspace.root, folder), rules);
  }
  return rules;
}

async function rulesWithin(
  workspace: Workspace,
  folder: Pending,
  entries: readonly FolderEntry[],
): Promise<IgnoreRules> {
  if (!entries.some(({ name, kind }) => name === ".gitignore" && kind === "file")) return folder.rules;
  return withRulesOf(workspace, folder.name, folder.real, folder.rules);
}

async function withRulesOf(
  workspace: Workspace,
  folder: string,
  real: string,
  rules: IgnoreRules,
): Promise<IgnoreRules> {
  try {
    await using file = await openKnownFile(workspace, join(real, ".gitignore"), `${folder}/.gitignore`);
    const buffer = Buffer.alloc(Math.min(file.size, MAX_RULES_BYTES));
    const { bytesRead } = await file.handle.read(buffer, 0, buffer.length, 0);
    return rules.within(folder, buffer.toString("utf8", 0, bytesRead));
  } catch (error) {
    // A missing or unreadable file has no rules.
    if (error instanceof ToolFailure) return rules;
    throw error;
  }
}

/** Decides by the .gitignore files about a path: the last rule that matches wins, and a deeper file wins over a higher one. */
type IgnoreRules = {
  /** `name` is below the workspace, with forward slashes. */
  ignores(name: string, isFolder: boolean, pauses: Pauses): Promise<boolean>;
  /** The rules below a folder that has a .gitignore of its own. */
  within(folder: string, text: string): IgnoreRules;
};

type Rule = { segments: Segment[]; isNegated: boolean; isForFolders: boolean };
/** `depth` is how many names lead to the folder of the file. */
type RuleFile = { rules: Rule[]; depth: number; size: number };

const MAX_RULES = 5000;
/** Max size of all rules that hold for a path: it is compared with each, so this bounds the time for one path. */
const MAX_SIZE = 100_000;
/** A rule may be as long as a path can be; people do not write longer ones. */
const MAX_RULE_LENGTH = 4096;
const NO_FILE: RuleFile = { rules: [], depth: 0, size: 0 };

export const NO_RULES: IgnoreRules = ignoreRules([]);

/** `files` from the top down. */
function ignoreRules(files: readonly RuleFile[]): IgnoreRules {
  return {
    async ignores(name, isFolder, pauses) {
      const names = pathNames(name);
      for (let file = files.length - 1; file >= 0; file--) {
        const { rules, depth } = files[file] ?? NO_FILE;
        const below = names.slice(depth);
        for (let index = rules.length - 1; index >= 0; index--) {
          if (pauses.isDue()) await pauses.rest();
          const rule = rules[index];
          if (rule === undefined || (rule.isForFolders && !isFolder)) continue;
          if (matchesPath(rule.segments, below)) return !rule.isNegated;
        }
      }
      return false;
    },
    within(folder, text) {
      const depth = folder === "." ? 0 : folder.split("/").length;
      const known = files.reduce((sum, { size }) => sum + size, 0);
      return ignoreRules([...files, { ...parseRules(text, MAX_SIZE - known), depth }]);
    },
  };
}

/** Rules beyond `room` are not read. */
function parseRules(text: string, room: number): Omit<RuleFile, "depth"> {
  const rules: Rule[] = [];
  let size = 0;
  for (const line of text.split(/\r?\n/)) {
    const written = withoutBlanks(line);
    if (written === "" || written.startsWith("#") || written.length > MAX_RULE_LENGTH) continue;
    const isNegated = written.startsWith("!");
    const pattern = isNegated ? written.slice(1) : written;
    const isForFolders = pattern.endsWith("/");
    const path = isForFolders ? pattern.slice(0, -1) : pattern;
    // A slash at the start or in the middle ties the pattern to the folder of the file.
    const segments = compileSegments(path === "" || path.includes("/") ? path : `**/${path}`);
    if (segments.length === 0) continue;
    size += sizeOf(segments);
    if (size > room) break;
    rules.push({ segments, isNegated, isForFolders });
    if (rules.length === MAX_RULES) break;
  }
  return { rules, size };
}

/** Spaces at the end do not count; behind a backslash the first one does. */
function withoutBlanks(line: string): string {
  const kept = trimEndOf(line, " ");
  return kept.endsWith("\\") && kept !== line ? `${kept} ` : kept;
}
