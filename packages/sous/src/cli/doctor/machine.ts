/** What `sous doctor` finds out about the machine: Node, the terminal, programs that tools use. Starts nothing. */

import { inertLine } from "../terminal/inert.ts";
import { chooseStyle, isUnicode, localeOf } from "../terminal/style.ts";
import { type Check, ok, warning } from "./check.ts";

export type Terminal = {
  readonly isTerminal: boolean;
  readonly columns: number | undefined;
  readonly rows: number | undefined;
};

type Environment = Readonly<Record<string, string | undefined>>;

export function checkVersions(node: string, sous: string): Check[] {
  // An older one does not get here: `main.ts` refuses it.
  return [ok("sous", sous), ok("node", `${node}; 22.18 or newer is needed`)];
}

const MIN_COLUMNS = 40;

export function checkTerminal({ isTerminal, columns, rows }: Terminal, env: Environment): Check {
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

export type ProgramName = "bash" | "git" | "rg";

export const PROGRAM_NAMES: readonly ProgramName[] = ["bash", "git", "rg"];

/** By name, where it is; undefined for what is not there. */
export function checkPrograms(found: Readonly<Record<ProgramName, string | undefined>>): Check[] {
  return PROGRAM_NAMES.map((name) => {
    const place = found[name];
    return place === undefined ? missing(name) : ok(name, place);
  });
}

function missing(name: ProgramName): Check {
  switch (name) {
    case "bash":
      return warning(name, "not found in PATH: the terminal tool uses sh", "install bash");
    case "git":
      return warning(name, "not found in PATH: agents cannot look at the history of a project", "install git");
    case "rg":
      return ok(name, "not found in PATH: grep searches by itself, and takes longer in large folders");
    default:
      return name satisfies never;
  }
}
