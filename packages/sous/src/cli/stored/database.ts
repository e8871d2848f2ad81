/**
 * The database of runs: which file it is, and how commands open it. Every command asks here, so that one finds what another
 * has stored: the flag, then `agent.subagent.persistence_path` (its variables before the user's file), then the user's folder
 * for data.
 */

import { lstatSync } from "node:fs";
import type { Configuration } from "../../core/configuration.ts";
import { messageOf } from "../../core/errors.ts";
import type { StoredEvent } from "../../core/event.ts";
import type { Store } from "../../core/store.ts";
import type { SqliteStore } from "../../store/sqlite/store.ts";
import { readConfiguration } from "../application/configuration.ts";
import { CommandError } from "../exit-codes.ts";
import { databaseFile, shellWord } from "../files/paths.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { inertLine } from "../terminal/inert.ts";
import { tell } from "../terminal/output.ts";

/** What was typed about it. */
export type DatabaseFlags = { readonly dbPath: string | undefined; readonly configFile: string | undefined };

type Place = { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> };

/** The file, for a command that needs no other setting. A project may not choose it, so its files are not read. */
export async function findDatabase({ dbPath, configFile }: DatabaseFlags, { cwd, env }: Place): Promise<string> {
  // A mistake in the configuration is then no reason to fail.
  if (dbPath !== undefined) return databaseFile(dbPath, env);
  const { configuration } = await readConfiguration({ flags: { configFile }, cwd, env, project: undefined });
  return databaseFile(configuration.agent.subagent.persistencePath, env);
}

/** What is stored and where, for a command that runs agents. */
export function keepOf(keep: RunFlags["keep"], { agent: { subagent } }: Configuration): RunFlags["keep"] {
  return {
    ...keep,
    dbPath: keep.dbPath ?? subagent.persistencePath,
    isEphemeral: keep.isEphemeral || !subagent.persistenceEnabled,
  };
}

/** The options to print behind a command that is to find the same database: those that were typed. */
export function sameDatabase({ dbPath, configFile }: DatabaseFlags): string {
  const database = dbPath === undefined ? "" : ` --db-path ${shellWord(dbPath)}`;
  return configFile === undefined ? database : `${database} --config ${shellWord(configFile)}`;
}

/** Opens a database that exists; throws a `CommandError` otherwise. */
export async function openRuns(file: string, access: "read" | "write"): Promise<SqliteStore> {
  if (!isThere(file)) throw new CommandError(noDatabase(file));
  return openDatabase(file, { readOnly: access === "read" });
}

/** Creates the database if there is none. */
export async function openDatabase(file: string, options: { readOnly: boolean }): Promise<SqliteStore> {
  const { openSqliteStore } = await import("../../store/sqlite/store.ts");
  try {
    return await openSqliteStore(file, options);
  } catch (error) {
    if (!(options.readOnly && messageOf(error).includes("an older version of sous"))) throw error;
    // Opening it for writing brings it up to date.
    await (await openSqliteStore(file))[Symbol.asyncDispose]();
    return openSqliteStore(file, options);
  }
}

/** True also for what cannot be used as a database: opening it says why. An empty file counts as none. */
export function isThere(file: string): boolean {
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

const PAGE = 5000;

/** The events of a tree, a page at a time: a large one need not be held at once. */
export async function* eventsOf(store: Store, rootId: string): AsyncGenerator<StoredEvent> {
  for (let after = 0; ; ) {
    const page = await store.read(rootId, { after, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.seq;
  }
}

type KeepOptions = {
  dbPath: string | undefined;
  isEphemeral: boolean;
  /** Fail when the run cannot be stored. */
  isRequired: boolean;
};

/** Undefined when nothing is stored: as asked, or with a warning. Throws when storing is required. */
export async function openForRun({ dbPath, isEphemeral, isRequired }: KeepOptions): Promise<Store | undefined> {
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

/** Of a run that continued when its store failed. */
export function warnOfLoss(reason: string): void {
  tell(`warning: the run is not stored to its end, so it cannot be resumed: ${inertLine(reason)}`);
}
