/** Lines of a configuration file as they may be shown: near the mistake, and without what might be a key. */

import type { SourceLine } from "../core/problem.ts";
import { createRedactor } from "../core/redact.ts";

/** The line and the one before it. */
export function linesAround(lines: readonly string[], line: number): SourceLine[] {
  return [line - 1, line].flatMap((number) => {
    const found = lines[number - 1];
    return found === undefined ? [] : [{ number, text: hideSecrets(found.slice(0, MAX_LINE)) }];
  });
}

/** By the name in front of it, and by its shape: a key in the wrong place is still a key. */
export function hideSecrets(text: string): string {
  return redactor.text(text.replace(NAMED, "$1(hidden)"));
}

const redactor = createRedactor([]);
const MAX_LINE = 2000;
const NAMED =
  /((?:api[_-]?key\w{0,100}|(?:access|auth|bearer)[_-]?token|\btoken|secret\w{0,100}|passw(?:or)?d\w{0,100}|authorization)["']?\s*[:=]\s*)(?!null\b)\S[^\n]*/gi;
