/**
 * Stands between the SDK and a transport. A request of ours whose answer cannot come any more, or is no answer, fails at once in
 * words and not by its time limit; and a server that asks without end is not answered without end.
 */

import type { JSONRPCMessage, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import { isRecord } from "../../core/schema.ts";

/** Max requests of the server that we have not answered yet. */
const MAX_ASKED = 64;
/** JSON-RPC: an error of the implementation. */
const FAILED_HERE = -32099;

/** The notifications that pass. Others, such as logs, cost nothing but their parsing. */
const HEARD: ReadonlySet<unknown> = new Set([
  ...["notifications/progress", "notifications/tools/list_changed", "notifications/cancelled"],
]);

type RequestId = string | number;

export class GuardedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #inner: Transport;
  /** Our requests without an answer, each with what ends its connection. */
  readonly #open = new Map<RequestId, AbortController>();
  /** Requests of the server without an answer. */
  readonly #asked = new Set<RequestId>();

  /** True when an answer is to come in a stream, for a transport that otherwise has it when a request is sent. */
  readonly #comesLater: (id: RequestId) => boolean;

  constructor(inner: Transport, comesLater: (id: RequestId) => boolean = () => true) {
    this.#inner = inner;
    this.#comesLater = comesLater;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  async start(): Promise<void> {
    this.#inner.onmessage = (message: JSONRPCMessage) => this.#receive(message);
    this.#inner.onclose = () => this.onclose?.();
    this.#inner.onerror = (error) => this.onerror?.(error);
    await this.#inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ("method" in message && "id" in message) return await this.#ask(message, message.id, options);
    if ("id" in message && message.id !== undefined) this.#asked.delete(message.id);
    if (isCancellation(message)) this.#close(message.params.requestId);
    await this.#inner.send(message, options);
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  /** Every open request gets this as the answer of the server. */
  failOpen(words: string): void {
    for (const id of [...this.#open.keys()]) this.#fail(id, words);
  }

  async #ask(message: JSONRPCMessage, id: RequestId, options: TransportSendOptions = {}): Promise<void> {
    const over = new AbortController();
    this.#open.set(id, over);
    const { requestSignal: given } = options;
    const requestSignal = given === undefined ? over.signal : AbortSignal.any([given, over.signal]);
    try {
      const onRequestStreamEnd = () => this.#fail(id, "the connection was lost before the answer came");
      await this.#inner.send(message, { ...options, requestSignal, onRequestStreamEnd });
      if (!this.#comesLater(id)) this.#fail(id, "it sent no answer to the request");
    } catch (error) {
      // Cancelled in the meantime, or answered: nothing waits for it.
      if (!this.#close(id)) return;
      throw error;
    }
  }

  /** Ends its connection, so that the server cannot hold it. False when it was closed before. */
  #close(id: RequestId): boolean {
    const over = this.#open.get(id);
    this.#open.delete(id);
    over?.abort();
    return over !== undefined;
  }

  #receive(message: JSONRPCMessage): void {
    if ("method" in message && !("result" in message) && !("error" in message)) {
      if (this.#mayPass(message)) this.onmessage?.(message);
      return;
    }
    const id = this.#openId("id" in message ? message.id : undefined);
    // Late, doubled, or for something that was never asked.
    if (id === undefined) return;
    const answer = toAnswer(message, id);
    if (answer === undefined) {
      this.#fail(id, "its answer is not a valid MCP message");
    } else {
      this.#close(id);
      this.onmessage?.(answer);
    }
  }

  /** Requests pass until too many wait, and notifications that we need. What does not pass is never answered. */
  #mayPass(message: JSONRPCMessage & { method: string }): boolean {
    if (!("id" in message)) return HEARD.has(message.method);
    const { id } = message;
    const isNew = (typeof id === "string" || typeof id === "number") && !this.#asked.has(id);
    if (!isNew || this.#asked.size >= MAX_ASKED) return false;
    this.#asked.add(id);
    return true;
  }

  /** Ours are numbers; some servers answer with texts. */
  #openId(given: unknown): RequestId | undefined {
    const id = typeof given === "string" && String(Number(given)) === given ? Number(given) : given;
    return typeof id === "number" && this.#open.has(id) ? id : undefined;
  }

  #fail(id: RequestId, message: string): void {
    if (!this.#close(id)) return;
    this.onmessage?.({ jsonrpc: "2.0", id, error: { code: FAILED_HERE, message } });
  }
}

/** Only what the protocol knows: the SDK drops an answer with anything else in it, and would wait for another. */
function toAnswer(message: object, id: RequestId): JSONRPCMessage | undefined {
  const { result, error } = message as Readonly<Record<string, unknown>>;
  if (error !== undefined && error !== null) {
    const { code, message: words } = isRecord(error) ? error : {};
    if (!Number.isInteger(code) || typeof words !== "string") return undefined;
    return { jsonrpc: "2.0", id, error: { code: Number(code), message: words } };
  }
  if (!isRecord(result)) return undefined;
  // Nothing of it is used here.
  const { _meta, ...rest } = result;
  return { jsonrpc: "2.0", id, result: rest };
}

function isCancellation(message: object): message is { params: { requestId: RequestId } } {
  return "method" in message && message.method === "notifications/cancelled";
}
