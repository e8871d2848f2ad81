/** Where the command line keeps things: the folders of the XDG specification, never the home directory itself. */

import { isAbsolute, join, resolve } from "node:path";
import { CommandError } from "./exit-codes.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The database of runs: the flag, then `SOUS_DB_PATH`, then the user's folder for data. */
export function databaseFile(flag: string | undefined, env: Environment): string {
  const chosen = flag ?? (env.SOUS_DB_PATH || undefined);
  return chosen === undefined ? join(dataFolder(env), "sous", "sous.db") : resolve(expandHome(chosen, env));
}

function dataFolder(env: Environment): string {
  const { XDG_DATA_HOME: folder = "" } = env;
  // The specification wants a relative path to be ignored.
  return isAbsolute(folder) ? folder : join(homeFolder(env), ".local", "share");
}

/** `~` and `~/…`, which a shell leaves alone behind `=` and in variables. */
function expandHome(path: string, env: Environment): string {
  return path === "~" || path.startsWith("~/") ? join(homeFolder(env), path.slice(1)) : path;
}

function homeFolder({ HOME = "" }: Environment): string {
  if (isAbsolute(HOME)) return HOME;
  throw new CommandError("HOME is not set, so there is no place for runs: set XDG_DATA_HOME, or give --db-path FILE");
}
