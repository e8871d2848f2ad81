/** The private file that says which projects are trusted, and as what. */

import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { codeOf, messageOf, UserError } from "../../core/errors.ts";
import { type FileHash, readRegular } from "./files.ts";

/** One project, by its real path. */
export type TrustRecord = {
  readonly path: string;
  /** Of all its files together. */
  readonly sha256: string;
  readonly at: string;
  readonly files: readonly FileHash[];
  /** What its configuration denied and asked about: it still holds when the files have changed. */
  readonly rules: readonly NarrowingRule[];
  /** The notes of sub-folders that a person has seen: one that has changed is not read, and the rest stays trusted. */
  readonly nested: readonly FileHash[];
};

export type NarrowingRule = { readonly effect: "ask" | "deny"; readonly pattern: string };

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_RECORDS = 5000;
/** No process holds the lock for longer. */
const STALE_MS = 10_000;

function trustFile(stateFolder: string): string {
  return join(stateFolder, "trust.json");
}

/** Throws a `UserError` when the file is there and not one that only we can have written. */
export async function readTrustRecords(stateFolder: string): Promise<TrustRecord[]> {
  const file = trustFile(stateFolder);
  const found = await lstat(file).catch(() => undefined);
  if (found === undefined) return [];
  if (!found.isFile()) throw new UserError(`${file} is not a file of sous: remove it, then trust the project again`);
  const isForeign = process.getuid !== undefined && found.uid !== process.getuid();
  if (isForeign || (found.mode & 0o022) !== 0)
    throw new UserError(`${file} can be written by others, so it is not believed: remove it, then trust again`);
  try {
    return parse(await readRegular(file, MAX_BYTES));
  } catch (error) {
    throw new UserError(`${file} cannot be read (${messageOf(error)}): remove it, then trust the project again`);
  }
}

function parse(content: Buffer): TrustRecord[] {
  const value: unknown = JSON.parse(content.toString("utf8"));
  const records = typeof value === "object" && value !== null && "projects" in value ? value.projects : undefined;
  if (!Array.isArray(records)) throw new Error("it is damaged");
  return records.map(toRecord);
}

function toRecord(value: unknown): TrustRecord {
  const { path, sha256, at, files, rules, nested = [] } = fieldsOf(value);
  if (typeof path !== "string" || typeof sha256 !== "string" || typeof at !== "string")
    throw new Error("it is damaged");
  // A record without these lists, from an earlier version, matches no project, so that trust has to be given again.
  if (files === undefined && rules === undefined) return { path, sha256: "", at, files: [], rules: [], nested: [] };
  if (!Array.isArray(files) || !Array.isArray(rules) || !files.every(isHash) || !rules.every(isRule))
    throw new Error("it is damaged");
  if (!Array.isArray(nested) || !nested.every(isHash)) throw new Error("it is damaged");
  return { path, sha256, at, files, rules, nested };
}

function isHash(value: unknown): value is FileHash {
  const { path, sha256 } = fieldsOf(value);
  return typeof path === "string" && typeof sha256 === "string";
}

function isRule(value: unknown): value is NarrowingRule {
  const { effect, pattern } = fieldsOf(value);
  return (effect === "ask" || effect === "deny") && typeof pattern === "string";
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** One change at a time, whole or not at all: what one process takes back another does not write again. */
export async function changeTrustRecords(
  stateFolder: string,
  change: (records: readonly TrustRecord[]) => readonly TrustRecord[],
): Promise<void> {
  const file = trustFile(stateFolder);
  try {
    await makePrivateFolder(stateFolder);
    await using _lock = await lock(`${file}.lock`);
    const projects = change(await readTrustRecords(stateFolder)).slice(-MAX_RECORDS);
    await replace(file, `${JSON.stringify({ version: 1, projects }, undefined, 2)}\n`);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`${file} cannot be written: ${messageOf(error)}`, { cause: error });
  }
}

/** Folder by folder: Node's own way of making them all never ends where nothing can be made, as below `/proc`. */
async function makePrivateFolder(folder: string): Promise<void> {
  const found = await lstat(folder).catch(() => undefined);
  if (found?.isDirectory() === true) return chmod(folder, 0o700);
  if (found !== undefined) throw new UserError(`${folder} is not a folder: remove it, or set XDG_STATE_HOME`);
  await makeFolders(folder);
}

async function makeFolders(folder: string): Promise<void> {
  if (dirname(folder) === folder || (await lstat(folder).catch(() => undefined)) !== undefined) return;
  await makeFolders(dirname(folder));
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

async function lock(file: string): Promise<AsyncDisposable> {
  for (const deadline = Date.now() + STALE_MS; ; await wait(20)) {
    try {
      await (await open(file, "wx", 0o600)).close();
      return { [Symbol.asyncDispose]: () => rm(file, { force: true }) };
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      const heldSince = await stat(file).then(
        ({ mtimeMs }) => mtimeMs,
        () => Date.now(),
      );
      if (Date.now() - heldSince > STALE_MS || Date.now() > deadline) await rm(file, { force: true });
    }
  }
}

async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    await using handle = await open(draft, "wx", 0o600);
    await handle.writeFile(text);
    await handle.sync();
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await rename(draft, file);
}
