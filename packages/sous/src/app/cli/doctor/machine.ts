/** What a check of `sous doctor` is, and the checks of the machine: the terminal, programs, processes. Starts nothing. */

import type { Variables } from "../../core/variables.ts";
import { countLeftovers } from "../../process/group-record.ts";
import { surroundingProjects } from "../application/programs.ts";
import { type ProcessContext, userFolder } from "../files/paths.ts";
import { chooseStyle, isUnicode, localeOf } from "../terminal/style.ts";
import { inertLine } from "../terminal/text.ts";

export type CheckState = "ok" | "warning" | "problem";

export type Check = {
  readonly name: string;
  readonly state: CheckState;
  readonly found: string;
  /** What to do, unless all is well. */
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
  const { openPrograms } = await import("../../process/programs.ts");
  const projects = (await surroundingProjects(context)).map((root) => ({ root, isTrusted: false }));
  // Without a folder for its records it looks for no leftovers, and ends none.
  await using programs = openPrograms({ environment: context.env, workspace: { cwd: context.cwd, projects } });
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
