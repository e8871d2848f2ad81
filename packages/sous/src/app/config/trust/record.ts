/** The private file that says which projects are trusted, and as what. */

import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, UserError } from "../../../core/errors.ts";
import { isRecord } from "../../../core/schema.ts";
import { changeLocked, readRegular, replaceFile, whyNotOurs } from "../../../machine/private-file.ts";
import type { FileHash } from "./files.ts";

/** One project, by its real path. */
export type TrustRecord = {
  readonly path: string;
  /** The hash of all its files together. */
  readonly sha256: string;
  readonly at: string;
  readonly files: readonly FileHash[];
  /** The rules by which its configuration denied and asked: they still hold when the files have changed. */
  readonly rules: readonly NarrowingRule[];
  /** The notes of sub-folders that a person has seen: one that has changed is not read, and the rest stays trusted. */
  readonly nested: readonly FileHash[];
};

export type NarrowingRule = { readonly effect: "ask" | "deny"; readonly pattern: string };

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_RECORDS = 5000;

function trustFile(stateFolder: string): string {
  return join(stateFolder, "trust.json");
}

/** Throws a `UserError` when the file is there and not one that only we can have written. */
export async function readTrustRecords(stateFolder: string): Promise<TrustRecord[]> {
  const file = trustFile(stateFolder);
  if ((await lstat(file).catch(() => undefined)) === undefined) return [];
  const problem = await whyNotOurs(file);
  if (problem !== undefined) throw new UserError(`${file} ${problem}: remove it, then trust the project again`);
  try {
    const value: unknown = JSON.parse((await readRegular(file, MAX_BYTES)).toString("utf8"));
    if (!isRecord(value) || !Array.isArray(value.projects)) throw new Error("it is damaged");
    return value.projects.map(toRecord);
  } catch (error) {
    throw new UserError(`${file} cannot be read (${messageOf(error)}): remove it, then trust the project again`);
  }
}

function toRecord(value: unknown): TrustRecord {
  const { path, sha256, at, files, rules, nested = [] } = isRecord(value) ? value : {};
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
  const { path, sha256 } = isRecord(value) ? value : {};
  return typeof path === "string" && typeof sha256 === "string";
}

function isRule(value: unknown): value is NarrowingRule {
  const { effect, pattern } = isRecord(value) ? value : {};
  return (effect === "ask" || effect === "deny") && typeof pattern === "string";
}

/** One change at a time, whole or not at all: what one process takes back another does not write again. */
export async function changeTrustRecords(
  stateFolder: string,
  change: (records: readonly TrustRecord[]) => readonly TrustRecord[],
): Promise<void> {
  const file = trustFile(stateFolder);
  try {
    await changeLocked(file, async () => {
      const projects = change(await readTrustRecords(stateFolder)).slice(-MAX_RECORDS);
      await replaceFile(file, `${JSON.stringify({ version: 1, projects }, undefined, 2)}\n`);
    });
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`${file} cannot be written: ${messageOf(error)}`, { cause: error });
  }
}
