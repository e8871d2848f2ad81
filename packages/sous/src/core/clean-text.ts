/**
 * Text from outside without invisible characters: nothing in it acts on a terminal, and nothing is there for models only. Secrets
 * are taken out behind the port `Redactor`.
 */

import type { FilePart } from "./message.ts";

/**
 * Cleans what tools give back to a model: it reads that something was hidden there, and what scripts and emoji are written with
 * stays. Clean text costs one look.
 */
export function cleanText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  if (!SUSPECT.test(whole)) return whole;
  return whole
    .replace(SEQUENCE, "")
    .replace(TAGS, tagsShown)
    .replace(INVISIBLE, invisibleShown)
    .replace(CONTROL, escaped);
}

/** Removes codes of terminals, and puts nothing in their place: for terminals, and for output that is searched for secrets. */
export function plainText(text: string): string {
  return visibleText(text.replace(SEQUENCE, ""));
}

/**
 * Cleans files that become instructions: what a model reads is what a person sees in an editor, so of a code of a terminal only
 * the control character goes. Line breaks and tabs stay; a line that was written over comes as several lines.
 */
export function visibleText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r+\n?/g, "\n")
    .replace(HIDDEN, "");
}

/** JSON with the same characters as escapes: it parses to the same value. */
export function visibleJson(json: string): string {
  return json.replace(HIDDEN, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

// Control characters but the tab and the line break; direction marks and overrides; invisible characters; tag characters.
// The zero-width joiner and the variation selectors stay: emoji are made of them.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

// Control characters but tab and line ends; every invisible character; the first half of tags and rare selectors.
const SUSPECT =
  // biome-ignore lint/suspicious/noControlCharactersInRegex lint/suspicious/noMisleadingCharacterClass: halves and controls are what is looked for.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\udb40]/;

// Whole escape sequences: colours and cursor moves; strings such as links (OSC 8) and the clipboard (OSC 52); short ones.
// A string that never ends extends to the end of its line at most, so that it cannot swallow the rest.
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c\r\n]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g;

/** Tag characters, with the black flag before them: three flags are written with tags. */
const TAGS = /\u{1f3f4}?[\u{e0000}-\u{e007f}]+/gu;
const FLAG =
  /^\u{1f3f4}(?:\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073}))\u{e007f}$/u;

function tagsShown(tags: string): string {
  if (FLAG.test(tags)) return tags;
  const flag = tags.startsWith("\u{1f3f4}") ? "\u{1f3f4}" : "";
  return `${flag}[${([...tags].length - [...flag].length).toString()} invisible tag characters were removed]`;
}

/** Characters without width or with nothing to see, joiners and selectors, direction marks; what stands before them too. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each of them is looked for by itself.
  /(^|[\s\S])([\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{e0080}-\u{e0fff}]+)/gu;

function invisibleShown(_: string, before: string, hidden: string): string {
  const characters = [...hidden];
  if (isPartOfWriting(before, hidden)) return before + hidden;
  if (characters.length <= MAX_ESCAPED) return before + characters.map(escaped).join("");
  return `${before}[${characters.length} invisible characters were removed]`;
}

/** A longer run says nothing to people, and is a message to machines. */
const MAX_ESCAPED = 3;

/** Joiners, marks and selectors that scripts and emoji are written with: one, after a character that may have it. */
function isPartOfWriting(before: string, hidden: string): boolean {
  if (hidden === "\ufe0f\u200d") return EMOJI.test(before);
  if ([...hidden].length !== 1) return false;
  if (/[\u200b-\u200f\u061c]/.test(hidden)) return before !== "" && !ASCII.test(before);
  if (/[\ufe0e\ufe0f]/.test(hidden)) return EMOJI.test(before);
  if (/[\ufe00-\ufe0d\u{e0100}-\u{e01ef}]/u.test(hidden)) return /[\p{Ideographic}\p{Sm}]/u.test(before);
  return /[\u180b-\u180f]/.test(hidden) && /\p{Script=Mongolian}/u.test(before);
}

const ASCII = /^\p{ASCII}$/u;
const EMOJI = /^[\p{Emoji}\p{So}\p{Sm}\p{Po}\p{Emoji_Modifier}]$/u;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is shown.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** False when a text inside holds half a character. Looks into the value: its JSON would hide half a character behind an escape. */
export function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, each]) => key.isWellFormed() && isWellFormed(each));
}

/** More of a description is not looked at: it may be as long as a file. */
const MAX_READ = 4096;

/** A description as one line that a reader sees whole: its author may be a stranger. */
export function oneLine(description = ""): string {
  return cleanText(plainText(description.slice(0, MAX_READ)))
    .replace(/\s+/g, " ")
    .trim();
}

export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`;
}

/** Gives back what it was given, the same object, when there is nothing to hide. */
export type Redactor = {
  text(text: string): string;
  /** Every text inside a plain value, at any depth; the names of fields too, since a model can choose those. */
  value<T>(value: T): T;
  /** A file that holds a secret is replaced as a whole: half of a picture is of no use. */
  file(file: FilePart): FilePart;
  /** Makes a function for a text that comes in pieces: it replaces the next one, which may continue what the last one began. */
  pieces(): (piece: string) => string;
};

/** Hides nothing. */
export const NO_REDACTION: Redactor = {
  text: (text) => text,
  value: (value) => value,
  file: (file) => file,
  pieces: () => (piece) => piece,
};

/** The text that replaces a secret: the name of its variable or its kind, and nothing of the secret itself. */
export function markOf(name: string): string {
  return `${MARK_START}${name}]`;
}

/** True when something was taken out of the value, so that it is not what was said. */
export function isRedacted(value: unknown): boolean {
  if (typeof value === "string") return value.includes(MARK_START);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, field]) => isRedacted(key) || isRedacted(field));
}

const MARK_START = "[redacted: ";
