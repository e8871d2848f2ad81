/**
 * The address where Prometheus reads metrics. Only programs on this machine reach it. A connection has one request and one answer,
 * and nothing behind the request is read: a program that asks and never reads costs one answer for each of a few connections, and
 * programs that ask and leave are answered one after another.
 * `node:http` reads and parses whatever arrives, which costs more than 32 MB for 60 connections that send pipelined requests.
 */

import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { ignore, messageOf, UserError } from "../../core/errors.ts";
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
const MAX_CONNECTIONS = 8;
/** For the whole request, and then for the whole answer to be taken. */
const MAX_WAIT_MS = 5_000;
const MAX_HEADER_BYTES = 8192;
/** One after another: what a connection leaves behind is collected before more of it comes. */
const BETWEEN_MS = 12;

/** Rejects with a `UserError` when the port cannot be had. */
export async function serveMetrics({ port, render }: EndpointOptions): Promise<MetricsEndpoint> {
  const open = new Set<Socket>();
  const shared = sharedBody(render);
  let due = 0;
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    open.add(socket.unref());
    // A reader that is gone is no error of ours.
    socket.on("error", ignore).on("close", () => open.delete(socket));
    // Until then it is not looked whether the reader has left, so that its position is not free for the next one.
    const now = performance.now();
    due = Math.max(due + BETWEEN_MS, now);
    setTimeout(() => void serve(socket, shared), due - now).unref();
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, port);
  server.unref();
  const { port: taken } = server.address() as AddressInfo;
  return {
    port: taken,
    url: `http://${LOOPBACK}:${taken}${PATH}`,
    [Symbol.asyncDispose]: () => close(server, open),
  };
}

type Render = () => Promise<Buffer>;

/** Readers that ask while a rendering is made get the same bytes. */
function sharedBody(render: EndpointOptions["render"]): Render {
  let making: Promise<Buffer> | undefined;
  return () => {
    making ??= (async () => Buffer.from(await render()))().finally(() => {
      making = undefined;
    });
    return making;
  };
}

async function serve(socket: Socket, render: Render): Promise<void> {
  const head = await readHead(socket);
  if (head === undefined) return void socket.destroy();
  const { status, type = TEXT, body } = await answerTo(head, render);
  const lines = [
    `HTTP/1.1 ${status}`,
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
    "Connection: close",
    "\r\n",
  ];
  destroyLater(socket);
  socket.write(lines.join("\r\n"));
  socket.end(head.startsWith("HEAD ") ? "" : body, () => socket.destroy());
}

/** The request up to its empty line; undefined when it does not come in time, is too long, or ends before. */
async function readHead(socket: Socket): Promise<string | undefined> {
  const late = destroyLater(socket);
  let bytes = Buffer.alloc(0);
  const read = Promise.withResolvers<string | undefined>();
  const take = (more: Buffer): void => {
    bytes = Buffer.concat([bytes, more.subarray(0, MAX_HEADER_BYTES)]);
    const end = bytes.indexOf("\r\n\r\n");
    if (end !== -1) read.resolve(bytes.toString("latin1", 0, end));
    else if (bytes.length >= MAX_HEADER_BYTES) read.resolve(undefined);
  };
  socket
    .on("data", take)
    .once("end", () => read.resolve(undefined))
    .once("close", () => read.resolve(undefined))
    .resume();
  const head = await read.promise;
  socket.off("data", take).pause();
  clearTimeout(late);
  return head;
}

function destroyLater(socket: Socket): NodeJS.Timeout {
  const late = setTimeout(() => socket.destroy(), MAX_WAIT_MS).unref();
  socket.once("close", () => clearTimeout(late));
  return late;
}

type Answer = { readonly status: string; readonly type?: string; readonly body: Buffer };

const TEXT = "text/plain; charset=utf-8";

async function answerTo(head: string, render: Render): Promise<Answer> {
  const [first = "", ...headers] = head.split("\r\n");
  const [, method, url = ""] = /^([A-Z]+) ([!-~]+) HTTP\/1\.[01]$/.exec(first) ?? [];
  if (method === undefined || !headers.every((line) => HEADER.test(line)))
    return failed("400 Bad Request", "This is not a request of HTTP/1.1.\n");
  // A page in a browser that calls this machine by a name of its own would be refused here.
  if (!isLocalHost(headers.flatMap((line) => HOST.exec(line)?.[1]?.trim() ?? [])))
    return failed("403 Forbidden", "Only requests to 127.0.0.1 or localhost are answered.\n");
  if (url.split("?", 1)[0] !== PATH) return failed("404 Not Found", `Metrics are at ${PATH}.\n`);
  if (method !== "GET" && method !== "HEAD") return failed("405 Method Not Allowed", "Metrics are read with GET.\n");
  try {
    return { status: "200 OK", type: PROMETHEUS_TYPE, body: await render() };
  } catch (error) {
    return failed("503 Service Unavailable", `${messageOf(error)}\n`);
  }
}

function failed(status: string, sentence: string): Answer {
  return { status, body: Buffer.from(sentence) };
}

const HEADER = /^[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*$/;
const HOST = /^host:(.*)$/i;

/** Two of them are refused: the first is not more true than the second. */
function isLocalHost([host, another]: readonly string[]): boolean {
  return host !== undefined && another === undefined && /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i.test(host);
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

function close(server: Server, open: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of open) socket.destroy();
  });
}
