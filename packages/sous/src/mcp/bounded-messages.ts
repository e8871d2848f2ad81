/** What a server sends over HTTP, within limits: fails at the first message that is too long, and leaves time for everything else. */

import { Transform } from "node:stream";
import { setImmediate as otherWork } from "node:timers/promises";
import { MAX_MESSAGE_BYTES } from "./stdio-transport.ts";

/** Of what is passed on at once: a server that sends events without end must not keep timers and other calls from their turn. */
const PIECE_BYTES = 16 * 1024;

type Kind = {
  /** A stream of events, in which a message ends with an empty line. Anything else is one message. */
  readonly isStream: boolean;
  /** To one request, so it is one message and not a list. */
  readonly isAnswer: boolean;
};

export class BoundedMessages extends Transform {
  readonly #isStream: boolean;
  #isAnswerStart: boolean;
  #bytes = 0;
  #isLineEmpty = false;

  constructor({ isStream, isAnswer }: Kind) {
    super();
    this.#isStream = isStream;
    this.#isAnswerStart = isAnswer && !isStream;
  }

  override _transform(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#passOn(chunk).then(
      () => done(),
      (error: Error) => done(error),
    );
  }

  async #passOn(chunk: Buffer): Promise<void> {
    this.#checkStart(chunk);
    for (let at = 0; at < chunk.length && !this.destroyed; at += PIECE_BYTES) {
      const piece = chunk.subarray(at, at + PIECE_BYTES);
      this.#count(piece);
      if (this.#bytes > MAX_MESSAGE_BYTES) throw new Error(`a message is longer than ${MAX_MESSAGE_BYTES} bytes`);
      this.push(piece);
      if (this.#isStream) await otherWork();
    }
  }

  /** Thousands of messages in one answer would be read without a pause. */
  #checkStart(chunk: Buffer): void {
    if (!this.#isAnswerStart) return;
    const first = chunk.find((byte) => byte > SPACE);
    if (first === undefined) return;
    this.#isAnswerStart = false;
    if (first === LIST) throw new Error("its answer is a list of messages, which MCP does not allow");
  }

  #count(chunk: Buffer): void {
    if (!this.#isStream) {
      this.#bytes += chunk.length;
      return;
    }
    for (const byte of chunk) {
      if (byte === LF || byte === CR) {
        if (this.#isLineEmpty) this.#bytes = 0;
        // CR LF is one end of a line, and two of them are an empty line: CR alone is not used by servers.
        if (byte === LF) this.#isLineEmpty = true;
      } else {
        this.#isLineEmpty = false;
        this.#bytes += 1;
        if (this.#bytes > MAX_MESSAGE_BYTES) return;
      }
    }
  }
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
/** `[` */
const LIST = 0x5b;
