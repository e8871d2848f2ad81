/** Starts a collector in a process of its own, and reads what it was sent: JSON and protobuf come out the same. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
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
  readonly #end: () => Promise<unknown>;
  #heard: (() => void)[] = [];

  private constructor(port: number, end: () => Promise<unknown>) {
    this.port = port;
    this.#end = end;
  }

  /** `answer` is a status, or `hang`. */
  static async start(answer = "200"): Promise<OtlpReceiver> {
    const program = join(import.meta.dirname, "otlp-receiver-process.ts");
    const child = spawn(process.execPath, [program, answer], { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout });
    const [first] = await once(lines, "line");
    const receiver = new OtlpReceiver(JSON.parse(first).port, async () => {
      const ended = once(child, "close");
      child.kill("SIGKILL");
      await ended;
    });
    lines.on("line", (line) => receiver.#hear(JSON.parse(line)));
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

  #hear({ path, headers, body }: { path: string; headers: Record<string, string>; body: string }): void {
    this.requests.push({ path, headers, body: Buffer.from(body, "base64") });
    for (const resolve of this.#heard.splice(0)) resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
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
