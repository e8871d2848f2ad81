/** From a text that may be anything to the value it holds, without ever holding more than the text is worth. */

import { UserError } from "../core/errors.ts";

/** In units of UTF-16. A larger tree belongs into a database. */
const MAX_LENGTH = 128_000_000;
/** The file, its list, and the 110 levels an event may have. */
const MAX_LEVELS = 112;
/** An event has some ten lists and objects: each takes many times the two characters it is written with. */
const MAX_OBJECTS = 4_000_000;

/** Throws a `UserError` of one sentence that holds nothing of the text: it would be for a terminal. */
export function parseText(text: string): unknown {
  if (text.length > MAX_LENGTH) throw notImported(`it has more than ${MAX_LENGTH} characters`);
  checkShape(text);
  try {
    return JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text);
  } catch {
    throw notImported("it is not JSON, or only a part of it");
  }
}

export function notImported(what: string): UserError {
  return new UserError(`The file cannot be imported: ${what}`);
}

/** Looked at before it is parsed: a few megabytes of brackets would become gigabytes of nested lists. */
function checkShape(text: string): void {
  let level = 0;
  let objects = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === QUOTE) index = endOfString(text, index);
    else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      level += 1;
      objects += 1;
      if (level > MAX_LEVELS) throw notImported(`it has more than ${MAX_LEVELS} levels`);
      if (objects > MAX_OBJECTS) throw notImported(`it has more than ${MAX_OBJECTS} lists and objects`);
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) level -= 1;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The place of the closing quote. A quote is escaped when an odd number of backslashes stands before it. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text.charCodeAt(first - 1) === BACKSLASH && first - 1 > start) first -= 1;
    if ((end - first) % 2 === 0) return end;
  }
  return text.length;
}
