/** Notes of sub-folders: read when they are what a person has seen, each by its own hash. */

import { join, posix } from "node:path";
import { readRegular } from "../../../machine/private-file.ts";
import { toNotes } from "../agents/load.ts";
import { type FileHash, hashesOf, NOTES_NAMES } from "./files.ts";

/** A larger file is no note. */
const MAX_FILE_BYTES = 256 * 1024;
/** Max bytes of one note: it is added to the result of a tool. */
const MAX_NOTE_BYTES = 16 * 1024;
/** Max notes of one project, so that each command can read them. */
export const MAX_NESTED = 200;

export type NestedNote = { readonly path: string; readonly text: string };

export type NestedNotes = {
  /** The notes by their folder, relative to the root of the project. */
  readonly byFolder: ReadonlyMap<string, NestedNote>;
  /** The notes that changed since they were trusted. */
  readonly changed: readonly string[];
};

/** Takes one of several notes in a folder: `AGENTS.md`, else `CLAUDE.md`, else `GEMINI.md`. In order of their paths. */
export function oneForEachFolder(paths: Iterable<string>): string[] {
  const best = new Map<string, string>();
  const rank = (path: string): number => NOTES_NAMES.indexOf(posix.basename(path));
  for (const path of paths) {
    const folder = posix.dirname(path);
    const known = best.get(folder);
    if (known === undefined || rank(path) < rank(known)) best.set(folder, path);
  }
  return [...best.values()].sort();
}

/** The hash and the size of each that can be read. A link is not followed. */
export async function hashNested(root: string, paths: readonly string[]): Promise<(FileHash & { bytes: number })[]> {
  const all = await Promise.all(paths.map((path) => hashOf(root, path)));
  return all.flatMap((each) => (each === undefined ? [] : [{ ...each.hash, bytes: each.content.length }]));
}

/** Reads those that were trusted, and gives the text of those that are still the same. */
export async function readNested(root: string, trusted: readonly FileHash[]): Promise<NestedNotes> {
  const byFolder = new Map<string, NestedNote>();
  const changed: string[] = [];
  const found = await Promise.all(trusted.slice(0, MAX_NESTED).map(({ path }) => hashOf(root, path)));
  for (const [index, { path, sha256 }] of trusted.slice(0, MAX_NESTED).entries()) {
    const now = found[index];
    if (now?.hash.sha256 !== sha256) {
      changed.push(path);
      continue;
    }
    const notes = toNotes(posix.basename(path), now.content, MAX_NOTE_BYTES);
    if (notes !== undefined) byFolder.set(posix.dirname(path), { path, text: notes.text });
  }
  return { byFolder, changed };
}

async function hashOf(root: string, path: string): Promise<{ hash: FileHash; content: Buffer } | undefined> {
  const content = await readRegular(join(root, path), MAX_FILE_BYTES).catch(() => undefined);
  const [hash] = hashesOf([{ path, target: undefined, content }]);
  return content === undefined || hash === undefined ? undefined : { hash, content };
}
