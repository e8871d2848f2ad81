/** A collector on a port of this machine, which reads what it was sent: JSON and protobuf come out the same. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { readMetrics, readTraces, type SentMetric, type SentSpan } from "./otlp-bodies.ts";

type SentRequest = { path: string; headers: Record<string, string>; body: Buffer };

export type Received = {
  spans: SentSpan[];
  /** The last state of each metric. */
  metrics: SentMetric[];
  /** Of the first request. */
  resource: Readonly<Record<string, unknown>>;
};

export class OtlpReceiver implements AsyncDisposable {
  readonly requests: SentRequest[] = [];
  readonly port: number;
  readonly #server: Server;
  #heard: (() => void)[] = [];

  private constructor(server: Server) {
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** `answer` is a status, or `hang`: takes everything and never answers. */
  static async start(answer = "200"): Promise<OtlpReceiver> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const receiver = new OtlpReceiver(server);
    server.on("request", (request, response) => void receiver.#take(request, response, answer));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves when what was received is enough. */
  async until(isEnough: (received: Received) => boolean): Promise<Received> {
    for (;;) {
      const received = this.received();
      if (isEnough(received)) return received;
      await new Promise<void>((resolve) => this.#heard.push(resolve));
    }
  }

  received(): Received {
    const traces = this.requests.filter(({ path }) => path.endsWith("/v1/traces")).map(readTraces);
    const metrics = this.requests.filter(({ path }) => path.endsWith("/v1/metrics")).map(readMetrics);
    return {
      spans: traces.flatMap(({ spans }) => spans),
      metrics: [...new Map(metrics.flatMap((each) => each.metrics).map((each) => [each.name, each])).values()],
      resource: { ...metrics[0]?.resource, ...traces[0]?.resource },
    };
  }

  /** Everything that arrived, as text in which a secret would be found. */
  get bytes(): string {
    return this.requests.map(({ body }) => body.toString("latin1")).join("\n");
  }

  async #take(request: IncomingMessage, response: ServerResponse, answer: string): Promise<void> {
    const { url: path = "" } = request;
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const sent = await buffer(request);
    this.requests.push({ path, headers, body: headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent });
    for (const resolve of this.#heard.splice(0)) resolve();
    if (answer === "hang") return;
    response.writeHead(Number(answer), { "content-type": headers["content-type"] ?? "" });
    response.end(headers["content-type"] === "application/json" ? "{}" : "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

/** `{ "invoke_agent sous": { "chat m": {} } }`: the spans as a tree of names, in the order in which they began. */
export type NameTree = { [name: string]: NameTree };

export function nameTree(spans: readonly SentSpan[], parent = ""): NameTree {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const below = spans
    .filter(({ parentSpanId }) => (parent === "" ? !ids.has(parentSpanId) : parentSpanId === parent))
    .sort((one, other) => (one.start < other.start ? -1 : 1));
  return Object.fromEntries(
    below.map(({ name, spanId }, index) => [
      below.findIndex((each) => each.name === name) === index ? name : `${name} (${index})`,
      nameTree(spans, spanId),
    ]),
  );
}
