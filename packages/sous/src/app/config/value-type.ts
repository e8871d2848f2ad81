/** The types of settings as schemas: each says what it allows, and describes itself to people and to editors. */

import * as z from "zod";
import type { JsonSchema } from "../../core/schema.ts";
import { DURATION_PATTERN, MONEY_PATTERN, parseDuration, parseMoney } from "./parse-amounts.ts";

/** A fault of a value, or of a part of it at `path`. */
export type Complaint = {
  readonly kind: "type" | "range" | "unknown-key";
  readonly path: readonly (string | number)[];
  /** Follows the name of the setting: `must be greater than 0 (allowed: 1–10)`. */
  readonly message: string;
  /** The fix where the general one would mislead. */
  readonly fix?: string | undefined;
  /** The name at the end of `path` is wrong, not what it stands for. */
  readonly isName?: boolean | undefined;
};

export type Read<Value> = { readonly value: Value } | { readonly complaints: readonly Complaint[] };

/** The texts about a type that its schema does not have. */
type About = {
  /** The words for people behind "allowed:". */
  readonly allowed: string;
  /** The words for people behind "give". */
  readonly advice: string;
  /** The value that the text of an environment variable stands for, to be read. Undefined: no variable can say it. */
  fromText?(text: string): unknown;
  /** Undefined: as a text, or the names in it. */
  show?(value: never): string;
  /** The schema for editors, where the type cannot say it. */
  schema?(): JsonSchema;
};

const ABOUT = z.registry<About>();

export function aboutOf(type: z.ZodType): About | undefined {
  return ABOUT.get(type);
}

export function described<Type extends z.ZodType>(type: Type, about: About): Type {
  ABOUT.add(type, about);
  return type;
}

export function showValue(type: z.ZodType, value: unknown): string {
  const about = aboutOf(type);
  if (about?.show !== undefined) return about.show(value as never);
  if (typeof value !== "object" || value === null) return String(value);
  const names = Array.isArray(value) ? value : Object.keys(value);
  return names.length === 0 ? "none" : names.join(", ");
}

export function readValue<Value>(type: z.ZodType<Value>, given: unknown): Read<Value> {
  const parsed = type.safeParse(given);
  if (parsed.success) return { value: parsed.data };
  const seen = new Set<string>();
  const complaints = parsed.error.issues.flatMap((issue): Complaint[] => {
    const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
    const known = issue.code === "custom" ? issue.params : undefined;
    // When several checks of one value fail, the first is enough.
    if (known === undefined && seen.has(path.join("\0"))) return [];
    seen.add(path.join("\0"));
    const isType =
      issue.code === "invalid_type" || (issue.code === "invalid_value" && typeof valueAt(given, path) !== "string");
    return [{ kind: isType ? "type" : "range", ...known, path, message: issue.message }];
  });
  return { complaints };
}

export function valueAt(given: unknown, path: Complaint["path"]): unknown {
  return path.reduce<unknown>(
    (value, part) => (typeof value === "object" && value !== null ? Reflect.get(value, part) : undefined),
    given,
  );
}

/** Makes a type for rules that a schema cannot say: `read` gives the value, or what is wrong. */
export function readBy<Given, Value>(type: z.ZodType<Given>, read: (given: Given) => Read<Value>) {
  return type.transform((given, context): Value => {
    const found = read(given);
    if ("value" in found) return found.value;
    for (const { path, message, ...params } of found.complaints)
      context.issues.push({ code: "custom", input: given, path: [...path], message, params });
    return z.NEVER;
  });
}

/** The schema of what a file may say. A bound that every number has is left out. */
export function jsonSchemaOf(type: z.ZodType): JsonSchema {
  const own = aboutOf(type)?.schema?.();
  if (own !== undefined) return own;
  const { $schema, ...schema } = z.toJSONSchema(type, {
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.enum !== undefined) delete jsonSchema.type;
    },
  });
  return schema as JsonSchema;
}

export type Range = { least: number; most?: number | undefined };

export function whole({ least, most }: Range) {
  const allowed = most === undefined ? `${least} or more` : `${least}–${most}`;
  const atLeast = least === 1 ? "must be greater than 0" : `must be at least ${least}`;
  const type = z.int(`must be a whole number (allowed: ${allowed})`).min(least, `${atLeast} (allowed: ${allowed})`);
  return described(most === undefined ? type : type.max(most, `must be at most ${most} (allowed: ${allowed})`), {
    allowed,
    advice: most === undefined ? `a number of at least ${least}` : `a number from ${least} to ${most}`,
    fromText: numberFrom,
  });
}

/** Greater than 0 and at most `most`. */
export function fraction(most: number) {
  const allowed = `up to ${most}`;
  const type = z
    .number(`must be a number (allowed: ${allowed})`)
    .gt(0, `must be greater than 0 (allowed: ${allowed})`)
    .max(most, `must be at most ${most} (allowed: ${allowed})`);
  return described(type, { allowed, advice: `a number such as ${most * 0.8}`, fromText: numberFrom });
}

/** US dollars: a number, or a text such as `$2.50`. */
export function money() {
  const allowed = "US dollars";
  const type = z
    .number(`must be an amount (allowed: ${allowed})`)
    .gt(0, `must be greater than 0 (allowed: ${allowed})`);
  const fromText = (given: unknown) => (typeof given === "string" ? parseMoney(given) : given);
  return described(
    z
      .preprocess(fromText, type)
      .meta({ type: ["number", "string"], exclusiveMinimum: 0, pattern: MONEY_PATTERN.source }),
    {
      allowed,
      advice: "an amount such as 2.50",
      fromText: (text) => text.trim(),
      show: (value) => `$${value}`,
    },
  );
}

/** A time in seconds: a number of them, or a text such as `90s`, `5m`, `2h`. */
export function duration(mostSeconds: number) {
  const allowed = `up to ${showSeconds(mostSeconds)}`;
  const type = z
    .number(`must be a time such as 90s, 5m or 2h (allowed: ${allowed})`)
    .gt(0, `must be greater than 0 (allowed: ${allowed})`)
    .max(mostSeconds, `must be at most ${showSeconds(mostSeconds)} (allowed: ${allowed})`);
  return described(
    z.preprocess(toSeconds, type).meta({
      type: ["number", "string"],
      exclusiveMinimum: 0,
      maximum: mostSeconds,
      pattern: DURATION_PATTERN.source,
    }),
    {
      allowed,
      advice: "a time such as 90s, 5m or 2h; a number alone is seconds",
      fromText: (text) => text.trim(),
      show: showSeconds,
    },
  );
}

/** A number without an end is a time that is too long. */
function toSeconds(given: unknown): unknown {
  if (given === Number.POSITIVE_INFINITY) return Number.MAX_VALUE;
  return typeof given === "string" ? (parseDuration(given) ?? Number.NaN) / 1000 : given;
}

function showSeconds(seconds: number): string {
  if (seconds >= 7200 && seconds % 3600 === 0) return `${seconds / 3600}h`;
  if (seconds >= 300 && seconds % 60 === 0) return `${seconds / 60}m`;
  return seconds < 1 ? `${Math.round(seconds * 1000)}ms` : `${seconds}s`;
}

export function flag() {
  return described(z.boolean("must be true or false (allowed: true, false)"), {
    allowed: "true, false",
    advice: "true or false",
    fromText: (text) => FLAGS[text.trim().toLowerCase()] ?? text,
  });
}

const FLAGS: Readonly<Record<string, boolean>> = { true: true, false: false, "1": true, "0": false };

export function word<const Word extends string>(words: readonly Word[]) {
  const allowed = words.join(", ");
  return described(z.enum(words, `must be one of these words (allowed: ${allowed})`), {
    allowed,
    advice: `one of ${allowed}`,
    fromText: (text) => text.trim(),
  });
}

/** A text that is not a number stays a text, which is then refused as one. */
function numberFrom(text: string): unknown {
  return /^\s*-?\d{1,16}(\.\d{1,9})?\s*$/.test(text) ? Number(text) : text;
}
