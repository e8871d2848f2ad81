/** The type of a check of `sous doctor`, and the checks of the machine: the terminal, programs, processes, folders, the disk, the database. Starts nothing. */

import { accessSync, constants, lstatSync, type Stats, statfsSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "../../../core/errors.ts";
import type { Variables } from "../../../core/process.ts";
import { inspectDatabase } from "../../../storage/store/sqlite/inspect.ts";
import { countLeftovers } from "../../process/group-record.ts";
import { openOutside } from "../application/programs.ts";
import { type FolderKind, type ProcessContext, userFolder } from "../files/paths.ts";
import { chooseStyle, isUnicode, localeOf } from "../terminal/style.ts";
import { inertLine, plural } from "../terminal/text.ts";

export type CheckState = "ok" | "warning" | "problem";

export type Check = {
  readonly name: string;
  readonly state: CheckState;
  readonly found: string;
  /** Advice, unless all is well. */
  readonly fix?: string | undefined;
};

export function ok(name: string, found: string): Check {
  return { name, state: "ok", found };
}

export function warning(name: string, found: string, fix: string): Check {
  return { name, state: "warning", found, fix };
}

export function problem(name: string, found: string, fix: string): Check {
  return { name, state: "problem", found, fix };
}

/** The worst of them. */
export function stateOf(checks: readonly Check[]): CheckState {
  if (checks.some(({ state }) => state === "problem")) return "problem";
  return checks.some(({ state }) => state === "warning") ? "warning" : "ok";
}

export type Terminal = {
  readonly isTerminal: boolean;
  readonly columns: number | undefined;
  readonly rows: number | undefined;
};

export function checkVersions(node: string, sous: string): Check[] {
  // An older one does not get here: `main.ts` refuses it.
  return [ok("sous", sous), ok("node", `${node}; 22.18 or newer is needed`)];
}

const MIN_COLUMNS = 40;

export function checkTerminal({ isTerminal, columns, rows }: Terminal, env: Variables): Check {
  const { isLive, paint } = chooseStyle({ color: "auto", isAscii: false, isTerminal, env });
  const colour = paint("bold", "x") === "x" ? "no colour" : "colour";
  if (!isTerminal) return ok("terminal", `none: plain lines, ${colour}`);
  const size = columns && rows ? `${columns} × ${rows}` : "of unknown size";
  const found = `${size}, ${isLive ? "live" : "plain lines"}, ${colour}`;
  if (!isUnicode(env)) {
    const about = `the locale (${inertLine(localeOf(env), 40)}) is not UTF-8, so glyphs are plain as with --ascii`;
    return warning("terminal", `${found}; ${about}`, "set LC_ALL=C.UTF-8");
  }
  if (columns !== undefined && columns > 0 && columns < MIN_COLUMNS)
    return warning("terminal", found, `make it at least ${MIN_COLUMNS} columns wide`);
  return ok("terminal", `${found}, Unicode`);
}

type ProgramName = "bash" | "git" | "rg";

const PROGRAM_NAMES: readonly ProgramName[] = ["bash", "git", "rg"];

/** `found` has the file of each program, or undefined. */
export function checkPrograms(found: Readonly<Record<ProgramName, string | undefined>>): Check[] {
  return PROGRAM_NAMES.map((name) => (found[name] === undefined ? MISSING[name] : ok(name, found[name])));
}

const MISSING: Readonly<Record<ProgramName, Check>> = {
  bash: warning("bash", "not found in PATH: the terminal tool uses sh", "install bash"),
  git: warning("git", "not found in PATH: agents cannot look at the history of a project", "install git"),
  rg: ok("rg", "not found in PATH: grep searches by itself, and takes longer in large folders"),
};

/** The files of programs by name; undefined for those that are not found. Starts nothing. */
export async function findPrograms(context: ProcessContext): Promise<Record<ProgramName, string | undefined>> {
  await using programs = await openOutside(context);
  const found = await Promise.all(PROGRAM_NAMES.map(async (name) => [name, await programs.find(name)] as const));
  return Object.fromEntries(found) as Record<ProgramName, string | undefined>;
}

export async function checkLeftovers(env: Variables): Promise<Check> {
  try {
    const count = await countLeftovers(userFolder("state", env));
    if (count === 0) return ok("processes", "none left by earlier runs");
    const found = `${count} left by runs whose own process is gone`;
    return warning("processes", found, "the next sous run or sous chat ends them");
  } catch {
    return ok("processes", "nowhere to look for those of earlier runs");
  }
}

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
    const found = `${file}: version ${facts.version}, ${size}, ${plural(facts.runs, "run")}`;
    if (facts.damage !== undefined)
      return problem(name, `${file} is damaged: ${facts.damage}`, "keep a copy, and give another file with --db-path");
    const { damagedRuns, damagedLines } = facts;
    if (damagedRuns.length + damagedLines > 0) return warning(name, `${found}; ${damageWords(facts)}`, DAMAGE_FIX);
    return facts.isChecked
      ? ok(name, found)
      : warning(name, `${found}; too large to be checked here`, "sous replay --prune 30d deletes old runs");
  } catch (error) {
    return problem(name, messageOf(error), "give another file with --db-path, or move this one away");
  }
}

type Damages = Pick<NonNullable<ReturnType<typeof inspectDatabase>>, "damagedRuns" | "damagedLines">;

/** Max runs that are named. */
const MAX_NAMED = 5;

function damageWords({ damagedRuns, damagedLines }: Damages): string {
  const named = damagedRuns.slice(0, MAX_NAMED).map(({ id, reason }) => `${id} (${inertLine(reason, 150)})`);
  if (damagedRuns.length > MAX_NAMED) named.push(`${damagedRuns.length - MAX_NAMED} more`);
  const runs = named.length === 0 ? [] : [`${plural(damagedRuns.length, "damaged run")}: ${named.join(", ")}`];
  const lines =
    damagedLines === 0 ? [] : [`${plural(damagedLines, "damaged line")} of the totals, left out by sous stats`];
  return [...runs, ...lines].join("; ");
}

const DAMAGE_FIX =
  "sous replay --id ID --export html --output FILE saves what can be read of a run, and sous replay --prune AGE deletes old runs; other runs are not affected";
