/**
 * The database of runs: which file it is, and how commands open it. Every command asks here, so that one finds what another
 * has stored: the flag, then `agent.subagent.persistence_path` (its variables before the user's file), then the user's folder
 * for data.
 */

import { lstatSync } from "node:fs";
import type { PlacingStore } from "../../../core/engine.ts";
import { messageOf } from "../../../core/errors.ts";
import type { RunResult } from "../../../core/runtime.ts";
import type { SharedBudgets } from "../../../core/shared-budget.ts";
import type { Store } from "../../../core/store.ts";
import type { SqliteStore } from "../../../storage/store/sqlite/store.ts";
import type { Configuration } from "../../config/configuration.ts";
import { CommandError } from "../exit-codes.ts";
import { databaseFile, isAddress, type ProcessContext, shellWord, shownDatabase } from "../files/paths.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";

/** The options about the database. */
export type DatabaseFlags = { readonly dbPath: string | undefined; readonly configFile: string | undefined };

export function databaseFlags({ storage, configFile }: RunFlags): DatabaseFlags {
  return { dbPath: storage.dbPath, configFile };
}

/** The file, for a command that needs no other setting. A project may not choose it, so its files are not read. */
export async function findDatabase(
  { dbPath, configFile }: DatabaseFlags,
  { cwd, env }: ProcessContext,
): Promise<string> {
  // A mistake in the configuration does not matter then.
  if (dbPath !== undefined) return databaseFile(dbPath, env);
  const { readConfiguration } = await import("../application/project.ts");
  const { configuration } = await readConfiguration({ flags: { configFile }, cwd, env, project: undefined });
  return databaseFile(configuration.agent.subagent.persistencePath, env);
}

/** Says what a command that runs agents stores, and where. */
export function storageOf(flags: RunFlags["storage"], { agent: { subagent } }: Configuration): RunFlags["storage"] {
  return {
    ...flags,
    dbPath: flags.dbPath ?? subagent.persistencePath,
    isEphemeral: flags.isEphemeral || !subagent.persistenceEnabled,
  };
}

/** The options to print behind a command that is to find the same database: those that were typed. */
export function sameDatabase({ dbPath, configFile }: DatabaseFlags): string {
  const database = dbPath === undefined ? "" : ` --db-path ${shellWord(shownDatabase(dbPath))}`;
  return configFile === undefined ? database : `${database} --config ${shellWord(configFile)}`;
}

/** The command that continues a run of this database. */
export function resumeCommand(runId: string, flags: DatabaseFlags, ...options: readonly string[]): string {
  return `${["sous resume", inertLine(runId, 60), ...options].join(" ")}${sameDatabase(flags)}`;
}

/** A store that commands can open. Only that of a file has the rest. */
export type Database = Store & SharedBudgets & PlacingStore & Partial<Pick<SqliteStore, "backup" | "vacuum">>;

/** Opens a database that exists; throws a `CommandError` otherwise. */
export async function openRuns(file: string, access: "read" | "write"): Promise<Database> {
  if (!isThere(file)) throw new CommandError(noDatabase(file));
  return openDatabase(file, { readOnly: access === "read" });
}

/** Creates the database if it does not exist. */
export async function openDatabase(file: string, options: { readOnly: boolean }): Promise<Database> {
  if (isAddress(file)) {
    const { openPostgresStore } = await import("../../../storage/store/postgres/store.ts");
    return openPostgresStore({ connectionString: file });
  }
  const { openSqliteStore } = await import("../../../storage/store/sqlite/store.ts");
  try {
    return await openSqliteStore(file, options);
  } catch (error) {
    if (!(options.readOnly && messageOf(error).includes("an older version of sous"))) throw error;
    await bringUpToDate(file);
    return openSqliteStore(file, options);
  }
}

/** Opening it for writing does that. A person who may only read it has to ask one who may write. */
async function bringUpToDate(file: string): Promise<void> {
  const { openSqliteStore } = await import("../../../storage/store/sqlite/store.ts");
  try {
    await (await openSqliteStore(file))[Symbol.asyncDispose]();
  } catch (error) {
    throw new CommandError(
      `${inertLine(file)} was written by an older version of sous and cannot be brought up to date: ${inertLine(messageOf(error))}`,
    );
  }
}

/** True also for what cannot be used as a database: opening it says why. An empty file counts as none. */
export function isThere(file: string): boolean {
  if (isAddress(file)) return true;
  try {
    const found = lstatSync(file, { throwIfNoEntry: false });
    return found !== undefined && !(found.isFile() && found.size === 0);
  } catch {
    return true;
  }
}

export function noDatabase(file: string): string {
  return `There are no runs yet: no database at ${inertLine(file)}. sous demo makes one.`;
}

/** Undefined when nothing is stored: as asked, or with a warning. Throws when storing is required. */
export async function openForRun({ dbPath, isEphemeral, isRequired }: RunFlags["storage"]): Promise<Store | undefined> {
  if (isEphemeral) return undefined;
  try {
    return await openDatabase(databaseFile(dbPath, process.env), { readOnly: false });
  } catch (error) {
    const reason = messageOf(error);
    if (isRequired) throw new CommandError(`The run cannot be stored, as --require-store wants it: ${reason}`);
    tell(`warning: the run is not stored: ${inertLine(reason)}`);
    return undefined;
  }
}

/** Warns about a run that continued when its store failed. A run that failed with its store says so itself. */
export function warnOfLoss({ lost, error }: RunResult): void {
  if (lost === undefined || error?.type === "store") return;
  tell(`warning: the run is not stored to its end, so it cannot be resumed: ${inertLine(lost)}`);
}
