/** How tool results are cut: on a character boundary, and saying how much is missing. */

import { truncateUtf8, truncateUtf8Start } from "../core/truncate.ts";
import { utf8Length } from "../core/usage.ts";

/** Keeps half of `maxBytes` at each end: errors and results stand at the end of an output, its subject at the start. */
export function truncateMiddle(text: string, maxBytes: number): string {
  const originalBytes = utf8Length(text);
  if (originalBytes <= maxBytes) return text.toWellFormed();
  const head = truncateUtf8(text, Math.ceil(maxBytes / 2));
  const tail = truncateUtf8Start(text, Math.floor(maxBytes / 2));
  const missing = originalBytes - head.keptBytes - tail.keptBytes;
  return `${head.text}\n[cut: ${missing} of ${originalBytes} bytes are missing here]\n${tail.text}`;
}

/** One line of a file, cut to `maxBytes` in place; `lineBytes` is its size when `line` is only the beginning of it. */
export function truncateLine(line: string, maxBytes: number, lineBytes: number = utf8Length(line)): string {
  const { text, keptBytes } = truncateUtf8(line, maxBytes);
  return lineBytes > keptBytes ? `${text}… [${lineBytes - keptBytes} more bytes]` : text;
}
