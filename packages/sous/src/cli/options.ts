/** The options of a command: one reader for all of them, whose complaints say what was meant. */

import { type ParseArgsConfig, parseArgs } from "node:util";
import { nearest } from "../core/nearest.ts";
import { usageError } from "./exit-codes.ts";
import { inertLine } from "./inert.ts";

type OptionTable = NonNullable<ParseArgsConfig["options"]>;
type Parsed<Table extends OptionTable> = ReturnType<
  typeof parseArgs<{ options: Table; strict: true; allowPositionals: true }>
>;

/** What was typed, by the names of a table. */
export type OptionValues<Table extends OptionTable> = Parsed<Table>["values"];

/** How text is shown; every command that shows some has these. */
export const DISPLAY_OPTIONS = {
  color: { type: "string", default: "auto" },
  ascii: { type: "boolean", default: false },
} as const satisfies OptionTable;

/** Throws a `CommandError` about the first mistake. `command` is its name, as in `sous replay`. */
export function readOptions<const Table extends OptionTable>(
  command: string,
  parameters: readonly string[],
  options: Table,
): Parsed<Table> {
  const args = [...parameters];
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined) throw unknownOption(command, rawName, options);
    if (option.type === "boolean" && value !== undefined) throw usageError(`--${name} takes no value`);
    if (option.type === "boolean") continue;
    const isEmpty = value === "" && !("mayBeEmpty" in option);
    if (value === undefined || isEmpty) throw usageError(`--${name} needs a value`);
    // `--limit --json` is a forgotten value, not one that begins with a dash.
    if (!inlineValue && /^-./.test(value)) throw usageError(`--${name} needs a value; found ${quoted(value)}`);
  }
  return parseArgs({ args, options, strict: true, allowPositionals: true });
}

function unknownOption(command: string, rawName: string, options: OptionTable): Error {
  const name = inertLine(rawName, 60);
  const meant = nearest(
    name,
    Object.keys(options).map((each) => `--${each}`),
  );
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  return usageError(`${command} has no option ${name}${hint === "" ? "." : hint} See ${command} --help.`);
}

/** Refuses words a command has no use for. */
export function refusePositionals(command: string, positionals: readonly string[], hint = ""): void {
  const [first] = positionals;
  if (first !== undefined) throw usageError(`${command} does not take ${quoted(first)}.${hint} See ${command} --help.`);
}

export function readColor(given: string): "auto" | "always" | "never" {
  if (given === "auto" || given === "always" || given === "never") return given;
  throw usageError(`--color is auto, always or never; found ${quoted(given)}`);
}

/** A whole number of at least `least`. */
export function readWhole(name: string, given: string, least: number): number {
  const number = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
  if (number >= least) return number;
  throw usageError(`--${name} must be a whole number of at least ${least}; found ${quoted(given)}`);
}

/** One of a few words. */
export function readWord<const Word extends string>(name: string, given: string, words: readonly Word[]): Word {
  const word = words.find((each) => each === given);
  if (word !== undefined) return word;
  const meant = nearest(given, words);
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  throw usageError(`--${name} is one of ${words.join(", ")}; found ${quoted(given)}${hint}`);
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** The moment so long before now (`45m`, `12h`, `7d`, `2w`), or a date (`2026-11-15`, `2026-11-15T12:00Z`). */
export function readMoment(name: string, given: string, now: number): number {
  const [, count, unit = ""] = /^(\d{1,9})([smhdw])$/.exec(given) ?? [];
  if (count !== undefined) return now - Number(count) * (UNITS[unit] ?? 0);
  const date = /^\d{4}-\d\d-\d\d/.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isFinite(date)) return date;
  throw usageError(
    `--${name} takes a time such as 45m, 12h, 7d or 2w, or a date such as 2026-11-15; found ${quoted(given)}`,
  );
}

export function quoted(given: string): string {
  return JSON.stringify(inertLine(given, 80));
}
