/**
 * Which database a command uses. Every command asks here, so that one finds what another has stored: the flag, then the
 * setting `agent.subagent.persistence_path` (its variables before the user's file), then the user's folder for data.
 */

import type { Configuration } from "../core/configuration.ts";
import { readConfiguration } from "./assemble-configuration.ts";
import { shellWord } from "./folders.ts";
import { databaseFile } from "./paths.ts";
import type { RunFlags } from "./run-flags.ts";

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
