/**
 * Tells which files are guarded: those that file tools never write, and those that a person is asked about although writes are
 * allowed. One judgement for the tools that write and for the rules; it looks at paths and never at content.
 */

import { NAME_ROWS, type NameRow } from "./guarded-names.ts";
import { trimEndOf } from "./truncate.ts";

export type FileGuard = { readonly effect: "refuse" | "ask"; readonly reason: string };

/** Absolute paths without links, each also as it was written where that differs. */
export type GuardPaths = {
  /** Names are judged from here: the top of the project, which may lie above the workspace. */
  readonly top: string;
  readonly homes?: readonly string[] | undefined;
  /** Files and folders of sous, and what it was started with: refused. */
  readonly refused?: readonly string[] | undefined;
  /** Files and folders that variables name as settings of programs, and files that trust was given to: asked about. */
  readonly asked?: readonly string[] | undefined;
  /** The folders of PATH. */
  readonly programFolders?: readonly string[] | undefined;
};

/** Systems have no longer ones, and the time to judge one is bounded by this. */
const MAX_PATH = 8192;

/** Undefined for a file that is as any other. `path` is absolute and normal; `isThere` looks without following links. */
export function guardOf(path: string, paths: GuardPaths, isThere: (path: string) => boolean): FileGuard | undefined {
  if (path.length > MAX_PATH) return { effect: "refuse", reason: "its path is too long" };
  const verdicts = [partsOf(path), partsOf(path, (part) => part.toLowerCase())].map((parts) =>
    guardOfParts(path, parts, paths, isThere),
  );
  // Folding must not hide what the plain name is.
  return verdicts.find((guard) => guard?.effect === "refuse") ?? verdicts.find((guard) => guard !== undefined);
}

function guardOfParts(
  path: string,
  parts: readonly string[],
  paths: GuardPaths,
  isThere: (path: string) => boolean,
): FileGuard | undefined {
  const refused = (paths.refused ?? []).map((each) => partsOf(each));
  if (refused.some((each) => isWithin(parts, each) || isBeside(parts, each)))
    return { effect: "refuse", reason: "it belongs to sous, or sous was started with it" };
  const top = partsOf(paths.top);
  const below = namesBelow(parts, top, paths, isThere);
  return (
    namedGuard(below, "refuse") ??
    namedGuard(below, "ask") ??
    repositoryGuard(path, isThere) ??
    folderGuard(parts, top, paths) ??
    dotGuard(below)
  );
}

/**
 * Names count from the top of the project. In a folder of settings of the home (`~/.ssh`) they count from the home, unless a
 * repository of its own lies deeper in it (`~/.claude/worktrees/x`).
 */
function namesBelow(
  parts: readonly string[],
  top: readonly string[],
  { homes = [], top: written }: GuardPaths,
  isThere: (path: string) => boolean,
): readonly string[] {
  if (!isWithin(parts, top)) return parts;
  const home = homes
    .map((each) => partsOf(each))
    .find((each) => isWithin(top, each) && top[each.length]?.startsWith("."));
  const isOwnProject = home !== undefined && top.length > home.length + 1 && isThere(`${written}/.git`);
  return parts.slice(home === undefined || isOwnProject ? top.length : home.length);
}

/** Files that complete a folder as a repository, or are obeyed in one; each only beside a HEAD, without which git sees none. */
const PARTS_OF_REPOSITORY = new Set([
  ...["config", "config.worktree", "hooks", "objects", "refs", "info", "modules", "worktrees", "packed-refs"],
]);

/**
 * Guards the parts of a repository beside a HEAD. A write to HEAD is asked about by its name, so a repository can be made only
 * around a HEAD that is there.
 */
function repositoryGuard(path: string, isThere: (path: string) => boolean): FileGuard | undefined {
  const separators = [...path.matchAll(/[/\\]+/g)];
  for (const [index, { 0: separator, index: at }] of separators.entries()) {
    const name = path.slice(at + separator.length, separators[index + 1]?.index);
    if (PARTS_OF_REPOSITORY.has(foldedPart(name)) && isThere(`${path.slice(0, at)}/HEAD`))
      return { effect: "ask", reason: `with HEAD beside ${name} git takes the folder for a repository and obeys it` };
  }
  return undefined;
}

/** The paths below a home folder where programs look for their settings and start things by themselves. */
const SETTINGS_IN_HOME: readonly (readonly string[])[] = [
  [".config"],
  [".local", "bin"],
  ...["applications", "bash-completion", "dbus-1", "nvim", "systemd"].map((name) => [".local", "share", name]),
  ["library"],
  ["appdata"],
];

/** Folders of the system that hold programs and settings. */
const SYSTEM_FOLDERS = [
  ...["bin", "boot", "etc", "lib", "lib32", "lib64", "opt", "root", "run", "sbin", "usr", "var"],
  ...["applications", "library", "system", "program files", "windows", "programdata"],
];

function folderGuard(parts: readonly string[], top: readonly string[], paths: GuardPaths): FileGuard | undefined {
  const isAsked = (paths.asked ?? []).some((each) => isWithin(parts, partsOf(each)));
  if (isAsked) return { effect: "ask", reason: "a program obeys it, or you have trusted the project with it" };
  const folder = parts.slice(0, -1);
  if ((paths.programFolders ?? []).some((each) => isSame(folder, partsOf(each))))
    return { effect: "ask", reason: "its folder is in PATH, so it can replace a program" };
  for (const home of (paths.homes ?? []).map((each) => partsOf(each))) {
    const [first = ""] = isWithin(parts, home) ? parts.slice(home.length) : [];
    const isSetting = SETTINGS_IN_HOME.some((each) => isWithin(parts, [...home, ...each]));
    // A project inside such a folder of the home is judged by the names below its top.
    if (isSetting || (first.startsWith(".") && !isWithin(top, [...home, first])))
      return { effect: "ask", reason: "programs obey such files of your home folder without being called" };
  }
  const [, first = ""] = parts;
  if (SYSTEM_FOLDERS.includes(first) && top[1] !== first)
    return { effect: "ask", reason: "it lies among the programs and settings of the system" };
  return undefined;
}

/** No program has settings whose name begins with two dots. */
function dotGuard(below: readonly string[]): FileGuard | undefined {
  const index = below.findIndex((part, at) => /^\.(?!\.)/.test(part) && !isFree(below, at));
  return index === -1
    ? undefined
    : { effect: "ask", reason: `${below[index]} may be a setting that a program obeys without being called` };
}

function isFree(below: readonly string[], at: number): boolean {
  return ROWS.some(({ row, names }) => row.effect === "free" && names.some((name) => matchesAt(below, at, name)));
}

function namedGuard(below: readonly string[], effect: "refuse" | "ask"): FileGuard | undefined {
  for (const { row, names } of ROWS) {
    if (row.effect !== effect) continue;
    const isNamed = names.some((name) => below.some((_, at) => matchesAt(below, at, name)));
    if (isNamed) return { effect, reason: row.reason };
  }
  return undefined;
}

type Name = { readonly parts: readonly string[]; readonly isFolder: boolean };

const ROWS: readonly { row: NameRow; names: readonly Name[] }[] = NAME_ROWS.map((row) => ({
  row,
  names: row.names.split(" ").map((text) => {
    const isFolder = text.endsWith("/");
    return { parts: (isFolder ? text.slice(0, -1) : text).toLowerCase().split("/"), isFolder };
  }),
}));

function matchesAt(below: readonly string[], at: number, { parts, isFolder }: Name): boolean {
  if (at + parts.length > below.length || (!isFolder && at + parts.length < below.length)) return false;
  return parts.every((part, index) => matchesPart(below[at + index] ?? "", part));
}

/** A name of the table has at most one `*`. */
function matchesPart(part: string, name: string): boolean {
  const star = name.indexOf("*");
  if (star === -1) return part === name;
  const [before, after] = [name.slice(0, star), name.slice(star + 1)];
  return part.length >= before.length + after.length && part.startsWith(before) && part.endsWith(after);
}

function partsOf(path: string, fold = foldedPart): string[] {
  const parts = path.split(/[/\\]/).map(fold);
  // The root keeps the empty part before its slash, and a slash at the end adds none.
  return parts.filter((part, index) => index === 0 || part !== "");
}

function isWithin(parts: readonly string[], folder: readonly string[]): boolean {
  return folder.length <= parts.length && folder.every((part, index) => part === parts[index]);
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && isWithin(one, other);
}

/** A database has files beside itself: `sous.db-wal`, `sous.db-shm`. */
function isBeside(parts: readonly string[], file: readonly string[]): boolean {
  return (
    parts.length === file.length &&
    isWithin(parts, file.slice(0, -1)) &&
    (parts.at(-1) ?? "").startsWith(`${file.at(-1)}-`)
  );
}

/**
 * Folds a name as the most forgiving file system does: case, compatible and ignored characters, dots and spaces at the end and
 * a stream after a colon make no difference there.
 */
function foldedPart(part: string): string {
  const plain = part.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  const [name = ""] = plain.split(":", 1);
  return trimEndOf(name, ". ").toLowerCase();
}
