/** The kinds of options: what a value must be, in words and as a test of it. A table of options names one for each of them. */

import { foundWords } from "./errors.ts";
import { type AnySchema, isPlainRecord, isRecord } from "./schema.ts";

/** One kind of value. */
export type OptionKind<Type> = {
  /** The words behind `must be`. */
  readonly wants: string;
  readonly takes: (value: unknown) => boolean;
  /** The words for a value that is not taken. */
  readonly found: (value: unknown) => string;
  /** Only for types: the compiler holds the kind of an option to its type, no wider and no narrower. */
  readonly "~type"?: (value: Type) => Type;
};

/** A kind whatever its type is. */
export type AnyKind = Omit<OptionKind<unknown>, "~type">;

/** Every option of a type with its kind. The compiler holds it to the type: none may be missing, added or of another kind. */
export type OptionKinds<Options> = {
  readonly [Name in keyof Required<Options>]: OptionKind<Exclude<Options[Name], undefined>>;
};

export function kindOf<Type>(
  wants: string,
  takes: (value: unknown) => boolean,
  found: (value: unknown) => string = foundKind,
): OptionKind<Type> {
  return { wants, takes, found };
}

/** Says of a text only that it is one: in the wrong place it may be a secret. */
function foundKind(value: unknown): string {
  return typeof value === "string" ? "text" : foundWords(value).replace(/,$/, "");
}

/** For kinds whose texts are words and numbers. */
export function foundValue(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 60)) : foundKind(value);
}

export const TEXT: OptionKind<string> = kindOf("text", (value) => typeof value === "string");
export const FLAG: OptionKind<boolean> = kindOf("true or false", (value) => typeof value === "boolean", foundValue);
export const ANY: OptionKind<unknown> = kindOf("anything", () => true);

const FUNCTION: OptionKind<unknown> = kindOf("a function", (value) => typeof value === "function");

/** A function of this type: only that it is one can be seen. */
export function functionOf<Type>(): OptionKind<Type> {
  return FUNCTION as OptionKind<Type>;
}

/** A text that the pattern matches; `wants` says which one that is. */
export function textLike(wants: string, pattern: RegExp): OptionKind<string> {
  return kindOf(wants, (value) => typeof value === "string" && pattern.test(value), foundValue);
}

/** One of these words. */
export function wordOf<const Words extends readonly string[]>(...words: Words): OptionKind<Words[number]> {
  const wants = words.map((word) => JSON.stringify(word)).join(" or ");
  return kindOf(wants, (value) => typeof value === "string" && words.includes(value), foundValue);
}

export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): OptionKind<number> {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `between ${min} and ${max}`;
  return kindOf(`a whole number ${range}`, (value) => Number.isInteger(value) && isWithin(value, min, max), foundValue);
}

/** A number of these bounds; never NaN. */
export function numberWithin(min: number, max: number): OptionKind<number> {
  return kindOf(`between ${min} and ${max}`, (value) => isWithin(value, min, max), foundValue);
}

/** `Infinity` is taken where it means that there is no limit. */
export const AT_LEAST_0: OptionKind<number> = kindOf(
  "0 or more",
  (value) => isWithin(value, 0, Number.POSITIVE_INFINITY),
  foundValue,
);

export const ABOVE_0: OptionKind<number> = kindOf(
  "greater than 0",
  (value) => isWithin(value, 0, Number.MAX_VALUE) && value !== 0,
  foundValue,
);

export const NUMBER: OptionKind<number> = kindOf(
  "a number",
  (value) => typeof value === "number" && !Number.isNaN(value),
  foundValue,
);

function isWithin(value: unknown, min: number, max: number): boolean {
  return typeof value === "number" && value >= min && value <= max;
}

/** An object, of whatever class, that is not a list. */
export function objectOf<Type extends object>(wants = "an object"): OptionKind<Type> {
  return kindOf(wants, isRecord);
}

/** An object with these functions, its own or those of its class. */
export function withFunctions<Type extends object>(...names: readonly (keyof Type & string)[]): OptionKind<Type> {
  const last = names.at(-1) ?? "";
  const wants =
    names.length === 1
      ? `an object with a function ${last}`
      : `an object with the functions ${names.slice(0, -1).join(", ")} and ${last}`;
  return kindOf(wants, (value) => hasFunctions(value, names));
}

export function hasFunctions(value: unknown, names: readonly string[]): boolean {
  if (!isRecord(value)) return false;
  for (const name of names) if (typeof value[name] !== "function") return false;
  return true;
}

/** A list in which each is of this kind; `wants` is the plural of it. */
export function listOf<Type>(wants: string, each: OptionKind<Type>): OptionKind<readonly Type[]> {
  return kindOf(
    `a list of ${wants}`,
    (value) => Array.isArray(value) && value.every(each.takes),
    (value) =>
      Array.isArray(value) ? `a list with ${each.found(value.find((one) => !each.takes(one)))}` : foundKind(value),
  );
}

/** An object whose values are of this kind, by any names; `wants` is the plural of it. */
export function recordOf<Type>(wants: string, each: OptionKind<Type>): OptionKind<Readonly<Record<string, Type>>> {
  const wrongIn = (value: Readonly<Record<string, unknown>>) =>
    Object.keys(value).find((name) => !each.takes(value[name]));
  return kindOf(
    `an object of ${wants}`,
    (value) => isPlainRecord(value) && wrongIn(value) === undefined,
    (value) => {
      const wrong = isPlainRecord(value) ? wrongIn(value) : undefined;
      return isPlainRecord(value) && wrong !== undefined
        ? `${each.found(value[wrong])} for ${JSON.stringify(wrong.slice(0, 60))}`
        : foundKind(value);
    },
  );
}

/** Either of two kinds. */
export function eitherOf<One, Other>(one: OptionKind<One>, other: OptionKind<Other>): OptionKind<One | Other> {
  return kindOf(
    `${one.wants} or ${other.wants}`,
    (value) => one.takes(value) || other.takes(value),
    (value) => [one.found(value), other.found(value)].find((words) => words !== foundKind(value)) ?? foundKind(value),
  );
}

export const TEXTS: OptionKind<readonly string[]> = listOf("texts", TEXT);

/** Variables and headers: none of what was given for them is shown. */
export const TEXTS_BY_NAME: OptionKind<Readonly<Record<string, string>>> = recordOf(
  "texts",
  kindOf("text", TEXT.takes, (value) => (typeof value === "number" ? "a number" : foundKind(value))),
);

/** The `signal` of a controller, not the controller. */
export const SIGNAL: OptionKind<AbortSignal> = kindOf("an AbortSignal", (value) =>
  hasFunctions(value, ["addEventListener", "removeEventListener", "throwIfAborted"]),
);

/** A schema may be a function too: arktype's are, and so are lazy ones of the AI SDK. */
export const SCHEMA: OptionKind<AnySchema> = kindOf(
  "a schema, of zod or another library or as JSON Schema",
  (value) => typeof value === "function" || isRecord(value),
);
