/** The checks of `sous doctor` about our folders: who may read them, the disk, the database. */

import { accessSync, constants, lstatSync, type Stats, statfsSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "../../core/errors.ts";
import type { Variables } from "../../core/variables.ts";
import { inspectDatabase } from "../../store/sqlite/inspect.ts";
import { type FolderKind, userFolder } from "../files/paths.ts";
import { type Check, ok, problem, warning } from "./machine.ts";

const KINDS: readonly FolderKind[] = ["config", "data", "state"];

export function checkFolders(env: Variables): Check[] {
  return KINDS.map((kind) => {
    const name = `${kind} folder`;
    try {
      return checkFolder(name, userFolder(kind, env));
    } catch (error) {
      return problem(name, messageOf(error), "set HOME, or the XDG variables, to a folder of your own");
    }
  });
}

function checkFolder(name: string, folder: string): Check {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) {
    const above = nearestFolder(folder);
    return isWritable(above)
      ? ok(name, `${folder} is made when it is needed`)
      : problem(name, `${folder} cannot be made: ${above} is not writable`, `make ${above} writable for you`);
  }
  if (!found.isDirectory() && !found.isSymbolicLink())
    return problem(name, `${folder} is not a folder`, `move it away: mv ${folder} ${folder}.old`);
  const fault = ownerFault(found, folder) ?? secretFault(found, folder);
  if (fault !== undefined) return { name, ...fault };
  return isWritable(folder) ? ok(name, folder) : problem(name, `${folder} is not writable`, `chmod 700 ${folder}`);
}

type Fault = Omit<Check, "name">;

function ownerFault({ uid }: Stats, path: string): Fault | undefined {
  const me = process.getuid?.();
  if (me === undefined || uid === me) return undefined;
  return { state: "problem", found: `${path} belongs to another user (${uid})`, fix: `chown -R ${me} ${path}` };
}

/** A user who can write here controls what sous does; one who can read here sees what was said. */
function secretFault(found: Stats, path: string): Fault | undefined {
  if (found.isSymbolicLink()) return undefined;
  const fix = `chmod go-rwx ${path}`;
  if ((found.mode & 0o022) !== 0) return { state: "problem", found: `${path} can be changed by others`, fix };
  if ((found.mode & 0o044) !== 0) return { state: "warning", found: `${path} can be read by others`, fix };
  return undefined;
}

/** A user who can change the settings decides what sous does. Empty when only the owner can. */
export function checkSettingsFile(env: Variables): Check[] {
  const name = "settings file";
  try {
    const file = join(userFolder("config", env), "config.yaml");
    const found = lstatSync(file, { throwIfNoEntry: false });
    const fault = found === undefined ? undefined : (ownerFault(found, file) ?? secretFault(found, file));
    return fault?.state === "problem" ? [{ name, ...fault }] : [];
  } catch {
    // The check of the folders reports a folder that cannot be named.
    return [];
  }
}

const MEGABYTE = 1024 * 1024;
const MIN_MEGABYTES = 10;
const FEW_MEGABYTES = 200;

export function checkDisk(file: string): Check {
  const folder = nearestFolder(dirname(file));
  const { bavail, bsize } = statfsSync(folder);
  const megabytes = Math.floor((bavail * bsize) / MEGABYTE);
  const found = `${inWords(megabytes)} free at ${folder}`;
  const fix = "make room, or choose another disk with --db-path; sous replay --prune 30d deletes old runs";
  if (megabytes < MIN_MEGABYTES) return problem("disk", found, fix);
  return megabytes < FEW_MEGABYTES ? warning("disk", found, fix) : ok("disk", found);
}

function inWords(megabytes: number): string {
  return megabytes < 1024 ? `${megabytes} MB` : `${Math.floor(megabytes / 1024)} GB`;
}

/** This folder, or the first one above it that exists. */
function nearestFolder(folder: string): string {
  const isThere = lstatSync(folder, { throwIfNoEntry: false }) !== undefined;
  return isThere || dirname(folder) === folder ? folder : nearestFolder(dirname(folder));
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export async function checkDatabase(file: string): Promise<Check> {
  const name = "database";
  try {
    const facts = await inspectDatabase(file);
    if (facts === undefined) return ok(name, `none yet at ${file}; the first run makes it`);
    const size = `${(facts.bytes / MEGABYTE).toFixed(1)} MB`;
    const found = `${file}: version ${facts.version}, ${size}, ${facts.runs} ${facts.runs === 1 ? "run" : "runs"}`;
    if (facts.damage !== undefined)
      return problem(name, `${file} is damaged: ${facts.damage}`, "keep a copy, and give another file with --db-path");
    return facts.isChecked
      ? ok(name, found)
      : warning(name, `${found}; too large to be checked here`, "sous replay --prune 30d deletes old runs");
  } catch (error) {
    return problem(name, messageOf(error), "give another file with --db-path, or move this one away");
  }
}
