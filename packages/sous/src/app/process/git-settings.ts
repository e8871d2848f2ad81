/**
 * Programs that the configuration of a repository names in settings of any name, `remote.origin.uploadpack` and `trailer.see.cmd`:
 * git cannot be told to ignore all of them, so the names are looked for. It is read as git reads it, with every file it includes.
 */

import { readdir, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { trimEndOf } from "../../core/truncate.ts";
import { foldersOf, type GitFolders, gitFoldersAt, ifThere } from "../../machine/git-folder.ts";
import { readRegular } from "../../machine/private-file.ts";

export type NamedPrograms = {
  /** It names programs for the other side of a remote, which may be a folder of this machine. */
  readonly hasRemotes: boolean;
  /** The trailers whose values programs make. */
  readonly trailers: readonly string[];
  /** The formats of archives that programs make. */
  readonly archives: readonly string[];
};

/** `unknown` when a file cannot be read as git would read it. */
export type GitSettings = NamedPrograms | "unknown";

const MAX_BYTES = 1024 * 1024;
const MAX_FILES = 100;
/** More of them, or longer names, would not fit into the variables of a program. */
const MAX_NAMES = 100;
const MAX_NAME = 500;

/** The places where git may work: these folders, and anywhere below one. */
type Places = { readonly folders: readonly string[]; readonly below?: string };

/** Looks in every repository around the folders: which of them git takes is for git to say. `home` is what `~` stands for. */
export async function gitSettingsAt({ folders, below }: Places, home: string | undefined): Promise<GitSettings> {
  try {
    const around = new Set<string>();
    for (const folder of folders) await addAround(around, await ifThere(realpath(folder)));
    for (const folder of below === undefined ? [] : await repositoriesBelow(below)) around.add(folder);
    const seen = new Set<string>();
    const settings: Setting[] = [];
    for (const folder of around) {
      for (const repository of [await gitFoldersAt(folder), await gitFoldersIn(folder)]) {
        if (repository === undefined) continue;
        for (const file of [join(repository.common, "config"), join(repository.own, "config.worktree")])
          await readInto(settings, file, { seen, home });
      }
    }
    return namedIn(settings);
  } catch {
    return "unknown";
  }
}

/** The folder and all around it. */
async function addAround(found: Set<string>, folder: string | undefined): Promise<void> {
  if (folder === undefined || found.has(folder)) return;
  found.add(folder);
  await addAround(found, dirname(folder));
}

const MAX_BELOW = 5000;

/** The folders below it, also behind links, that look as if git kept a repository there. */
async function repositoriesBelow(top: string): Promise<string[]> {
  const found: string[] = [];
  const seen = new Set<string>();
  const left = [top];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    const folder = await ifThere(realpath(path));
    if (folder === undefined || seen.has(folder)) continue;
    seen.add(folder);
    if (seen.size > MAX_BELOW) throw new Error("there are too many folders to look in");
    const entries = (await ifThere(readdir(folder, { withFileTypes: true }))) ?? [];
    if (entries.some(({ name }) => /^(?:\.git|HEAD)$/i.test(name))) found.push(folder);
    for (const entry of entries) if (entry.isDirectory() || entry.isSymbolicLink()) left.push(join(folder, entry.name));
  }
  return found;
}

/** For a folder that looks like one where git keeps a repository. */
async function gitFoldersIn(folder: string): Promise<Omit<GitFolders, "top"> | undefined> {
  if ((await ifThere(realpath(join(folder, "HEAD")))) === undefined) return undefined;
  const folders = await foldersOf(folder);
  const parts = await Promise.all(["objects", "refs"].map((part) => ifThere(realpath(join(folders.common, part)))));
  return parts.includes(undefined) ? undefined : folders;
}

type Setting = {
  readonly section: string;
  readonly name: string | undefined;
  readonly key: string;
  readonly value: string;
};
type Reading = { readonly seen: Set<string>; readonly home: string | undefined };

/** Adds the settings of a file and of those it includes, whatever their conditions. */
async function readInto(settings: Setting[], path: string, reading: Reading): Promise<void> {
  const file = await ifThere(realpath(path));
  if (file === undefined || reading.seen.has(path)) return;
  reading.seen.add(path);
  if (reading.seen.size > MAX_FILES) throw new Error("it includes too many files");
  for (const setting of parse((await readRegular(file, MAX_BYTES)).toString("utf8"))) {
    settings.push(setting);
    const { section, key, value } = setting;
    if ((section === "include" || section === "includeif") && key === "path")
      await readInto(settings, includedPath(value, dirname(path), reading.home), reading);
  }
}

/** The path as the system follows it: `..` behind a link is the folder above its target. */
function includedPath(value: string, folder: string, home: string | undefined): string {
  if (/[\t\r\n\ufffd]/.test(value)) throw new Error("it includes a file whose name cannot be read");
  if (value.startsWith("~/") && home !== undefined) return `${home}/${value.slice(2)}`;
  if (/^[~%]/.test(value)) throw new Error("it includes a file of another user or of git");
  return isAbsolute(value) ? value : `${folder}/${value}`;
}

/** A header with the name in it, a setting with its value, a comment, or blanks. */
const PART =
  /\[([A-Za-z0-9.-]+)(?:[ \t\r]+"((?:\\[^\n]|[^"\\\n])*)")?\]|([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=((?:"(?:\\[\s\S]|[^"\\\n])*"|\\[\s\S]|[^"\\\n;#])*)(?:[;#][^\n]*)?)?(?=\n|$)|[;#][^\n]*|[ \t\r\n]+/y;

function parse(text: string): Setting[] {
  const source = text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  if (source.includes("\0")) throw new Error("it is not a text");
  const settings: Setting[] = [];
  let section = "";
  let name: string | undefined;
  for (let at = 0; at < source.length; at = PART.lastIndex) {
    PART.lastIndex = at;
    const found = PART.exec(source);
    if (found === null) throw new Error("it is not one that git reads");
    const [, header, quoted, key, value = ""] = found;
    if (header !== undefined) {
      const [first = "", ...rest] = header.toLowerCase().split(".");
      section = first;
      const parts = quoted === undefined ? rest : [...rest, quoted.replace(/\\(.)/gsu, "$1")];
      name = parts.length === 0 ? undefined : parts.join(".");
    } else if (key !== undefined) settings.push({ section, name, key: key.toLowerCase(), value: unquoted(value) });
  }
  return settings;
}

const ESCAPES: Readonly<Record<string, string>> = { t: "\t", b: "\b", n: "\n" };

/** Git knows few kinds of blanks, and takes none away inside of quotes. The end of a line inside a value stays, so that no path has one. */
function unquoted(value: string): string {
  return trimEndOf(value, " \t\r")
    .replace(/^[ \t\r]+/, "")
    .replace(/\\([\s\S])|"/g, (_, escaped?: string) => (escaped === undefined ? "" : (ESCAPES[escaped] ?? escaped)));
}

function namedIn(settings: readonly Setting[]): NamedPrograms {
  const named = settings.filter(({ name }) => name !== undefined);
  const hasRemotes = named.some(({ section, key }) => section === "remote" && REMOTE_PROGRAMS.has(key));
  const trailers = named.flatMap(({ section, name = "", key }) =>
    section === "trailer" && TRAILER_PROGRAMS.has(key) ? [name] : [],
  );
  const archives = named.flatMap(({ section, name = "", key }) =>
    section === "tar" && key === "command" ? [name] : [],
  );
  return { hasRemotes, trailers: namesIn(trailers), archives: namesIn(archives) };
}

function namesIn(names: readonly string[]): readonly string[] {
  if (names.length > MAX_NAMES || names.some((name) => name.length > MAX_NAME || name.includes("\ufffd")))
    throw new Error("it has names that git cannot be told about");
  return [...new Set(names)];
}

const REMOTE_PROGRAMS: ReadonlySet<string> = new Set(["uploadpack", "receivepack"]);
const TRAILER_PROGRAMS: ReadonlySet<string> = new Set(["cmd", "command"]);
