/** The address where Prometheus reads metrics. Only programs on this machine reach it. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { messageOf, UserError } from "../../core/errors.ts";
import { PROMETHEUS_TYPE } from "./registry.ts";

export type EndpointOptions = {
  /** 0 takes a free one. */
  port: number;
  /** Makes the text for one reader. When it throws, the answer is 503 with the message. */
  render(): string | Promise<string>;
};

/** Closing it ends open connections at once. It never keeps the process alive. */
export type MetricsEndpoint = AsyncDisposable & { readonly port: number; readonly url: string };

const LOOPBACK = "127.0.0.1";
const PATH = "/metrics";
const MAX_CONNECTIONS = 64;
const MAX_REQUEST_MS = 5_000;
const CHECK_MS = 1_000;
const MAX_HEADER_BYTES = 8192;

/** Rejects with a `UserError` when the port cannot be had. */
export async function serveMetrics({ port, render }: EndpointOptions): Promise<MetricsEndpoint> {
  const server = createServer(
    {
      requestTimeout: MAX_REQUEST_MS,
      headersTimeout: MAX_REQUEST_MS,
      // Node looks every 30 s: connections that say nothing would keep Prometheus out for as long.
      connectionsCheckingInterval: CHECK_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
    (request, response) => void answer(request, response, render),
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.on("connection", (socket) => socket.unref());
  await listen(server, port);
  server.unref();
  const { port: taken } = server.address() as AddressInfo;
  return {
    port: taken,
    url: `http://${LOOPBACK}:${taken}${PATH}`,
    [Symbol.asyncDispose]: () => close(server),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  render: EndpointOptions["render"],
): Promise<void> {
  const { method, url = "", headersDistinct } = request;
  // A page in a browser that calls this machine by a name of its own would be refused here.
  if (!isLocalHost(headersDistinct.host))
    return say(response, 403, "Only requests to 127.0.0.1 or localhost are answered.");
  if (url.split("?", 1)[0] !== PATH) return say(response, 404, `Metrics are at ${PATH}.`);
  if (method !== "GET" && method !== "HEAD") return say(response, 405, "Metrics are read with GET.");
  try {
    const text = await render();
    response.writeHead(200, { "content-type": PROMETHEUS_TYPE }).end(text);
  } catch (error) {
    say(response, 503, messageOf(error));
  }
}

/** Two of them are refused: the first is not more true than the second. */
function isLocalHost([host, another]: readonly string[] = []): boolean {
  return host !== undefined && another === undefined && /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i.test(host);
}

function say(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(`${text}\n`);
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(new UserError(whyNot(port, error), { cause: error })),
    );
    server.listen(port, LOOPBACK, resolve);
  });
}

function whyNot(port: number, error: NodeJS.ErrnoException): string {
  if (error.code === "EADDRINUSE") return `Metrics cannot be served: port ${port} is in use, choose another`;
  if (error.code === "EACCES") return `Metrics cannot be served: port ${port} needs more rights, choose one above 1023`;
  return `Metrics cannot be served on port ${port}: ${error.message}`;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
