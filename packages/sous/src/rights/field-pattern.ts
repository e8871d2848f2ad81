/** `owner=acme, repo=*` in a rule for a tool whose input has no meaning of its own here, such as one of MCP. */

import { matchesGlob } from "../core/matches-glob.ts";

type Fields = Readonly<Record<string, unknown>>;

export type FieldPattern = {
  /** For a rule that allows: every named field is there and has this value. */
  covers(fields: Fields): boolean;
  /** For a rule that forbids or asks: the same, however it is spelled. */
  touches(fields: Fields): boolean;
};

/** The pattern, or the sentence that says what is wrong with it. */
export function compileFieldPattern(text: string): FieldPattern | string {
  const pairs: [name: string, value: string][] = [];
  for (const pair of text.split(",")) {
    const equals = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, equals)).trim();
    const value = pair.slice(equals + 1).trim();
    if (!/^[\w.-]+$/.test(name)) {
      return "it must name fields of the input, such as owner=acme, repo=*; a rule for exactly one input begins with =";
    }
    pairs.push([name, value]);
  }
  return {
    covers: (fields) =>
      pairs.every(([name, value]) => {
        const found = textOf(fields, name);
        return found !== undefined && matchesGlob(value, found);
      }),
    touches: (fields) =>
      pairs.every(([name, value]) => {
        const found = textOf(fields, name);
        return found !== undefined && matchesGlob(value.toLowerCase(), found.toLowerCase());
      }),
  };
}

/** Lists and objects have no text that a pattern could be compared with, but JSON. */
function textOf(fields: Fields, name: string): string | undefined {
  if (!Object.hasOwn(fields, name)) return undefined;
  const value = fields[name];
  return typeof value === "string" ? value : JSON.stringify(value);
}
