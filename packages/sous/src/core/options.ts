/** Settings as people give them: what may be left out, what is allowed, and the sentence when it is not. */

import { UserError } from "./errors.ts";

/** The defaults, and in their place what was given. A setting that is undefined was not given. */
export function withDefaults<Settings extends object>(
  defaults: Settings,
  ...given: (Partial<Settings> | undefined)[]
): Settings {
  const settings = { ...defaults };
  for (const each of given) {
    const said = Object.entries(each ?? {}).filter(([, value]) => value !== undefined);
    Object.assign(settings, Object.fromEntries(said));
  }
  return settings;
}

export function checkWhole(name: string, found: unknown, least: number, most: number = Number.MAX_SAFE_INTEGER): void {
  if (Number.isInteger(found) && Number(found) >= least && Number(found) <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `between ${least} and ${most}`;
  throw new UserError(`${name} must be a whole number ${range}; found ${inWords(found)}`);
}

export function checkWord(name: string, found: unknown, allowed: readonly string[]): void {
  if (allowed.some((word) => word === found)) return;
  const words = allowed.map((word) => JSON.stringify(word)).join(" or ");
  throw new UserError(`${name} must be ${words}; found ${inWords(found)}`);
}

function inWords(found: unknown): string {
  return typeof found === "string" ? JSON.stringify(found) : String(found);
}
