/**
 * `fetch` for one server: its own host only, at addresses that were checked, with bounded messages. No proxy, no cookies, no
 * pool. Redirects are followed on the same host only.
 */

import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { Readable, Transform } from "node:stream";
import { setImmediate as otherWork } from "node:timers/promises";
import { codeOf, ToolFailure } from "../../core/errors.ts";
import { isRecord } from "../../core/schema.ts";
import { hostOf } from "../../core/web-address.ts";
import {
  type Addresses,
  isMetadataAddress,
  isPublicAddress,
  isRedirect,
  only,
  resolveHere,
} from "../../machine/address.ts";
import { MAX_MESSAGE_BYTES } from "./stdio-transport.ts";

export type HttpRules = {
  readonly url: URL;
  /** The headers of every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** True when the host may have addresses that are not public. */
  readonly mayBeLocal: boolean;
  /** True when the user wrote this very address. */
  readonly isOwn: boolean;
  /** Called when the stream that a server sends messages in has ended. */
  readonly onStreamEnd: () => void;
  /** Called when a stream begins in which the answer to this request of ours is to come; unset where none comes so. */
  readonly onAnswerStream?: (id: unknown) => void;
};

const MAX_REDIRECTS = 5;
const MAX_SHOWN_ADDRESS = 200;

/** The part of `fetch` that the SDK's transports use. */
export function fetchFor(rules: HttpRules): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (given, init = {}) => {
    let url = new URL(given);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      checkTarget(url, rules);
      const addresses = await checkedAddresses(url, rules);
      const reply = await ask(url, addresses, init, rules);
      const location = isRedirect(reply.statusCode) ? reply.headers.location : undefined;
      if (location === undefined) return toResponse(reply, init, rules);
      reply.destroy();
      url = redirected(url, location, reply.statusCode ?? 0, init);
    }
    throw new ToolFailure(`${rules.url.host} redirects more than ${MAX_REDIRECTS} times`);
  };
}

function checkTarget(url: URL, { url: own }: HttpRules): void {
  const isWeb = url.protocol === "https:" || url.protocol === "http:";
  if (!isWeb || url.host !== own.host)
    throw new ToolFailure(`${own.host} leads to another host, which is not followed`);
  if (own.protocol === "https:" && url.protocol === "http:") {
    throw new ToolFailure(`${own.host} leads to an address that is not encrypted, which is not followed`);
  }
}

function redirected(from: URL, location: string, status: number, { method = "GET" }: RequestInit): URL {
  const to = URL.parse(location, from.href);
  if (to === null) throw new ToolFailure(`${from.host} redirects to an address that cannot be read`);
  // The others would turn a message into a request for a page.
  if (method !== "GET" && status !== 307 && status !== 308) {
    const address = `${to.origin}${to.pathname}`.slice(0, MAX_SHOWN_ADDRESS);
    throw new ToolFailure(
      `${from.host} redirects to ${address} with status ${status}, which loses the message: check url`,
    );
  }
  return to;
}

/** All addresses of a name must be allowed: which one is used is not chosen here. */
async function checkedAddresses(url: URL, rules: HttpRules): Promise<Addresses> {
  const host = hostOf(url);
  const [first, ...others] = isIP(host) === 0 ? await resolveHere(host).catch((error) => fail(host, error)) : [host];
  if (first === undefined) throw new ToolFailure(`${host} has no address`);
  for (const address of [first, ...others]) checkAddress(address, host, rules);
  return [first, ...others];
}

function checkAddress(address: string, host: string, { mayBeLocal, isOwn }: HttpRules): void {
  if (isMetadataAddress(address)) {
    if (isOwn && address === host) return;
    throw new ToolFailure(`${host} is at ${address}, where machines keep their keys: it is not reached`);
  }
  if (isPublicAddress(address) || mayBeLocal) return;
  throw new ToolFailure(
    `${host} is at ${address}, which is not public: name the host in tools.fetch.allow_hosts, or the server in your own configuration`,
  );
}

function ask(url: URL, addresses: Addresses, init: RequestInit, rules: HttpRules): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { method = "GET", signal, body } = init;
  const options = {
    method,
    headers: headersOf(init, rules),
    agent: false,
    lookup: only(addresses),
    rejectUnauthorized: true,
    ...(signal && { signal }),
  } as const;
  const request = url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options);
  // A stream that is open for whatever the server says keeps us alive no longer than a call does, which has a timer.
  if (method === "GET") request.on("socket", (socket) => socket.unref());
  request.on("response", (message) => {
    // A body that is left unread ends with an unhandled error.
    message.on("error", () => undefined);
    resolve(message);
  });
  request.on("upgrade", (_message, socket) => {
    socket.destroy();
    reject(new ToolFailure(`${url.host} answered with the status 101`));
  });
  request.on("error", (error) => (signal?.aborted ? reject(signal.reason) : reject(unreachable(url.host, error))));
  request.end(typeof body === "string" ? body : undefined);
  return promise;
}

/** Merges headers; those of the protocol win. A value that cannot be sent is not shown: it may be a secret. */
function headersOf(init: RequestInit, { headers }: HttpRules): Record<string, string> {
  const all = new Headers({ "user-agent": "sous" });
  for (const [name, value] of Object.entries(headers)) {
    try {
      all.set(name, value);
    } catch {
      throw new ToolFailure(`its header ${JSON.stringify(name)} cannot be sent: look for line breaks in its value`);
    }
  }
  for (const [name, value] of new Headers(init.headers)) all.set(name, value);
  return Object.fromEntries(all);
}

/** Statuses whose answers have no body. */
const WITHOUT_BODY = new Set([204, 205, 304]);

function toResponse(reply: IncomingMessage, init: RequestInit, rules: HttpRules): Response {
  const { statusCode: status = 502, headers } = reply;
  const { method = "GET" } = init;
  if (status < 200 || status > 599) throw new ToolFailure(`${rules.url.host} answered with the status ${status}`);
  const packed = headers["content-encoding"];
  if (packed !== undefined && packed !== "identity") {
    throw new ToolFailure(`${rules.url.host} sent a compressed answer, which sous does not accept`);
  }
  const fields = new Headers();
  // The header about logging in is left out: the SDK would begin to, and it has no person to ask.
  for (const name of ["content-type", "mcp-session-id"]) {
    const value = headers[name];
    if (typeof value === "string") fields.set(name, value);
  }
  if (WITHOUT_BODY.has(status)) {
    reply.resume();
    return new Response(null, { status, headers: fields });
  }
  const asked = method === "POST" && rules.onAnswerStream !== undefined ? requestIn(init) : undefined;
  // Everything else is collected before it is looked at, whatever it says it is.
  const isStream = status === 200 && isEvents(headers["content-type"]) && (method === "GET" || asked !== undefined);
  if (isStream && asked !== undefined) rules.onAnswerStream?.(asked.id);
  const bounded = reply.pipe(new BoundedMessages({ isStream, isAnswer: asked !== undefined }));
  reply.on("error", (error) => bounded.destroy(error));
  reply.on("close", () => reply.complete || bounded.destroy(new Error("the connection was lost")));
  // A body that is not read any more is not held by the server either.
  bounded.on("close", () => reply.destroy());
  if (isStream && method === "GET") bounded.on("close", rules.onStreamEnd);
  bounded.on("error", () => undefined);
  return new Response(Readable.toWeb(bounded) as ConstructorParameters<typeof Response>[0], {
    status,
    headers: fields,
  });
}

/** Our request, if it wants an answer. */
function requestIn({ body }: RequestInit): { readonly id: unknown } | undefined {
  const message: unknown = typeof body === "string" ? JSON.parse(body) : undefined;
  return isRecord(message) && "method" in message && "id" in message ? { id: message.id } : undefined;
}

function isEvents(contentType = ""): boolean {
  const [type = ""] = contentType.toLowerCase().split(";");
  return type.trim() === "text/event-stream";
}

function fail(host: string, error: unknown): never {
  throw unreachable(host, error);
}

function unreachable(host: string, error: unknown): ToolFailure {
  const code = codeOf(error);
  const why = typeof code === "string" ? code : "no answer";
  return new ToolFailure(`no connection to ${host} (${why})`, { cause: error });
}

/** Bytes passed on at once: a server that sends events without end must not hold up timers and other calls. */
const PIECE_BYTES = 16 * 1024;

type Kind = {
  /** A stream of events, in which a message ends with an empty line. Anything else is one message. */
  readonly isStream: boolean;
  /** The answer to one request, so it is one message and not a list. */
  readonly isAnswer: boolean;
};

/** Fails at the first message that is too long, and leaves time for everything else. */
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
