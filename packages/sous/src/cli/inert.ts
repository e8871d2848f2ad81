/** Text from models, tools and files, made harmless for a terminal: it can be read and does nothing else. */

/** Keeps line breaks and tabs as spaces; everything that moves the cursor, hides or reorders text is taken out. */
export function inert(text: string): string {
  return text.toWellFormed().replace(SEQUENCE, "").replace(/\r\n?/g, "\n").replaceAll("\t", "    ").replace(HIDDEN, "");
}

/** The same as one line, cut to about `maxLength` units. */
export function inertLine(text: string, maxLength = 400): string {
  // Twice as much is looked at, so that what is taken out does not shorten the line for nothing.
  const line = inert(text.slice(0, maxLength * 2))
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= maxLength ? line : `${line.slice(0, maxLength).toWellFormed()}...`;
}

/** JSON with what could act on a terminal written as escapes: it says the same to whoever parses it. */
export function inertJson(json: string): string {
  return json.replace(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, unit) => escapeUnit(character.charCodeAt(unit))).join(""),
  );
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}

// Escape sequences as a whole: what is left of a colour code without its first byte would still be in the way.
const CSI = "(?:\\u001b\\[|\\u009b)[0-?]*[ -/]*[@-~]";
const STRING =
  "(?:\\u001b[\\]PX^_]|[\\u0090\\u0098\\u009d\\u009e\\u009f])[^\\u0007\\u001b\\u009c]*(?:\\u0007|\\u001b\\\\|\\u009c)?";
const SHORT = "\\u001b[ -/]*[0-~]?";
const SEQUENCE = new RegExp(`${CSI}|${STRING}|${SHORT}`, "g");

// Control characters but the line break; direction marks and overrides; invisible characters; tag characters. The
// zero-width joiner and the variation selectors stay: emoji are made of them.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
