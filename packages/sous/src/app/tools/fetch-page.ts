/**
 * Asks for one page over HTTP. Names are resolved here, every address must be public, and the connection is made to an
 * address that was checked, again on every redirect. Bytes, time and redirects are bounded; no cookie, key or proxy is used.
 */

import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { pipeline, type Readable, Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { untilSignal } from "../../core/clock.ts";
import { codeOf, ToolFailure } from "../../core/errors.ts";
import { hostOf, readFetchUrl } from "../../core/web-address.ts";
import { type Addresses, isPublicAddress, isRedirect, only, type Resolve, resolveHere } from "../../machine/address.ts";

/** The way to the network. */
export type Network = {
  /** All addresses of a name. */
  resolve: Resolve;
  /** True when a connection may be made. */
  mayConnect(address: string, port: number): boolean;
  /** Says of every redirect whether it may lead to another host without a question. Throws for what a rule denies. */
  mayFollow(to: URL): boolean;
};

export type Page = {
  /** The final address, after redirects. */
  url: URL;
  status: number;
  contentType: string;
  /** Unpacked, at most `MAX_BYTES`. */
  body: Buffer;
  /** True when there was more. */
  isCut: boolean;
};

export const MAX_BYTES: number = 5 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const PORTS = new Set([80, 443, 8080, 8443]);

export const publicNetwork: Omit<Network, "mayFollow"> = {
  resolve: resolveHere,
  mayConnect: (address, port) => isPublicAddress(address) && PORTS.has(port),
};

/** `isWanted` is asked about the type before the body is read; an unwanted body is not read. */
export async function fetchPage(
  text: string,
  network: Network,
  isWanted: (contentType: string) => boolean,
  signal: AbortSignal,
): Promise<Page> {
  let url = parsed(text);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const addresses = await checkedAddresses(url, network, signal);
    using reply = await ask(url, addresses, signal);
    const { statusCode: status = 0, headers } = reply.message;
    if (isRedirect(status) && headers.location !== undefined) {
      url = redirected(url, headers.location, network);
      continue;
    }
    const contentType = (headers["content-type"] ?? "").toLowerCase();
    if (!isWanted(contentType)) {
      const size = /^\d+$/.test(headers["content-length"] ?? "") ? ` of ${headers["content-length"]} bytes` : "";
      const type = contentType || "of an unknown type";
      throw new ToolFailure(`${url.href} is ${type}${size}, not text, and was not read.`);
    }
    return { url, status, contentType, ...(await readBody(reply.message, url)) };
  }
  throw new ToolFailure(`${text} redirects more than ${MAX_REDIRECTS} times. Look for another address.`);
}

function parsed(text: string): URL {
  const read = readFetchUrl(text);
  if ("problem" in read) throw new ToolFailure(`${text.slice(0, 300)} is not fetched: ${read.problem}.`);
  return read.url;
}

/** The address that a redirect leads to. Throws for one that is not followed. */
export function redirected(from: URL, location: string, network: Network): URL {
  const target = URL.parse(location, from.href);
  if (target === null) throw new ToolFailure(`${from.href} redirects to an address that cannot be read.`);
  const to = parsed(target.href);
  if (from.protocol === "https:" && to.protocol === "http:") {
    throw new ToolFailure(`${from.href} redirects to ${to.href}, which is not encrypted. It was not followed.`);
  }
  const mayFollow = network.mayFollow(to);
  // Approval was given for one host.
  if (to.host !== from.host && !mayFollow) {
    throw new ToolFailure(`${from.href} redirects to another host. Call fetch with ${to.href} to continue there.`);
  }
  return to;
}

/** All addresses of a name must be allowed: which one is used is not chosen here. */
async function checkedAddresses(url: URL, network: Network, signal: AbortSignal): Promise<Addresses> {
  const host = hostOf(url);
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  const addresses: Addresses = isIP(host) === 0 ? await resolved(host, network.resolve, signal) : [host];
  if (!addresses.every((address) => isIP(address) !== 0 && network.mayConnect(address, port))) {
    throw new ToolFailure(
      `${url.host} is not fetched: only public addresses and the ports ${[...PORTS].join(", ")} may be reached.`,
    );
  }
  return addresses;
}

async function resolved(host: string, resolve: Resolve, signal: AbortSignal): Promise<Addresses> {
  signal.throwIfAborted();
  // A name lookup cannot be cancelled, only abandoned.
  const [first, ...others] = await untilSignal(resolve(host), signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw unreachable(host, error);
  });
  if (first === undefined) throw new ToolFailure(`${host} has no address. Check the name.`);
  return [first, ...others];
}

const HEADERS = {
  "user-agent": "sous",
  accept: "text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5",
  "accept-encoding": "gzip, br",
};

type Reply = Disposable & { message: IncomingMessage };

function ask(url: URL, addresses: Addresses, signal: AbortSignal): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const options = {
    method: "GET",
    headers: HEADERS,
    // One connection for one request, to an address that was checked; no pool and so no proxy either.
    agent: false,
    lookup: only(addresses),
    rejectUnauthorized: true,
    signal,
  } as const;
  const request = url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options);
  request.on("response", (message) => {
    // A body that is left unread ends with an unhandled error.
    message.on("error", () => undefined);
    resolve({ message, [Symbol.dispose]: () => void request.destroy() });
  });
  request.on("error", (error) => reject(signal.aborted ? signal.reason : unreachable(url.host, error)));
  request.end();
  return promise;
}

async function readBody(message: IncomingMessage, url: URL): Promise<{ body: Buffer; isCut: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  let isCut = false;
  const onTooLong = (): void => {
    isCut = true;
  };
  try {
    for await (const chunk of unpack(message, url, onTooLong) as AsyncIterable<Buffer>) {
      const fits = chunk.subarray(0, MAX_BYTES - size);
      chunks.push(fits);
      size += fits.length;
      isCut = fits.length < chunk.length;
      if (isCut) break;
    }
  } catch (error) {
    if (error instanceof ToolFailure) throw error;
    if (!isCut) throw unreachable(url.host, error);
  }
  return { body: Buffer.concat(chunks), isCut };
}

/** Counts compressed bytes, too: some bodies unpack to nothing, without end. */
function unpack(message: IncomingMessage, url: URL, onTooLong: () => void): Readable {
  const encoding = (message.headers["content-encoding"] ?? "").trim().toLowerCase();
  if (encoding === "" || encoding === "identity") return message;
  const unpacker = unpackerFor(encoding);
  if (unpacker === undefined) {
    throw new ToolFailure(`${url.href} is packed as ${encoding.slice(0, 40)}, which is not understood.`);
  }
  let packedBytes = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      packedBytes += chunk.length;
      if (packedBytes <= MAX_BYTES) return done(null, chunk);
      onTooLong();
      done(new Error("too long"));
    },
  });
  // Errors surface where the bytes are read.
  pipeline(message, counter, unpacker, () => undefined);
  return unpacker;
}

function unpackerFor(encoding: string): ReturnType<typeof createGunzip> | undefined {
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "br":
      return createBrotliDecompress();
    case "deflate":
      return createInflate();
    default:
      return undefined;
  }
}

function unreachable(host: string, error: unknown): ToolFailure {
  const code = codeOf(error);
  const why = typeof code === "string" ? code : "no answer";
  return new ToolFailure(`${host} could not be reached (${why}). Check the address, or continue without it.`, {
    cause: error,
  });
}
