/**
 * JSON-RPC messages as lines of standard input and output. The SDK has such a stream too, but it answers a line that is not
 * JSON, and one that is too long ends the connection.
 */

import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";

export type LineStreamOptions = {
  readonly input: AsyncIterable<Uint8Array>;
  /** Writes one line with its end; resolves when the reader can take more. */
  readonly write: (line: string) => Promise<void>;
  /** Of one message. */
  readonly maxLineBytes: number;
  /** One sentence for the log. */
  readonly warn: (sentence: string) => void;
};

const LINE_END = 10;

/** The readable side ends when the input does. */
export function lineStream(options: LineStreamOptions): Stream {
  return {
    readable: ReadableStream.from(messagesOf(options)) as ReadableStream<AnyMessage>,
    writable: new WritableStream({ write: (message) => options.write(`${JSON.stringify(message)}\n`) }),
  };
}

async function* messagesOf({ input, write, maxLineBytes, warn }: LineStreamOptions): AsyncGenerator<unknown> {
  for await (const line of linesOf(input, maxLineBytes)) {
    if (line === undefined) {
      const message = `A message of more than ${maxLineBytes} bytes was skipped; send less at once`;
      warn(message);
      // Its id is not known, but its sender must not wait in silence.
      await write(`${JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32600, message } })}\n`);
      continue;
    }
    if (line.trim() === "") continue;
    const parsed = parsedLine(line);
    if (parsed === undefined) warn("A line of standard input that is not JSON was skipped");
    else yield parsed.value;
  }
}

function parsedLine(line: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(line) };
  } catch {
    return undefined;
  }
}

/** Undefined stands for a line that was too long. A last line without an end is left out. */
async function* linesOf(input: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<string | undefined> {
  const decoder = new TextDecoder();
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    for (let from = 0; from < chunk.length; ) {
      const end = chunk.indexOf(LINE_END, from);
      const piece = chunk.subarray(from, end === -1 ? chunk.length : end);
      bytes += piece.length;
      if (bytes <= maxBytes) pieces.push(piece);
      else pieces = [];
      if (end === -1) break;
      yield bytes > maxBytes ? undefined : decoder.decode(Buffer.concat(pieces));
      pieces = [];
      bytes = 0;
      from = end + 1;
    }
  }
}
