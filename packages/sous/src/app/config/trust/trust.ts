/**
 * Trust: whether the files of a project may be read. It is given to a folder as it is, and ends with the first change.
 * The project's own rules that deny and ask still hold after that: a run must not get more by changing a file.
 */

import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { PermissionRule } from "../../../core/configuration.ts";
import { messageOf, UserError } from "../../../core/errors.ts";
import { type Binding, bindingsFor } from "./bindings.ts";
import {
  type FileHash,
  hashesOf,
  NOTES_NAMES,
  type ProjectFile,
  type ProjectSnapshot,
  presentPaths,
  projectRoot,
  readProject,
  realFolder,
  withContent,
} from "./files.ts";
import { changeTrustRecords, readTrustRecords, type TrustRecord } from "./record.ts";

export type ProjectTrust = {
  /** The real path of the folder in question. */
  readonly root: string;
  readonly state: "trusted" | "unknown" | "changed";
  /** The files that would be read; found by looking only. When it is empty, no notice is needed. */
  readonly present: readonly string[];
  /** The reason why it is not trusted, when that is not a matter of asking. */
  readonly problem: string | undefined;
  /** The files as they were when they were compared; empty unless it is trusted. Reading them again may give others. */
  readonly files: readonly ProjectFile[];
  /** Changes since it was trusted: `changed AGENTS.md`, `added .mcp.json`, `removed .sous/config.yaml`. */
  readonly changes: readonly string[];
  /**
   * Rules that deny and ask, as they were when trust was given: of a project that has changed since then, of every trusted
   * folder above, so that a repository made inside of one is bound by them too, and of every trusted worktree of its repository.
   */
  readonly heldRules: readonly PermissionRule[];
  /** The notes of sub-folders as they were when trust was given; empty unless it is trusted. */
  readonly nested: readonly FileHash[];
};

type TrustFolders = { readonly cwd: string; readonly stateFolder: string };

/**
 * Never throws. For a project without a record nothing is opened; the files of one with a record are read to be compared.
 * A record is for exactly one folder: one above it gives no trust to a repository inside.
 */
export async function trustOf({ cwd, stateFolder }: TrustFolders): Promise<ProjectTrust> {
  const found = { present: [], problem: undefined, files: [], changes: [], heldRules: [], nested: [] };
  let records: readonly TrustRecord[];
  try {
    records = await readTrustRecords(stateFolder);
  } catch (error) {
    const root = await projectRoot(cwd);
    return { ...found, root, state: "unknown", present: await presentPaths(root), problem: messageOf(error) };
  }
  const start = await realFolder(cwd);
  const root = await projectRoot(start, pathsOf(records));
  const present = await presentPaths(root);
  const bindings = await bindingsFor(start, records);
  const record = records.find(({ path }) => path === root);
  const heldRules = bindings.flatMap(rulesOf);
  if (record === undefined) return { ...found, root, state: "unknown", present, heldRules };
  try {
    const { sha256, files } = await readProject(root);
    if (sha256 === record.sha256) {
      const above = bindings.filter((each) => each.record !== record).flatMap(rulesOf);
      return { ...found, root, state: "trusted", present, files, heldRules: above, nested: record.nested };
    }
    return { ...found, root, state: "changed", present, changes: changesSince(record, files), heldRules };
  } catch (error) {
    return { ...found, root, state: "changed", present, problem: messageOf(error), heldRules };
  }
}

/** Trusts the project as the snapshot has it. What has changed since then is not trusted. */
export async function trust(
  root: string,
  { sha256, files }: ProjectSnapshot,
  { stateFolder, at, nested = [] }: { stateFolder: string; at: Date; nested?: readonly FileHash[] },
): Promise<void> {
  const { rulesOfProject } = await import("../file-layer.ts");
  const rules = rulesOfProject(files);
  const record: TrustRecord = { path: root, sha256, at: at.toISOString(), files: hashesOf(files), rules, nested };
  await changeTrustRecords(stateFolder, (records) => [...records.filter(({ path }) => path !== root), record]);
}

/** False when it was not trusted. */
export async function revoke({ cwd, stateFolder }: TrustFolders): Promise<boolean> {
  const records = await readTrustRecords(stateFolder);
  const root = await projectRoot(cwd, pathsOf(records));
  const isKnown = records.some(({ path }) => path === root);
  if (isKnown) await changeTrustRecords(stateFolder, (all) => all.filter(({ path }) => path !== root));
  return isKnown;
}

/**
 * Writes a file, and keeps the trust of the project if the file is its notes. Only for a write that a person has allowed.
 * The record is changed to what was compared before the write plus the content that was written, and only if it is still
 * the record that was compared: what is changed meanwhile is not trusted by this.
 */
export async function writeTrusted(
  folders: TrustFolders,
  { file, content }: { file: string; content: Uint8Array },
  write: () => Promise<void>,
): Promise<void> {
  const { root, state, files } = await trustOf(folders);
  const path = state === "trusted" ? await notesAt(file, root, files) : undefined;
  await write();
  if (path === undefined) return;
  const before = hashesOf(files);
  const { sha256, files: now } = withContent({ files }, path, Buffer.from(content));
  const isCompared = (record: TrustRecord): boolean =>
    record.path === root && JSON.stringify(record.files) === JSON.stringify(before);
  try {
    await changeTrustRecords(folders.stateFolder, (records) =>
      records.map((record) => (isCompared(record) ? { ...record, sha256, files: hashesOf(now) } : record)),
    );
  } catch (error) {
    // The file was written, so the call has not failed: the trust is lost, and the next command says so.
    if (!(error instanceof UserError)) throw error;
  }
}

/** The name of the notes, if the file is or becomes them; they may be a link to another file of the project. */
async function notesAt(file: string, root: string, files: readonly ProjectFile[]): Promise<string | undefined> {
  const name = files.find(({ path }) => NOTES_NAMES.includes(path))?.path;
  const written = NOTES_NAMES.find((each) => file === join(root, each));
  const isRead = name === undefined || NOTES_NAMES.indexOf(written ?? "") <= NOTES_NAMES.indexOf(name);
  if (written !== undefined && isRead) return written;
  if (name === undefined) return undefined;
  const notes = join(root, name);
  const isLink = files.some(({ path, target }) => path === name && target !== undefined);
  const real = isLink ? await realpath(notes).catch(() => undefined) : undefined;
  return real === file ? name : undefined;
}

function changesSince(record: TrustRecord, files: readonly ProjectFile[]): string[] {
  const before = new Map(record.files.map(({ path, sha256 }) => [path, sha256]));
  const now = new Map(hashesOf(files).map(({ path, sha256 }) => [path, sha256]));
  return [
    ...[...now].flatMap(([path, sha256]) =>
      before.has(path) && before.get(path) !== sha256 ? [`changed ${path}`] : [],
    ),
    ...[...now.keys()].filter((path) => !before.has(path)).map((path) => `added ${path}`),
    ...[...before.keys()].filter((path) => !now.has(path)).map((path) => `removed ${path}`),
  ];
}

function rulesOf({ record: { path, rules }, root }: Binding): PermissionRule[] {
  const origin = `${join(path, ".sous/config.yaml")} as it was when it was trusted`;
  return rules.map((rule) => ({ ...rule, origin, root }));
}

function pathsOf(records: readonly TrustRecord[]): string[] {
  return records.map(({ path }) => path);
}
