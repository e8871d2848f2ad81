/** Durations and money as people write them. */

/** The form of a duration, used for JSON Schemas, too. */
export const DURATION_PATTERN: RegExp = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d|w)?$/;

const MILLISECONDS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Milliseconds of `90s`, `1.5h` or `2w`; a number alone is seconds. Undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = "s"] = DURATION_PATTERN.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (MILLISECONDS[unit] ?? Number.NaN);
}

/** The form of an amount of money, used for JSON Schemas, too. */
export const MONEY_PATTERN: RegExp = /^\$?\d{1,9}(\.\d{1,9})?$/;

/** US dollars of `0.50` or `$2`. Undefined for anything else. */
export function parseMoney(text: string): number | undefined {
  return MONEY_PATTERN.test(text) ? Number(text.replace("$", "")) : undefined;
}
