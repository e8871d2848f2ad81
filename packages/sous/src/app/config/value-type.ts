/** The types of settings: each says what it allows, reads what it is given, and describes itself to people and to editors. */

import type { JsonSchema } from "../core/schema.ts";
import { DURATION_PATTERN, MONEY_PATTERN, parseDuration, parseMoney } from "../core/units.ts";

/** What is wrong with a value, or with a part of it at `path`. */
export type Complaint = {
  readonly kind: "type" | "range" | "unknown-key";
  readonly path: readonly (string | number)[];
  /** Follows the name of the setting: `must be greater than 0 (allowed: 1–10)`. */
  readonly message: string;
  /** When the general one would mislead. */
  readonly fix?: string | undefined;
  /** The name at the end of `path` is wrong, not what it stands for. */
  readonly isName?: boolean | undefined;
};

export type Read<Value> = { readonly value: Value } | { readonly complaints: readonly Complaint[] };

export type ValueType<Value> = {
  /** For people, behind "allowed:". */
  readonly allowed: string;
  /** For people, behind "give". */
  readonly advice: string;
  readonly jsonSchema: JsonSchema;
  read(given: unknown): Read<Value>;
  /** What a variable of the environment stands for, to be read. Undefined: no variable can say it. */
  fromText?(text: string): unknown;
  show(value: Value): string;
};

export type Range = { least: number; most?: number | undefined };

/**
 * What the file of a project may do with a setting. `never`: nothing. `lower`: ask for less than the user. `free`: choose, since
 * it gives no rights. `add`: more rules or servers, under the conditions of resolve-settings.ts. `same-provider`: see there.
 */
export type ProjectScope = "never" | "lower" | "free" | "add" | "same-provider";

export type Setting<Value = unknown> = {
  readonly key: string;
  readonly description: string;
  readonly type: ValueType<Value>;
  /** Undefined: unset until it is set; `null` in a file unsets it. */
  readonly default: Value | undefined;
  readonly project: ProjectScope;
  /** Its value is never shown. */
  readonly isSecret?: true;
};

/** A setting that always has a value. */
export type Given<Value> = Setting<Value> & { readonly default: Value };

export function whole({ least, most }: Range): ValueType<number> {
  const allowed = most === undefined ? `${least} or more` : `${least}–${most}`;
  const atLeast = least === 1 ? "must be greater than 0" : `must be at least ${least}`;
  return {
    allowed,
    advice: most === undefined ? `a number of at least ${least}` : `a number from ${least} to ${most}`,
    jsonSchema: { type: "integer", minimum: least, ...(most === undefined ? {} : { maximum: most }) },
    read(given) {
      if (typeof given !== "number" || !Number.isSafeInteger(given)) {
        return complaint("type", `must be a whole number (allowed: ${allowed})`);
      }
      if (given < least) return complaint("range", `${atLeast} (allowed: ${allowed})`);
      if (most !== undefined && given > most) {
        return complaint("range", `must be at most ${most} (allowed: ${allowed})`);
      }
      return { value: given };
    },
    fromText: numberFrom,
    show: String,
  };
}

/** Greater than 0 and at most `most`. */
export function fraction(most: number): ValueType<number> {
  const allowed = `up to ${most}`;
  return {
    allowed,
    advice: `a number such as ${most * 0.8}`,
    jsonSchema: { type: "number", exclusiveMinimum: 0, maximum: most },
    read(given) {
      if (typeof given !== "number" || Number.isNaN(given)) {
        return complaint("type", `must be a number (allowed: ${allowed})`);
      }
      if (given <= 0) return complaint("range", `must be greater than 0 (allowed: ${allowed})`);
      return given > most ? complaint("range", `must be at most ${most} (allowed: ${allowed})`) : { value: given };
    },
    fromText: numberFrom,
    show: String,
  };
}

/** US dollars: a number, or a text such as `$2.50`. */
export function money(): ValueType<number> {
  const allowed = "US dollars";
  return {
    allowed,
    advice: "an amount such as 2.50",
    jsonSchema: { type: ["number", "string"], exclusiveMinimum: 0, pattern: MONEY_PATTERN.source },
    read(given) {
      const amount = typeof given === "string" ? parseMoney(given) : given;
      if (typeof amount !== "number" || !Number.isFinite(amount)) {
        return complaint("type", `must be an amount (allowed: ${allowed})`);
      }
      return amount > 0 ? { value: amount } : complaint("range", `must be greater than 0 (allowed: ${allowed})`);
    },
    fromText: (text) => text.trim(),
    show: (value) => `$${value}`,
  };
}

/** In seconds: a number of them, or a text such as `90s`, `5m`, `2h`. */
export function duration(mostSeconds: number): ValueType<number> {
  const allowed = `up to ${showSeconds(mostSeconds)}`;
  return {
    allowed,
    advice: "a time such as 90s, 5m or 2h; a number alone is seconds",
    jsonSchema: {
      type: ["number", "string"],
      exclusiveMinimum: 0,
      maximum: mostSeconds,
      pattern: DURATION_PATTERN.source,
    },
    read(given) {
      const seconds = typeof given === "string" ? (parseDuration(given) ?? Number.NaN) / 1000 : given;
      if (typeof seconds !== "number" || Number.isNaN(seconds)) {
        return complaint("type", `must be a time such as 90s, 5m or 2h (allowed: ${allowed})`);
      }
      if (seconds <= 0) return complaint("range", `must be greater than 0 (allowed: ${allowed})`);
      return seconds > mostSeconds
        ? complaint("range", `must be at most ${showSeconds(mostSeconds)} (allowed: ${allowed})`)
        : { value: seconds };
    },
    fromText: (text) => text.trim(),
    show: showSeconds,
  };
}

function showSeconds(seconds: number): string {
  if (seconds >= 7200 && seconds % 3600 === 0) return `${seconds / 3600}h`;
  if (seconds >= 300 && seconds % 60 === 0) return `${seconds / 60}m`;
  return seconds < 1 ? `${Math.round(seconds * 1000)}ms` : `${seconds}s`;
}

export function flag(): ValueType<boolean> {
  return {
    allowed: "true, false",
    advice: "true or false",
    jsonSchema: { type: "boolean" },
    read: (given) =>
      typeof given === "boolean" ? { value: given } : complaint("type", "must be true or false (allowed: true, false)"),
    fromText: (text) => FLAGS[text.trim().toLowerCase()] ?? text,
    show: String,
  };
}

const FLAGS: Readonly<Record<string, boolean>> = { true: true, false: false, "1": true, "0": false };

export function word<const Word extends string>(words: readonly Word[]): ValueType<Word> {
  const allowed = words.join(", ");
  return {
    allowed,
    advice: `one of ${allowed}`,
    jsonSchema: { enum: words },
    read(given) {
      if (typeof given !== "string") return complaint("type", `must be one of these words (allowed: ${allowed})`);
      const found = words.find((each) => each === given);
      return found === undefined
        ? complaint("range", `must be one of these words (allowed: ${allowed})`)
        : { value: found };
    },
    fromText: (text) => text.trim(),
    show: String,
  };
}

export function complaint(kind: "type" | "range", message: string): { complaints: readonly Complaint[] } {
  return { complaints: [{ kind, path: [], message }] };
}

/** What is not a number stays a text, which is then refused as one. */
function numberFrom(text: string): unknown {
  return /^\s*-?\d{1,16}(\.\d{1,9})?\s*$/.test(text) ? Number(text) : text;
}
