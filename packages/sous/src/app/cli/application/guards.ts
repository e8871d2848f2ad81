/** The files of this machine that are guarded for a command: those it was started with, and those that programs obey. */

import { readdir, readlink, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { GuardPaths } from "../../../core/guarded-files.ts";
import type { Configuration } from "../../config/configuration.ts";
import { projectRoot } from "../../config/trust/files.ts";
import type { ProjectTrust } from "../../config/trust/trust.ts";
import { databaseFile, isAddress, isInside, type ProcessContext, userFolderIfAny } from "../files/paths.ts";
import { scriptFile } from "./models.ts";

type GuardRequest = ProcessContext & {
  readonly configFile: string | undefined;
  /** The path of the database, as the flag or the configuration says. */
  readonly dbPath: string | undefined;
  /** Further files that options name, such as the log. */
  readonly optionFiles: readonly (string | undefined)[];
};

/** Variables that name a file or a folder which programs obey without being called. */
const OBEYED_VARIABLES = [
  ...["XDG_DATA_HOME", "XDG_BIN_HOME", "ZDOTDIR", "BASH_ENV", "ENV", "INPUTRC", "CURL_HOME"],
  ...["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_TEMPLATE_DIR", "GIT_EXEC_PATH", "GNUPGHOME", "CARGO_HOME"],
  ...["NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "NPM_CONFIG_GLOBALCONFIG", "npm_config_globalconfig"],
  ...["RIPGREP_CONFIG_PATH", "PYTHONSTARTUP", "MYVIMRC", "WGETRC", "DOCKER_CONFIG", "KUBECONFIG", "AWS_CONFIG_FILE"],
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"],
];

export async function guardPaths(
  request: GuardRequest,
  { model, provider }: Pick<Configuration, "model" | "provider">,
  trust: Pick<ProjectTrust, "root" | "files"> | undefined,
): Promise<GuardPaths> {
  const { cwd, env } = request;
  const links = (trust?.files ?? []).filter(({ target }) => target !== undefined);
  const [top, refused, asked, homes, programFolders] = await Promise.all([
    trust?.root ?? projectRoot(cwd),
    withReal([
      ...startedWith(request, model),
      ...(await linkedOwn(env)),
      ...(await keyFiles(cwd, provider.apiKeyCommand)),
    ]),
    withReal(obeyed(env, cwd)),
    withReal([env.HOME || homedir()].filter(isAbsolute)),
    withReal((env.PATH ?? "").split(delimiter).filter(isAbsolute)),
  ]);
  const trusted = await withReal(links.map(({ path }) => join(trust?.root ?? cwd, path)));
  const linked = (await Promise.all(homes.map((home) => linkedSettings(home, cwd)))).flat();
  return { top, refused, asked: [...asked, ...trusted, ...linked], homes, programFolders };
}

/** Large folders of the home in which programs store data and no settings. */
const DATA_FOLDERS = new Set([
  ...[".cache", ".local", ".npm", ".nvm", ".cargo"],
  ...[".rustup", ".gradle", ".m2", ".pyenv", ".rbenv"],
]);
const MAX_FOLDERS = 200;

/** Targets of links among the settings of the home: users often store those in a repository and edit them there. */
async function linkedSettings(home: string, cwd: string): Promise<string[]> {
  const [top, inside] = await Promise.all([entriesOf(home), entriesOf(join(home, ".config"))]);
  const folders = [
    ...top.folders.filter((name) => name.startsWith(".") && !DATA_FOLDERS.has(name)),
    ...inside.folders.map((name) => join(".config", name)),
  ];
  const deeper = await Promise.all(folders.slice(0, MAX_FOLDERS).map((name) => entriesOf(join(home, name))));
  const settings = [inside, ...deeper].flatMap(({ links }) => links);
  // A link in the home to a folder that holds the workspace is a way to it.
  const own = (await Promise.all(top.links.map((each) => realPathOf(each)))).filter((path) => !isInside(path, cwd));
  return [...own, ...(await Promise.all(settings.map((each) => realPathOf(each))))];
}

async function entriesOf(folder: string): Promise<{ links: string[]; folders: string[] }> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return {
    links: entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(folder, name)),
    folders: entries.filter((entry) => entry.isDirectory()).map(({ name }) => name),
  };
}

/** The files of our own settings, wherever links lead. */
async function linkedOwn(env: GuardRequest["env"]): Promise<string[]> {
  const folder = userFolderIfAny("config", env);
  if (folder === undefined) return [];
  const [own, agents] = await Promise.all([entriesOf(folder), entriesOf(join(folder, "agents"))]);
  return [join(folder, "config.yaml"), join(folder, "agents"), ...own.links, ...agents.links];
}

/** A folder of data that holds the workspace says nothing about a file in it; one of settings does. */
function obeyed(env: GuardRequest["env"], cwd: string): string[] {
  const named = OBEYED_VARIABLES.flatMap((name) => env[name] || []).filter((path) => !isInside(path, cwd));
  return [...named, env.XDG_CONFIG_HOME ?? ""].filter(isAbsolute);
}

/** The files that sous obeys in this run and in the next one of the same kind. */
function startedWith({ cwd, env, configFile, dbPath, optionFiles }: GuardRequest, model: string | undefined): string[] {
  const named = [configFile, env.SOUS_CONFIG, ...optionFiles, model && scriptFile(model)];
  return [
    ...(["config", "data", "state"] as const).flatMap((kind) => userFolderIfAny(kind, env) ?? []),
    ...named.flatMap((path) => (path ? [resolve(cwd, path)] : [])),
    ...databases(dbPath, env),
    ...ownPackages(),
  ];
}

/** Words of the command that gives the key which are files, such as a script in the workspace. */
async function keyFiles(cwd: string, command = ""): Promise<string[]> {
  const words = command.split(/\s+/).filter((word) => word !== "");
  const found = await Promise.all(
    words.map(async (word) => {
      const path = resolve(cwd, word);
      const isFile = await stat(path).then(
        (stats) => stats.isFile(),
        () => false,
      );
      return isFile ? [path] : [];
    }),
  );
  return found.flat();
}

/** The one of this run, and the one that is used without a flag. Without a home there may be none. */
function databases(dbPath: string | undefined, env: GuardRequest["env"]): string[] {
  const isKnown = Boolean(env.SOUS_DB_PATH) || userFolderIfAny("data", env) !== undefined;
  const named = [
    ...(dbPath === undefined ? [] : [databaseFile(dbPath, env)]),
    ...(isKnown ? [databaseFile(undefined, env)] : []),
  ];
  return named.filter((database) => !isAddress(database));
}

/** The folder of packages that sous itself runs from, if it was installed into one. */
function ownPackages(): string[] {
  const parts = fileURLToPath(import.meta.url).split(sep);
  const at = parts.indexOf("node_modules");
  return at === -1 ? [] : [parts.slice(0, at + 1).join(sep)];
}

/** Each path as it is written, and without links. */
async function withReal(paths: readonly string[]): Promise<string[]> {
  const named = paths.map((path) => resolve(path));
  return [...new Set([...named, ...(await Promise.all(named.map((each) => realPathOf(each))))])];
}

/** Max links without a target that are followed. */
const MAX_LINKS = 40;

/** The path without links, also when the target of a link does not exist yet. */
async function realPathOf(path: string, depth = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const above = dirname(path);
    if (above === path || depth > MAX_LINKS) return path;
    const target = await readlink(path).catch(() => undefined);
    if (target !== undefined) return realPathOf(resolve(above, target), depth + 1);
    return join(await realPathOf(above, depth), basename(path));
  }
}
