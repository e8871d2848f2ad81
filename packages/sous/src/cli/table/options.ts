/** The options of a command: one reader for all of them, whose complaints say what was meant. */

import { type ParseArgsOptionDescriptor, parseArgs } from "node:util";
import { nearest } from "../../core/nearest.ts";
import { parseDuration } from "../../core/units.ts";
import { usageError } from "../exit-codes.ts";
import { inertLine } from "../terminal/inert.ts";
import type { CommandEntry, OptionEntry } from "./command-entry.ts";

/** What was typed, by the names of a command's options. */
export type OptionValues<Entry extends CommandEntry> = {
  [Option in Entry["groups"][number]["options"][number] as Option["name"]]: ValueOf<Option>;
};

type ValueOf<Option extends OptionEntry> = Option extends { value: string }
  ? Option extends { isMany: true }
    ? string[] | undefined
    : WordOf<Option> | (Option extends { default: string } ? never : undefined)
  : boolean;

type WordOf<Option extends OptionEntry> = Option extends { words: readonly (infer Word)[] } ? Word : string;

/** Throws a `CommandError` about the first mistake. */
export function readOptions<const Entry extends CommandEntry>(
  entry: Entry,
  parameters: readonly string[],
): { values: OptionValues<Entry>; positionals: string[] } {
  const described = new Map(entry.groups.flatMap(({ options }) => options).map((option) => [option.name, option]));
  const options = Object.fromEntries([...described].map(([name, option]) => [name, toParsed(option)]));
  const args = [...parameters];
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const option = described.get(token.name);
    if (option === undefined) throw unknownOption(`sous ${entry.name}`, token.rawName, [...described.keys()]);
    checkValue(option, token);
  }
  const { values, positionals } = parseArgs({ args, options, strict: true, allowPositionals: true });
  return { values: values as OptionValues<Entry>, positionals };
}

function toParsed({ value, short, isMany, default: fallback }: OptionEntry): ParseArgsOptionDescriptor {
  const spelling = short === undefined ? {} : { short };
  if (value === undefined) return { type: "boolean", default: false, ...spelling };
  return {
    type: "string",
    multiple: isMany === true,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...spelling,
  };
}

type Given = { readonly value: string | undefined; readonly inlineValue: boolean | undefined };

function checkValue(option: OptionEntry, { value, inlineValue }: Given): void {
  const { name, words, mayBeEmpty } = option;
  if (option.value === undefined) {
    if (value !== undefined) throw usageError(`--${name} takes no value`);
    return;
  }
  if (value === undefined || (value === "" && mayBeEmpty !== true)) throw usageError(`--${name} needs a value`);
  // `--limit --json` is a forgotten value, not one that begins with a dash.
  if (!inlineValue && /^-./.test(value)) throw usageError(`--${name} needs a value; found ${quoted(value)}`);
  if (words !== undefined) checkWord(name, value, words);
}

/** One of a few words. */
function checkWord(name: string, given: string, words: readonly string[]): void {
  if (words.includes(given)) return;
  const meant = nearest(given, words);
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  throw usageError(`--${name} is one of ${words.join(", ")}; found ${quoted(given)}${hint}`);
}

function unknownOption(command: string, rawName: string, options: readonly string[]): Error {
  const name = inertLine(rawName, 60);
  const meant = nearest(
    name,
    options.map((each) => `--${each}`),
  );
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  return usageError(`${command} has no option ${name}${hint === "" ? "." : hint} See ${command} --help.`);
}

/** Refuses words a command has no use for. */
export function refusePositionals(command: string, positionals: readonly string[], hint = ""): void {
  const [first] = positionals;
  if (first !== undefined) throw usageError(`${command} does not take ${quoted(first)}.${hint} See ${command} --help.`);
}

/** A whole number of at least `least`. */
export function readWhole(name: string, given: string, least: number): number {
  const number = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
  if (number >= least) return number;
  throw usageError(`--${name} must be a whole number of at least ${least}; found ${quoted(given)}`);
}

/** The moment so long before now (`45m`, `12h`, `7d`, `2w`), or a date (`2026-11-15`, `2026-11-15T12:00Z`). */
export function readMoment(name: string, given: string, now: number): number {
  const milliseconds = /[a-z]$/.test(given) ? parseDuration(given) : undefined;
  if (milliseconds !== undefined) return now - milliseconds;
  const date = /^\d{4}-\d\d-\d\d/.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isFinite(date)) return date;
  throw usageError(
    `--${name} takes a time such as 45m, 12h, 7d or 2w, or a date such as 2026-11-15; found ${quoted(given)}`,
  );
}

export function quoted(given: string): string {
  return JSON.stringify(inertLine(given, 80));
}
