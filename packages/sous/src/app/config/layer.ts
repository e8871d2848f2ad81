/** One source of settings: a file, the environment, or the flags. Higher layers go before lower ones. */

import type { ProblemLocation, SourceLine } from "../core/problem.ts";
import { createRedactor } from "../secrets/redact.ts";

type LayerName = "flag" | "variable" | "project" | "user";

/** Where a value came from, as it is shown. */
export type Origin = {
  readonly layer: LayerName | "default";
  /** `--model`, `SOUS_MODEL`, `/home/ada/.config/sous/config.yaml:3`, `default`. */
  readonly where: string;
};

export type Layer = { readonly name: LayerName; readonly entries: ReadonlyMap<string, LayerEntry> };

/** What a layer says about one setting, before it is checked. */
export type LayerEntry = {
  readonly given: unknown;
  /** Of a part of the value, when a path is given. */
  origin(path?: readonly (string | number)[]): Origin;
  /** The same for a problem. */
  location(path: readonly (string | number)[], part: "key" | "value"): ProblemLocation;
};

/** The line and the one before it. */
export function linesAround(lines: readonly string[], line: number): SourceLine[] {
  return [line - 1, line].flatMap((number) => {
    const found = lines[number - 1];
    return found === undefined ? [] : [{ number, text: hideSecrets(found.slice(0, MAX_LINE)) }];
  });
}

/** By the name in front of it, and by its shape: a key in the wrong field is still a key. */
export function hideSecrets(text: string): string {
  return redactor.text(text.replace(NAMED, "$1(hidden)"));
}

const redactor = createRedactor([]);
const MAX_LINE = 2000;
const NAMED =
  /((?:api[_-]?key\w{0,100}|(?:access|auth|bearer)[_-]?token|\btoken|secret\w{0,100}|passw(?:or)?d\w{0,100}|authorization)["']?\s*[:=]\s*)(?!null\b)\S[^\n]*/gi;
