/** Agents as tools of the Model Context Protocol, for one client. What a call does is behind `ServedAgents`. */

import { addAbortListener } from "node:events";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  Server,
  type Transport,
} from "@modelcontextprotocol/server";
import { messageOf } from "../../core/errors.ts";
import { readJsonLines } from "../../core/json-lines.ts";
import { isRecord } from "../../core/schema.ts";
import { type CallsOptions, ServedCalls } from "./serve-calls.ts";

type LineTransportOptions = {
  readonly input: AsyncIterable<Uint8Array>;
  /** Writes one line with its end; resolves when the reader can take more. */
  readonly write: (line: string) => Promise<void>;
  /** Max bytes of one message. */
  readonly maxLineBytes: number;
  /** One sentence for the log. */
  readonly warn: (sentence: string) => void;
};

const NOT_JSON = -32700;
const WRONG_REQUEST = -32600;
const FAILED = -32603;
/** Max bytes of unread answers: beyond them nothing further is read from a client that does not take its answers. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

/**
 * JSON-RPC messages as lines of standard input and output. The SDK has such a transport, too, but a line that is too long ends
 * its connection, and it answers none that it cannot read.
 */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #options: LineTransportOptions;
  #isClosed = false;
  #unreadBytes = 0;
  /** The last write; all before it are done when it is. */
  #written: Promise<void> = Promise.resolve();

  constructor(options: LineTransportOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    void this.#read();
  }

  async send(message: object): Promise<void> {
    if (this.#isClosed) return;
    const line = `${JSON.stringify(message)}\n`;
    this.#unreadBytes += line.length;
    const written = this.#options.write(line).finally(() => {
      this.#unreadBytes -= line.length;
    });
    this.#written = written.catch(() => {});
    await written;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
  }

  /** Reads until the input ends; then the connection is closed. */
  async #read(): Promise<void> {
    const { input, maxLineBytes, warn } = this.#options;
    try {
      for await (const line of readJsonLines(input, maxLineBytes)) {
        if (this.#isClosed) return;
        if (this.#unreadBytes > MAX_UNREAD_BYTES) await this.#written;
        if ("value" in line) this.#take(line.value);
        else if (line.problem === "not JSON") this.#refuse(null, NOT_JSON, "This line is not JSON");
        else this.#refuse(null, WRONG_REQUEST, `A message has at most ${maxLineBytes} bytes; send less at once`);
      }
    } catch (error) {
      if (!this.#isClosed) warn(`Standard input cannot be read: ${messageOf(error)}`);
    }
    await this.close();
  }

  #take(value: unknown): void {
    if (!isMessage(value)) {
      const words = "This is not a message of JSON-RPC 2.0 as MCP has them: one object a line";
      this.#refuse(idOf(value), WRONG_REQUEST, words);
      return;
    }
    try {
      this.onmessage?.(value);
    } catch (error) {
      this.#refuse(idOf(value), FAILED, messageOf(error));
    }
  }

  /** Answers a message that is refused: its sender must not wait in silence. The id is null where it is not known. */
  #refuse(id: string | number | null, code: number, message: string): void {
    this.#options.warn(message);
    this.send({ jsonrpc: "2.0", id, error: { code, message } }).catch(() => {});
  }
}

/** The messages that the SDK understands. */
function isMessage(value: unknown): value is JSONRPCMessage {
  return (
    isJSONRPCRequest(value) ||
    isJSONRPCNotification(value) ||
    isJSONRPCResultResponse(value) ||
    isJSONRPCErrorResponse(value)
  );
}

function idOf(value: unknown): string | number | null {
  const id = isRecord(value) ? value.id : null;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

/** Resolves when the client is gone or `signal` aborts, and every call has ended. */
export async function serveMcp(options: CallsOptions & LineTransportOptions): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([options.signal, ending.signal]);
  const calls = new ServedCalls({ ...options, signal });
  const server = new Server(
    { name: "sous", title: "sous", version: options.agents.version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler("tools/list", () => ({ tools: calls.list() }));
  server.setRequestHandler("tools/call", ({ params }, context) => calls.call(params, context));
  const closed = Promise.withResolvers<void>();
  server.onclose = closed.resolve;
  await server.connect(new LineTransport(options));
  using _stop = addAbortListener(options.signal, () => void server.close());
  await closed.promise;
  ending.abort();
  await calls.settled();
}

const INSTRUCTIONS =
  "Each tool is an agent that works by itself in the folder of this server, with tools of its own, and answers with a report. A report is what the agent claims: check what matters. A call can take minutes.";
