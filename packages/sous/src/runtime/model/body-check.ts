/** Checks of what a server sends, a stream of events or the body of a refusal, while it passes through. */

import { ModelError } from "../../core/errors.ts";
import { answerTooLarge, MAX_ANSWER_BYTES } from "./check-answer.ts";
import { classifyError } from "./classify-error.ts";

export type CallFacts = {
  /** `provider/model`, for messages. */
  id: string;
  /** The settings that hold the address, for messages. */
  addressSettings: string;
  silenceMs: number;
};

/** Checks a body while it passes through. An error ends the call. */
export type BodyCheck = {
  /** True when nothing more is to come, whether or not the server ends the body. */
  readonly isDone: boolean;
  /** The part of this piece that is passed on. */
  take(chunk: Uint8Array): Uint8Array;
  end(): void;
  /** The error when reading the body fails. */
  broken(error: unknown): unknown;
};

/** Max bytes read of a refusal: its beginning says what is wrong. */
const MAX_REFUSAL_BYTES = 256 * 1024;
/** Max bytes read of a document that came instead of a stream. */
const MAX_DOCUMENT_BYTES = 64 * 1024;
const MAX_QUOTE = 200;

export class RefusalCheck implements BodyCheck {
  #bytes = 0;

  get isDone(): boolean {
    return this.#bytes >= MAX_REFUSAL_BYTES;
  }

  take(chunk: Uint8Array): Uint8Array {
    const passed = chunk.subarray(0, MAX_REFUSAL_BYTES - this.#bytes);
    this.#bytes += passed.length;
    return passed;
  }

  end(): void {}

  broken(error: unknown): unknown {
    return error;
  }
}

const NOTHING = new Uint8Array(0);
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const LESS_THAN = 0x3c;
const BRACE = 0x7b;
const BRACKET = 0x5b;

/** The overhead that each event may have beside the text of the model. */
const EVENT_BYTES = 1024;
const FIELD = /^(?:data|event|id|retry)?:/;
/**
 * The line with which servers that speak chat completions end a stream. Google and servers that leave it out end an answer with its
 * body: a reason for the end proves nothing there, because some send one with every piece.
 */
const LAST_LINE = /^data: ?\[DONE\]/;
/** The last event of Anthropic's protocol, and of OpenAI's, by its name or by the type that its data begins with. */
const LAST_EVENT =
  /^(?:event: ?|data: ?\{\s?"type"\s?:\s?")(?:message_stop|response\.(?:completed|incomplete|failed))(?:"|\s*$)/;
/** The event that opens a part in Anthropic's protocol; hidden thinking comes whole in it. */
const BLOCK_START = /^(?:event: ?|data: ?\{\s?"type"\s?:\s?")content_block_start/;
/** More than a field with an empty value has. */
const FIELD_BYTES = 13;
/** More than the longest of these. */
const LINE_START = 48;
/** The bytes at the beginning that are kept: the first event of a provider says what it has read. */
const BEGINNING_BYTES = 4096;
const LATIN = new TextDecoder("latin1");

/** A stream of events begins with neither `<` nor `{`, whatever its headers say, and its events are parted by empty lines. */
export class StreamCheck implements BodyCheck {
  readonly #facts: CallFacts;
  readonly #host: string;
  /** The beginning of the body, until it is known whether it is a document or a stream; then undefined. */
  #document: Uint8Array[] | undefined = [];
  #documentBytes = 0;
  #first: Uint8Array = NOTHING;
  #hasEvents = false;
  #eventBytes = 0;
  /** Bytes of all events beyond their overhead. */
  #excessBytes = 0;
  #lineBytes = 0;
  #lineStart = "";
  /** The event that is being read is the last one. */
  #isLast = false;
  /** The event that is being read opens a part. */
  #isBlock = false;
  isDone = false;

  constructor(facts: CallFacts, host: string) {
    this.#facts = facts;
    this.#host = host;
  }

  take(chunk: Uint8Array): Uint8Array {
    if (this.#document !== undefined) return this.#begin(chunk, this.#document);
    const missing = BEGINNING_BYTES - this.#first.length;
    if (missing > 0) this.#first = Buffer.concat([this.#first, chunk.subarray(0, missing)]);
    return chunk.subarray(0, this.#measure(chunk));
  }

  /** Bytes of an event that has begun to arrive and not ended: no part of the answer has them. */
  get unfinishedBytes(): number {
    const isStream = this.#hasEvents || FIELD.test(this.#lineStart);
    return isStream && !this.isDone ? this.#eventBytes : 0;
  }

  /** An event has begun and not ended whose missing rest may be of any size. */
  get hasUnfinishedBlock(): boolean {
    return this.#isBlock || BLOCK_START.test(this.#lineStart);
  }

  /** The first events, as far as they have come. */
  get beginning(): string {
    return LATIN.decode(this.#first);
  }

  end(): void {
    this.#endLine();
    const text = this.#document === undefined ? this.#first.subarray(0, 2 * MAX_QUOTE) : Buffer.concat(this.#document);
    // A shorter text may be an event that was cut off.
    const isLong = text.length > FIELD_BYTES || this.#document !== undefined;
    if (!this.#hasEvents && isLong && firstSign([text]) !== undefined) throw this.#notAStream([text]);
  }

  broken(error: unknown): unknown {
    return classifyError(error, { id: this.#facts.id, phase: "stream", afterOutput: true });
  }

  /** Holds the beginning back until it is clear what it is. */
  #begin(chunk: Uint8Array, held: Uint8Array[]): Uint8Array {
    held.push(chunk);
    this.#documentBytes += chunk.length;
    const sign = firstSign(held);
    const isDocument = sign === LESS_THAN || sign === BRACE || sign === BRACKET;
    const isLong = this.#documentBytes > MAX_DOCUMENT_BYTES;
    // The first character already shows that it is a page.
    if (sign === LESS_THAN || (isDocument && isLong)) throw this.#notAStream(held);
    if (isDocument || (sign === undefined && !isLong)) return NOTHING;
    this.#document = undefined;
    const whole = Buffer.concat(held);
    this.#first = whole.subarray(0, BEGINNING_BYTES);
    return whole.subarray(0, this.#measure(whole));
  }

  /** Returns the number of bytes up to the end of the message: what a proxy sends behind it is another one. */
  #measure(chunk: Uint8Array): number {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, from);
      const stop = end === -1 ? chunk.length : end;
      const isBare = stop === from || (stop === from + 1 && chunk[from] === CARRIAGE_RETURN);
      // The `\r` of the line may have come with an earlier piece.
      const isBlank = this.#lineBytes === 0 ? isBare : stop === from && this.#lineStart === "\r";
      if (end !== -1 && isBlank) {
        this.#endEvent();
        if (this.isDone) return end + 1;
      } else this.#eventBytes += stop - from;
      if (this.#excessBytes + this.#eventBytes > MAX_ANSWER_BYTES) throw answerTooLarge(this.#facts.id);
      if (this.#lineStart.length < LINE_START)
        this.#lineStart += LATIN.decode(chunk.subarray(from, Math.min(stop, from + LINE_START)));
      this.#lineBytes += stop - from;
      if (end === -1) return chunk.length;
      this.#endLine();
      from = end + 1;
      if (this.isDone) return from;
    }
  }

  #endLine(): void {
    if (FIELD.test(this.#lineStart)) this.#hasEvents = true;
    if (LAST_LINE.test(this.#lineStart)) this.isDone = true;
    if (LAST_EVENT.test(this.#lineStart)) this.#isLast = true;
    if (BLOCK_START.test(this.#lineStart)) this.#isBlock = true;
    this.#lineBytes = 0;
    this.#lineStart = "";
  }

  #endEvent(): void {
    this.#excessBytes += Math.max(0, this.#eventBytes - EVENT_BYTES);
    this.#eventBytes = 0;
    this.#isBlock = false;
    if (this.#isLast) this.isDone = true;
  }

  #notAStream(pieces: readonly Uint8Array[]): ModelError {
    const { id, addressSettings } = this.#facts;
    const text = new TextDecoder().decode(Buffer.concat(pieces)).trim();
    const check = `check the address of the provider (${addressSettings})`;
    if (text.startsWith("<"))
      return new ModelError(
        "invalid_request",
        `${this.#host} answered with a web page instead of an answer of ${id}: ${check}`,
      );
    const error = errorIn(text);
    if (error !== undefined) return classifyError(error, { id, phase: "request" });
    const quote = text.replaceAll(/\s+/g, " ").slice(0, MAX_QUOTE).toWellFormed();
    return new ModelError(
      "invalid_request",
      `${this.#host} answered with a document instead of a stream of events (${quote}): ${check}`,
    );
  }
}

/** The first character that is not white space; undefined while there is none. */
function firstSign(pieces: readonly Uint8Array[]): number | undefined {
  for (const piece of pieces) for (const byte of piece) if (byte > 0x20 && byte < 0x80) return byte;
  return undefined;
}

/** Some servers report an error with the status of a success. */
function errorIn(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text);
    const { error } = (Array.isArray(parsed) ? parsed[0] : parsed) as { error?: unknown };
    if (typeof error === "string") return { message: error };
    return typeof error === "object" && error !== null ? error : undefined;
  } catch {
    return undefined;
  }
}
