/**
 * JSON-RPC messages as lines of standard input and output. The SDK has such a stream too, but it answers a line that is not
 * JSON, and one that is too long ends the connection.
 */

import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { readJsonLines } from "../core/json-lines.ts";

export type LineStreamOptions = {
  readonly input: AsyncIterable<Uint8Array>;
  /** Writes one line with its end; resolves when the reader can take more. */
  readonly write: (line: string) => Promise<void>;
  /** Of one message. */
  readonly maxLineBytes: number;
  /** One sentence for the log. */
  readonly warn: (sentence: string) => void;
};

/** The readable side ends when the input does. */
export function lineStream(options: LineStreamOptions): Stream {
  return {
    readable: ReadableStream.from(messagesOf(options)) as ReadableStream<AnyMessage>,
    writable: new WritableStream({ write: (message) => options.write(`${JSON.stringify(message)}\n`) }),
  };
}

async function* messagesOf({ input, write, maxLineBytes, warn }: LineStreamOptions): AsyncGenerator<unknown> {
  for await (const line of readJsonLines(input, maxLineBytes)) {
    if ("value" in line) {
      yield line.value;
    } else if (line.problem === "not JSON") {
      warn("A line of standard input that is not JSON was skipped");
    } else {
      const message = `A message of more than ${maxLineBytes} bytes was skipped; send less at once`;
      warn(message);
      // Its id is not known, but its sender must not wait in silence.
      await write(`${JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32600, message } })}\n`);
    }
  }
}
