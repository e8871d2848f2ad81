/** How a line of a file is cut in place: between characters, and saying how much is missing. */

import { truncateUtf8 } from "../core/truncate.ts";
import { utf8Length } from "../core/usage.ts";

/** `lineBytes` is the size of the line when `line` is only the beginning of it. */
export function truncateLine(line: string, maxBytes: number, lineBytes: number = utf8Length(line)): string {
  const { text, keptBytes } = truncateUtf8(line, maxBytes);
  return lineBytes > keptBytes ? `${text}… [${lineBytes - keptBytes} more bytes]` : text;
}
