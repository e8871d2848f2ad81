/** Names of files as one line of an answer: a name may hold a line break, and must not look like two. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

export function printable(name: string): string {
  return name.toWellFormed().replace(CONTROL, "\ufffd");
}
