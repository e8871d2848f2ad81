/** The agents and the client that others wrote, in the exact versions of their lockfile. Their install scripts do not run. */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "../peers");
const MODULES = join(FOLDER, "node_modules");

type Locked = Record<string, { version?: string; optional?: boolean }>;

/** Installs what is missing. The sentence when that cannot be done. */
export function installPeers(): string | undefined {
  if (isInstalled()) return undefined;
  console.log("installing the peers of npm run interop (1.2 GB)");
  const npm = process.env.npm_execpath;
  const [program, first] = npm === undefined ? ["npm", []] : [process.execPath, [npm]];
  // Not `npm ci`: it wants the packages of all other platforms in the lockfile, and not all of them are to be had.
  const { status } = spawnSync(program, [...first, "install", "--ignore-scripts", "--no-save"], {
    cwd: FOLDER,
    env: ownEnvironment(),
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status === 0 && isInstalled()) return undefined;
  return `The agents could not be installed: run npm install --ignore-scripts --no-save in ${FOLDER} to see why`;
}

/** A file of an installed peer. */
export function peerFile(...parts: string[]): string {
  return join(MODULES, ...parts);
}

/** The variables of `npm run` would make the inner npm work on the outer project. */
export function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith("npm_")));
}

function isInstalled(): boolean {
  const there = join(MODULES, ".package-lock.json");
  if (!existsSync(there)) return false;
  const installed = packagesOf(there);
  return Object.entries(packagesOf(join(FOLDER, "package-lock.json"))).every(
    ([path, { version, optional }]) => path === "" || optional === true || installed[path]?.version === version,
  );
}

function packagesOf(file: string): Locked {
  return (JSON.parse(readFileSync(file, "utf8")) as { packages: Locked }).packages;
}
