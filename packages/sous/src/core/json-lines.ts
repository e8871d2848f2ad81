/** A protocol that writes one JSON value a line, as a reader sees it: lines are bounded, and a bad one ends nothing. */

/** One line: its value, or why it has none. */
type JsonLine = { readonly value: unknown } | { readonly problem: "too long" | "not JSON" };

const LINE_END = 10;

/** Empty lines and a last line without an end are left out. */
export async function* readJsonLines(input: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<JsonLine> {
  for await (const line of linesOf(input, maxBytes)) {
    if (line === undefined) yield { problem: "too long" };
    else if (line.trim() !== "") yield parsedLine(line);
  }
}

function parsedLine(line: string): JsonLine {
  try {
    return { value: JSON.parse(line) };
  } catch {
    return { problem: "not JSON" };
  }
}

/** Undefined stands for a line that was too long; of such a line nothing is held. */
async function* linesOf(input: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<string | undefined> {
  let decoder = new TextDecoder();
  let pieces: string[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    for (let from = 0; from < chunk.length; ) {
      const end = chunk.indexOf(LINE_END, from);
      const piece = chunk.subarray(from, end === -1 ? chunk.length : end);
      bytes += piece.length;
      if (bytes <= maxBytes) pieces.push(decoder.decode(piece, { stream: true }));
      else pieces = [];
      if (end === -1) break;
      yield bytes > maxBytes ? undefined : pieces.join("") + decoder.decode();
      if (bytes > maxBytes) decoder = new TextDecoder();
      pieces = [];
      bytes = 0;
      from = end + 1;
    }
  }
}
