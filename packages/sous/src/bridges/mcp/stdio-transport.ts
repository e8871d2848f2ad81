/** A server that is a program: one JSON message a line. The SDK's own transport starts processes itself, which only `app/process/` may. */

import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { ignore } from "../../core/errors.ts";
import type { ProgramResult, Programs, TalkingProgram, TalkRequest } from "../../core/process.ts";
import { isRecord } from "../../core/schema.ts";

export const MAX_MESSAGE_BYTES: number = 10 * 1024 * 1024;
const MAX_ERROR_BYTES = 16 * 1024;
/** Max lines that the server has not taken yet: it waits for its own answers then. */
const MAX_UNSENT = 64;

export type ProgramToTalkTo = Pick<TalkRequest, "program" | "args" | "cwd" | "environment">;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Called when the server sent a message that is too long to be read. */
  onLongMessage: () => void = ignore;
  readonly #programs: Programs;
  readonly #request: ProgramToTalkTo;
  #program: TalkingProgram | undefined;
  #result: ProgramResult | undefined;
  #sending: Promise<void> = Promise.resolve();
  #unsent = 0;

  constructor(programs: Programs, request: ProgramToTalkTo) {
    this.#programs = programs;
    this.#request = request;
  }

  async start(): Promise<void> {
    this.#program = await this.#programs.talk({
      ...this.#request,
      maxLineBytes: MAX_MESSAGE_BYTES,
      maxErrorBytes: MAX_ERROR_BYTES,
      isQuiet: true,
      onLongLine: () => this.onLongMessage(),
    });
    void this.#read(this.#program);
  }

  send(message: JSONRPCMessage): Promise<void> {
    const line = JSON.stringify(message);
    this.#unsent += 1;
    const sent = this.#sending.then(() => this.#program?.send(line)).finally(() => (this.#unsent -= 1));
    this.#sending = sent.catch(ignore);
    return sent;
  }

  async close(): Promise<void> {
    const result = await this.#program?.close();
    this.#result ??= result;
  }

  /** The sentence about its end, when it has ended. */
  get result(): ProgramResult | undefined {
    return this.#result;
  }

  /** The end of what it wrote to standard error. */
  get errors(): string {
    const { head = "", tail = "" } = this.#program?.errors() ?? {};
    return tail === "" ? head : tail;
  }

  async #read(program: TalkingProgram): Promise<void> {
    try {
      for await (const line of program.lines) {
        const message = parsed(line);
        if (message !== undefined) this.onmessage?.(message);
        // A server that asks and does not read our answers waits here, so that they do not pile up.
        if (this.#unsent >= MAX_UNSENT) await this.#sending;
      }
    } catch {
      // A stream that cannot be read has ended: the result below says how.
    }
    // A server that closed its output and stays cannot answer any more.
    this.#result = await program.close().catch(() => undefined);
    this.onclose?.();
  }
}

/** Undefined for banners and other lines that are no message. */
function parsed(line: string): JSONRPCMessage | undefined {
  if (!line.trimStart().startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) && value.jsonrpc === "2.0" ? (value as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}
