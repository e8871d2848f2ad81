/** The port to what takes secrets out of texts; `secrets/` is behind it. */

import type { FilePart } from "./message.ts";

/** Gives back what it was given, the same object, when there is nothing to hide. */
export type Redactor = {
  text(text: string): string;
  /** Every text inside a plain value, at any depth; the names of fields too, since a model can choose those. */
  value<T>(value: T): T;
  /** A file that holds a secret is replaced as a whole: half of a picture is of no use. */
  file(file: FilePart): FilePart;
  /** For a text that comes in pieces: what replaces the next one, which may continue what the last one began. */
  pieces(): (piece: string) => string;
};

/** Hides nothing. */
export const NO_REDACTION: Redactor = {
  text: (text) => text,
  value: (value) => value,
  file: (file) => file,
  pieces: () => (piece) => piece,
};

/** What replaces a secret: the name of its variable or its kind, and nothing of the secret itself. */
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
