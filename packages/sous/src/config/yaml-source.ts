/** The text of a YAML file before anything is parsed: decoded, of a bearable size, with a line and a column for every offset. */

import { isUtf8 } from "node:buffer";

/** Both begin with 1; a column counts UTF-16 units, as editors do. */
export type Place = { readonly line: number; readonly column: number };

export type SourceText = {
  readonly text: string;
  placeOf(offset: number): Place;
};

/** What is wrong with the bytes themselves. */
export type SourceProblem = Place & { readonly message: string; readonly fix: string };

/** `firstLine` is the number of the first line when the text is a part of a file. */
export function readSource(
  given: string | Uint8Array,
  { maxBytes, firstLine = 1 }: { maxBytes: number; firstLine?: number | undefined },
): { source: SourceText } | { problem: SourceProblem } {
  const bytes = typeof given === "string" ? Buffer.byteLength(given) : given.byteLength;
  if (bytes > maxBytes) {
    return {
      problem: {
        line: firstLine,
        column: 1,
        message: `the text has ${bytes} bytes (allowed: ${maxBytes})`,
        fix: "make it smaller",
      },
    };
  }
  if (typeof given !== "string" && !isUtf8(given)) {
    const place = firstBadByte(Buffer.from(given.buffer, given.byteOffset, given.byteLength), firstLine);
    return { problem: { ...place, message: "the text is not UTF-8", fix: "save the file as UTF-8" } };
  }
  const decoded = typeof given === "string" ? given : new TextDecoder("utf-8", { ignoreBOM: true }).decode(given);
  const text = decoded.startsWith("\ufeff") ? decoded.slice(1) : decoded;
  const source = { text, placeOf: placesIn(text, firstLine) };
  const control = FORBIDDEN.exec(text);
  if (control === null) return { source };
  const point = text.charCodeAt(control.index).toString(16).toUpperCase().padStart(4, "0");
  return {
    problem: {
      ...source.placeOf(control.index),
      message: `the character U+${point} is not allowed in YAML`,
      fix: 'remove it, or write it as an escape in double quotes, such as "\\u001b"',
    },
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\ufffe\uffff]|\p{Cs}/u;

function firstBadByte(bytes: Buffer, firstLine: number): Place {
  let line = firstLine;
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(0x0a, start);
    const part = bytes.subarray(start, end === -1 ? bytes.length : end);
    if (!isUtf8(part) || end === -1) return { line, column: Math.max(0, part.toString("utf8").indexOf("\ufffd")) + 1 };
    start = end + 1;
    line += 1;
  }
}

function placesIn(text: string, firstLine: number): SourceText["placeOf"] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: firstLine + low, column: offset - (starts[low] ?? 0) + 1 };
  };
}
