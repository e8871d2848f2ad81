/** The keywords about a value itself: its type, what it may equal, texts and numbers. */

import { once } from "../../core/schema.ts";
import { type Rule, type SchemaReader, short, unusable } from "./rule.ts";

const TYPES: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  array: Array.isArray,
  null: (value) => value === null,
};

const MAX_QUOTED = 200;

export function typeRules({ schema: { type } }: SchemaReader): Rule[] {
  if (type === undefined) return [];
  // Each name once: a list of a hundred thousand would be searched for every value.
  const names = [...new Set<unknown>(Array.isArray(type) ? type : [type])];
  const tests = names.map((name) => {
    const test = typeof name === "string" && Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
    if (test === undefined) throw unusable(`Unsupported type: ${JSON.stringify(name)}`);
    return test;
  });
  return [
    (value, check) => {
      if (!tests.some((test) => test(value)))
        check.fail(`Invalid input: expected ${names.join(" or ")}, received ${typeName(value)}`);
      return value;
    },
  ];
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** `enum` and `const`. */
export function valueRules(reader: SchemaReader): Rule[] {
  const { schema } = reader;
  const rules: Rule[] = [];
  const values = reader.list("enum");
  if (values !== undefined) rules.push(oneOf(values));
  if (schema.const !== undefined) rules.push(oneOf([schema.const]));
  return rules;
}

function oneOf(values: readonly unknown[]): Rule {
  const keys = new Set(values.map((value) => jsonKey(value, ignoreSteps)));
  const shown = short([...keys].slice(0, 10).join("|"), MAX_QUOTED);
  const message = keys.size === 1 ? `Invalid input: expected ${shown}` : `Invalid option: expected one of ${shown}`;
  return (value, check) => {
    if (!keys.has(jsonKey(value, check.spend))) check.fail(message);
    return value;
  };
}

const ignoreSteps = (): void => undefined;

export function textRules(reader: SchemaReader): Rule[] {
  const minLength = reader.number("minLength");
  const maxLength = reader.number("maxLength");
  const source = reader.text("pattern");
  const pattern = source === undefined ? undefined : reader.pattern(source);
  const formatName = reader.text("format") ?? "";
  const format = formatNamed(formatName);
  if (minLength === undefined && maxLength === undefined && pattern === undefined && format === undefined) return [];
  return [
    (value, check) => {
      if (typeof value !== "string") return value;
      check.spend(value.length >> 3);
      const length = minLength === undefined && maxLength === undefined ? 0 : lengthOf(value);
      if (minLength !== undefined && length < minLength)
        check.fail(`Too small: expected string to have >=${minLength} characters`);
      if (maxLength !== undefined && length > maxLength)
        check.fail(`Too big: expected string to have <=${maxLength} characters`);
      if (format !== undefined) {
        check.spend(value.length);
        if (!format(value)) check.fail(`Invalid string: it is not of the format ${formatName}`);
      }
      if (pattern !== undefined && !check.isFound(pattern, value))
        check.fail(`Invalid string: must match pattern ${short(source ?? "", MAX_QUOTED)}`);
      return value;
    },
  ];
}

/** Counts characters as JSON Schema does. */
function lengthOf(text: string): number {
  let length = text.length;
  for (let index = 0; index < text.length; index++) {
    if ((text.codePointAt(index) ?? 0) <= 0xffff) continue;
    length -= 1;
    index += 1;
  }
  return length;
}

export function numberRules(reader: SchemaReader): Rule[] {
  const { schema } = reader;
  const rules: Rule[] = [];
  // In draft 4 `exclusiveMinimum` is a boolean that changes what `minimum` means.
  const isMinimumExcluded = schema.exclusiveMinimum === true;
  const isMaximumExcluded = schema.exclusiveMaximum === true;
  const minimum = reader.number("minimum");
  const maximum = reader.number("maximum");
  const above = typeof schema.exclusiveMinimum === "boolean" ? undefined : reader.number("exclusiveMinimum");
  const below = typeof schema.exclusiveMaximum === "boolean" ? undefined : reader.number("exclusiveMaximum");
  const step = reader.number("multipleOf");
  if (minimum !== undefined && !isMinimumExcluded)
    add((value) => value >= minimum, `Too small: expected number to be >=${minimum}`);
  if (maximum !== undefined && !isMaximumExcluded)
    add((value) => value <= maximum, `Too big: expected number to be <=${maximum}`);
  const from = isMinimumExcluded ? minimum : above;
  const to = isMaximumExcluded ? maximum : below;
  if (from !== undefined) add((value) => value > from, `Too small: expected number to be >${from}`);
  if (to !== undefined) add((value) => value < to, `Too big: expected number to be <${to}`);
  if (step !== undefined) {
    if (step <= 0) throw unusable("multipleOf must be greater than 0");
    add((value) => isMultiple(value, step), `Invalid number: must be a multiple of ${step}`);
  }
  return rules;

  function add(test: (value: number) => boolean, message: string): void {
    rules.push((value, check) => {
      if (typeof value === "number" && !test(value)) check.fail(message);
      return value;
    });
  }
}

/** 0.3 is a multiple of 0.1, although the division says 2.9999999999999996. */
function isMultiple(value: number, step: number): boolean {
  const times = value / step;
  return Math.abs(times - Math.round(times)) <= Math.abs(times) * 4 * Number.EPSILON;
}

/** The formats of JSON Schema that are checked; others are descriptions. All are matched in linear time. */
type Format = (text: string) => boolean;

const YEAR_WITH_29_FEBRUARY = "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
const DATE =
  "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))" +
  `|${YEAR_WITH_29_FEBRUARY}-02-29)`;
const HOURS_AND_MINUTES = "(?:[01]\\d|2[0-3]):[0-5]\\d";
const SECONDS = ":(?:[0-5]\\d|60)(?:\\.\\d+)?";
const ZONE = `(?:[Zz]|[+-]${HOURS_AND_MINUTES})`;
const DAYS = "(?:\\d+Y(?:\\d+M)?(?:\\d+D)?|\\d+M(?:\\d+D)?|\\d+D)";
const DURATION_SECONDS = "\\d+(?:[.,]\\d+)?S";
const TIME_OF_DURATION = `T(?:\\d+H(?:\\d+M)?(?:${DURATION_SECONDS})?|\\d+M(?:${DURATION_SECONDS})?|${DURATION_SECONDS})`;
const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const LOCAL_PART = `${ATOM}(?:\\.${ATOM})*`;
/** Characters that must be encoded in an address. */
const NO_URI = '\\s<>"{}|\\\\^`';

/** Loaded when a schema asks for an address: everything about networks would be loaded with sous. */
function net(): typeof import("node:net") {
  return process.getBuiltinModule("node:net");
}

const FORMATS: Record<string, Format> = {
  email: matches(`${LOCAL_PART}@(?:[A-Za-z0-9][A-Za-z0-9-]*\\.)+[A-Za-z]{2,}`),
  uri: matches(`[A-Za-z][A-Za-z0-9+.-]*:[^${NO_URI}]+`),
  "uri-reference": matches(`[^${NO_URI}]*`),
  uuid: matches("[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
  "date-time": matches(`${DATE}[Tt]${HOURS_AND_MINUTES}(?:${SECONDS})?${ZONE}`),
  date: matches(DATE),
  time: matches(`${HOURS_AND_MINUTES}${SECONDS}${ZONE}`),
  duration: matches(`P(?:\\d+W|${DAYS}(?:${TIME_OF_DURATION})?|${TIME_OF_DURATION})`),
  hostname: matches(`${LABEL}(?:\\.${LABEL})*\\.?`),
  ipv4: (text) => text.length < MAX_ADDRESS_LENGTH && net().isIPv4(text),
  // A zone such as %eth0 is not part of the address.
  ipv6: (text) => text.length < MAX_ADDRESS_LENGTH && !text.includes("%") && net().isIPv6(text),
};
const MAX_ADDRESS_LENGTH = 100;

/** Undefined for a format that is not checked. */
function formatNamed(name: string): Format | undefined {
  return Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
}

/** The whole text, not a part of it. */
function matches(pattern: string): Format {
  const expression = once(() => new RegExp(`^(?:${pattern})$`, "u"));
  return (text) => expression().test(text);
}

/** The cost of each part, in steps. */
const PART_COST = 12;

/** A text that two JSON values share exactly when JSON Schema calls them equal. Reports its cost to `spend`. */
export function jsonKey(value: unknown, spend: (steps: number) => void): string {
  if (typeof value === "string") {
    spend(PART_COST + (value.length >> 4));
    return JSON.stringify(value);
  }
  spend(PART_COST);
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => jsonKey(item, spend)).join()}]`;
  const fields = value as Record<string, unknown>;
  const keys = Object.keys(fields).sort();
  return `{${keys.map((key) => `${jsonKey(key, spend)}:${jsonKey(fields[key], spend)}`).join()}}`;
}
