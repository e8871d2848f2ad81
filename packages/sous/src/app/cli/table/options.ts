/** Reads the options of a command as its description says: numbers, amounts and times are parsed here. Errors say what was meant. */

import { type ParseArgsOptionDescriptor, parseArgs } from "node:util";
import { didYouMean } from "../../../core/nearest.ts";
import { parseDuration, parseMoney } from "../../config/parse-amounts.ts";
import { type CommandError, usageError } from "../exit-codes.ts";
import { inertLine } from "../terminal/text.ts";
import type { CommandEntry, OptionEntry, ValueName } from "./entry.ts";

/** The values that were typed, by the names of a command's options. */
export type OptionValues<Entry extends CommandEntry> = {
  [Option in Entry["groups"][number]["options"][number] as Option["name"]]: ValueOf<Option>;
};

/** The words of a command line: options by their names, and the others. */
export type Typed<Entry extends CommandEntry> = {
  readonly values: OptionValues<Entry>;
  readonly positionals: readonly string[];
};

type ValueOf<Option> = Option extends { value: infer Name }
  ? ReadValue<Name, Option> | (Option extends { default: string } ? never : undefined)
  : boolean;

type ReadValue<Name, Option> = Option extends { words: readonly (infer Word)[] }
  ? Word
  : Name extends keyof typeof NUMBERS
    ? number
    : Name extends keyof typeof LISTS
      ? string[]
      : string;

/** Throws a `CommandError` about the first mistake. */
export function readOptions<const Entry extends CommandEntry>(
  entry: Entry,
  parameters: readonly string[],
  now: number = Date.now(),
): Typed<Entry> {
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
  const read = Object.entries(values).map(([name, given]) => [name, readValue(described.get(name), given, now)]);
  return { values: Object.fromEntries(read) as OptionValues<Entry>, positionals };
}

/** Works like `readOptions`, for a command that takes nothing but options. */
export function readOnlyOptions<const Entry extends CommandEntry>(
  entry: Entry,
  parameters: readonly string[],
  hint = "",
): OptionValues<Entry> {
  const { values, positionals } = readOptions(entry, parameters);
  refusePositionals(`sous ${entry.name}`, positionals, hint);
  return values;
}

function toParsed({ value, short, default: fallback }: OptionEntry): ParseArgsOptionDescriptor {
  const spelling = short === undefined ? {} : { short };
  if (value === undefined) return { type: "boolean", default: false, ...spelling };
  return {
    type: "string",
    multiple: value in LISTS,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...spelling,
  };
}

type Given = { readonly value: string | undefined; readonly inlineValue: boolean | undefined };

function checkValue(option: OptionEntry, { value, inlineValue }: Given): void {
  const { name, words, allows } = option;
  if (option.value === undefined) {
    if (value !== undefined) throw usageError(`--${name} takes no value`);
    return;
  }
  if (value === undefined || (value === "" && allows !== "")) throw usageError(`--${name} needs a value`);
  // `--limit --json` lacks a value; it is not one that begins with a dash.
  if (!inlineValue && /^-./.test(value)) throw usageError(`--${name} needs a value; found ${quoted(value)}`);
  if (words === undefined || words.includes(value)) return;
  throw usageError(`--${name} is one of ${words.join(", ")}; found ${quoted(value)}${didYouMean(value, words)}`);
}

function unknownOption(command: string, rawName: string, options: readonly string[]): Error {
  const name = inertLine(rawName, 60);
  const known = options.map((each) => `--${each}`);
  return usageError(`${command} has no option ${name}${didYouMean(name, known) || "."} See ${command} --help.`);
}

/** Refuses words a command has no use for. */
export function refusePositionals(command: string, positionals: readonly string[], hint = ""): void {
  const [first] = positionals;
  if (first !== undefined) throw usageError(`${command} does not take ${quoted(first)}.${hint} See ${command} --help.`);
}

/** Turns the texts that were typed into the value they stand for. */
function readValue(option: OptionEntry | undefined, given: unknown, now: number): unknown {
  const { value, words } = option ?? {};
  if (option === undefined || value === undefined || words !== undefined) return given;
  if (Array.isArray(given) && isIn(value, LISTS)) return given.flatMap((each) => LISTS[value](String(each)));
  return typeof given === "string" && isIn(value, NUMBERS) ? NUMBERS[value](given, option, now) : given;
}

function isIn<Table extends object>(name: string, table: Table): name is Extract<keyof Table, string> {
  return Object.hasOwn(table, name);
}

/** Values that are numbers: how they are read, by the name of the value. */
const NUMBERS = {
  N: readWhole,
  TURN: readWhole,
  USD: readMoney,
  TIME: readSeconds,
  WHEN: readMoment,
  AGE: readMoment,
} as const satisfies Partial<Record<ValueName, (given: string, option: OptionEntry, now: number) => number>>;

/** Values that may be given more than once: what each of the texts stands for. */
const LISTS = {
  "A,B": (given: string) => given.split(/[\s,]+/).filter((name) => name !== ""),
  RULE: (given: string) => [given],
  "QID[:DIGEST]": (given: string) => [given],
  "QID[=WHY]": (given: string) => [given],
} as const satisfies Partial<Record<ValueName, (given: string) => string[]>>;

function readWhole(given: string, { name, allows }: OptionEntry): number {
  const min = allows === "0" ? 0 : 1;
  const number = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
  if (number >= min) return number;
  throw usageError(`--${name} must be a whole number of at least ${min}; found ${quoted(given)}`);
}

/** US dollars. */
function readMoney(given: string, { name }: OptionEntry): number {
  const amount = parseMoney(given) ?? 0;
  if (amount > 0) return amount;
  throw usageError(`--${name} is an amount of US dollars greater than 0, such as 0.50; found ${quoted(given)}`);
}

/** `90`, `90s`, `5m`, `2h`, in seconds. */
function readSeconds(given: string, { name }: OptionEntry): number {
  const seconds = (parseDuration(given) ?? 0) / 1000;
  if (seconds > 0) return seconds;
  throw usageError(`--${name} is a time greater than 0, such as 90s, 5m or 2h; found ${quoted(given)}`);
}

/** A time before now (`45m`, `12h`, `7d`, `2w`), or a date (`2026-11-15`, `2026-11-15T12:00Z`), in milliseconds. */
function readMoment(given: string, { name }: OptionEntry, now: number): number {
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

/** The first argument is not one of the words that the command takes. */
export function wrongWord(command: string, takes: string, word: string | undefined): CommandError {
  const found = word === undefined ? "" : `; found ${quoted(word)}`;
  return usageError(`${command} ${takes}${found}. See ${command} --help.`);
}

/** A command whose first argument names what to do (`sous acp list`): calls the function of that word with the rest. */
export async function performWord<const Entry extends CommandEntry>(
  entry: Entry,
  words: Readonly<Record<string, (typed: Typed<Entry>) => Promise<number>>>,
  takes: string,
  parameters: readonly string[],
): Promise<number> {
  const { values, positionals } = readOptions(entry, parameters);
  const [word] = parameters;
  const perform = word !== undefined && Object.hasOwn(words, word) ? words[word] : undefined;
  if (perform === undefined) throw wrongWord(`sous ${entry.name}`, takes, word);
  return perform({ values, positionals: positionals.slice(1) });
}
