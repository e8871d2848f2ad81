/** The row of the table of programs that is about a command, and whether the command has an option of that row. */

import { PROGRAM_ROWS, type ProgramRow } from "./programs-table.ts";
import { mayBeOption, type ShellWord } from "./shell-words.ts";

const ROWS: ReadonlyMap<string, ProgramRow> = new Map(
  PROGRAM_ROWS.flatMap((row) => row.programs.split(" ").map((name) => [name.toLowerCase(), row] as const)),
);

/** Says what the row of a program, or of a subcommand as `git.clone`, has against these words; undefined for nothing. */
export function rowProblem(name: string, rest: readonly ShellWord[]): string | undefined {
  const row = ROWS.get(name);
  if (row === undefined) return undefined;
  if (!hasOptions(row)) return row.does;
  const found = optionsOf(row, withDash(name, rest)).find((word) => mayBeOption(word) || isListed(word.text, row));
  if (found === undefined) return undefined;
  return found.isOpen ? `${row.does}, and a glob may become such an option` : `${row.does}: ${found.text.slice(0, 60)}`;
}

/** The same for words that may be meant for another program: only an option of the row counts. */
export function optionProblem(name: string, rest: readonly ShellWord[]): string | undefined {
  const row = ROWS.get(name);
  if (row === undefined || !hasOptions(row)) return undefined;
  const options = optionsOf(row, withDash(name, rest, /^(?=.*[crtux])[A-Za-z]+$/));
  const found = options.find(({ text, isOpen }) => (isOpen ? text.startsWith("-") : isListed(text, row)));
  return found && `${row.does}: ${found.text.slice(0, 60)}`;
}

export const ROW_NAMES: readonly string[] = [...ROWS.keys()];

/** The deed of every call of the program by its row; undefined for a program whose options decide. */
export function deedOf(name: string): string | undefined {
  const row = ROWS.get(name);
  return row === undefined || hasOptions(row) ? undefined : row.does;
}

/** False for a row that is about every call of its programs. */
function hasOptions({ programs: _, does: __, ...when }: ProgramRow): boolean {
  return Object.keys(when).length > 0;
}

/** The first word of tar is a list of options, with or without a dash. */
function withDash(name: string, rest: readonly ShellWord[], list = /^[^-]/): readonly ShellWord[] {
  const [first, ...more] = rest;
  if (!/tar$/.test(name) || first === undefined || !list.test(first.text)) return rest;
  return [{ ...first, text: `-${first.text}` }, ...more];
}

/** Returns the words up to a `--` that is surely not the value of an option. `find -- . -exec` and `ip -- netns` read on. */
function optionsOf({ words }: ProgramRow, rest: readonly ShellWord[]): readonly ShellWord[] {
  if (words !== undefined) return rest;
  const end = rest.findIndex(({ text }, index) => text === "--" && !(rest[index - 1]?.text.startsWith("-") ?? false));
  return end === -1 ? rest : rest.slice(0, end);
}

function isListed(
  text: string,
  { letters = "", long = "", words = "", begins = "", pieces = "", hasAnyDashes }: ProgramRow,
): boolean {
  const name = (hasAnyDashes ? /^-+([^-].*)$/s : /^--(.+)$/s).exec(text)?.[1]?.split("=", 1)[0];
  if (name !== undefined && listOf(long).some((each) => each.startsWith(name))) return true;
  if (/^-[^-]/.test(text) && [...letters, ...listOf(pieces)].some((each) => text.includes(each))) return true;
  if (listOf(begins).some((each) => text.startsWith(each))) return true;
  return listOf(words).some((each) => text === each || text.startsWith(`${each}=`));
}

function listOf(text: string): string[] {
  return text === "" ? [] : text.split(" ");
}
