/** Folders of the user and of the command, and how they are shown and typed. */

import { realpathSync } from "node:fs";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { orUndefined } from "../../../core/errors.ts";
import type { Variables } from "../../../core/process.ts";
import { secretsOf } from "../../../runtime/secrets/variables.ts";
import { CommandError } from "../exit-codes.ts";
import { inertLine } from "../terminal/text.ts";
import { alsoHide, withoutSecrets } from "./without-secrets.ts";

/** The folder and the variables that a command runs with. */
export type ProcessContext = { readonly cwd: string; readonly env: Variables };

export function processContext(): ProcessContext {
  return { cwd: process.cwd(), env: process.env };
}

/** The database of runs, a file or an address: the flag, then `SOUS_DB_PATH`, then the user's folder for data. */
export function databaseFile(flag: string | undefined, env: Variables): string {
  const chosen = flag ?? (env.SOUS_DB_PATH || undefined);
  if (chosen === undefined) return join(userFolder("data", env), "sous.db");
  if (!isAddress(chosen)) return resolve(expandHome(chosen, env));
  // Wherever the address came from, its password is not shown.
  alsoHide(databaseSecrets(chosen));
  return chosen;
}

/** The password in an address, under names that no other variable has. */
export function databaseSecrets(database: string | undefined): Record<string, string> {
  if (database === undefined || !isAddress(database)) return {};
  const secrets = secretsOf({ SOUS_DATABASE_URL: database });
  return Object.fromEntries(secrets.map(({ name, value }, index) => [`${name}_${index}`, value]));
}

/** The database for people: an address without its password. */
export function shownDatabase(database: string): string {
  const shown = isAddress(database) ? database.replace(/^([^:]+:\/\/[^\s/:@]*):[^@/]*@/, "$1@") : database;
  return inertLine(shown, 1000);
}

/** True for the address of a Postgres database; else it is a file. */
export function isAddress(database: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(database);
}

/** Settings and agents, runs, or logs and locks. */
export type FolderKind = "config" | "data" | "state";

const FOLDERS: Readonly<Record<FolderKind, { variable: string; below: readonly string[] }>> = {
  config: { variable: "XDG_CONFIG_HOME", below: [".config"] },
  data: { variable: "XDG_DATA_HOME", below: [".local", "share"] },
  state: { variable: "XDG_STATE_HOME", below: [".local", "state"] },
};

/** Our own folder of this kind; it need not be there. */
export function userFolder(kind: FolderKind, env: Variables): string {
  const { variable, below } = FOLDERS[kind];
  const given = env[variable] ?? "";
  // The specification wants a relative path to be ignored.
  return join(isAbsolute(given) ? given : join(homeFolder(env, variable), ...below), "sous");
}

/** Undefined when no home folder is known: then no files of sous exist, which is not an error. */
export function userFolderIfAny(kind: FolderKind, env: Variables): string | undefined {
  try {
    return userFolder(kind, env);
  } catch (error) {
    if (error instanceof CommandError) return undefined;
    throw error;
  }
}

export function userFileIfAny(kind: FolderKind, name: string, env: Variables): string | undefined {
  const folder = userFolderIfAny(kind, env);
  return folder === undefined ? undefined : join(folder, name);
}

/** `~` and `~/…`, which a shell leaves alone behind `=` and in variables. */
function expandHome(path: string, env: Variables): string {
  return path === "~" || path.startsWith("~/") ? join(homeFolder(env), path.slice(1)) : path;
}

function homeFolder({ HOME = "" }: Variables, variable = "XDG_DATA_HOME"): string {
  if (isAbsolute(HOME)) return HOME;
  throw new CommandError(
    variable === "XDG_DATA_HOME"
      ? "HOME is not set, so the folder for runs is not known: set XDG_DATA_HOME, or give --db-path FILE"
      : `HOME is not set, so the folder of sous is not known: set ${variable} or HOME`,
  );
}

/** Names the folder as stored runs do: without links, and without the secrets that are also removed from events. */
export function thisFolder(cwd: string = process.cwd()): string {
  return withoutSecrets(orUndefined(() => realpathSync(cwd)) ?? cwd);
}

/** True also for the folder itself. Both are absolute; compared by segment: `/work-evil` is not inside `/work`. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** `~/shop` below the home folder, otherwise the whole path. */
export function shortFolder(folder: string, home: string | undefined = process.env.HOME): string {
  const shown = inertLine(folder, 200);
  if (home === undefined || !home.startsWith("/") || home === "/") return shown;
  if (shown === home) return "~";
  return shown.startsWith(`${home}/`) ? `~${shown.slice(home.length)}` : shown;
}

/** One word of a command, so that it can be pasted into a shell whatever it holds. */
export function shellWord(text: string): string {
  const shown = inertLine(text, 1000);
  return /^[\w./@:+=,-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}

/** The command that changes to a folder. */
export function changeTo(folder: string): string {
  const short = shortFolder(folder);
  return /^~\/[\w./@+-]+$/.test(short) ? `cd ${short}` : `cd ${shellWord(folder)}`;
}
