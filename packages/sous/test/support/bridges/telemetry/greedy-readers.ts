/** A metrics endpoint in a process of its own, and programs that ask it for metrics and never read them. */

import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { sourceFolder } from "../../source-files.ts";

const CONNECTIONS = 60;
export const MAX_GROWTH = 32 * 1024 * 1024;
/** As large as the metrics of a database with many agents and models. */
const LINES = 20_000;

const CODE = `
  import { serveMetrics } from ${JSON.stringify(join(sourceFolder, "bridges/telemetry/metrics-endpoint.ts"))};
  let renders = 0;
  const render = async () => "up 1\\n".repeat(${LINES}) + "renders " + ++renders + "\\n";
  const { port } = await serveMetrics({ port: 0, render });
  process.stdout.write(port + "\\n");
  process.stdin.on("data", (asked) => {
    if (asked.includes("!")) gc();
    process.stdout.write(process.memoryUsage().rss + "\\n");
  });
  process.stdin.on("end", () => process.exit(0));`;

/** An endpoint in a process of its own, and how much memory it has. */
export class Endpoint {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  port = 0;

  constructor() {
    const flags = ["--expose-gc", "--conditions=sous-source", "--input-type=module", "--eval", CODE];
    this.#child = spawn(process.execPath, flags, { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdout.setEncoding("utf8");
  }

  async opened(): Promise<void> {
    this.port = await this.#next();
    // Once before, so that what is loaded late does not count.
    for (let index = 0; index < 20; index++) await this.scrape();
  }

  /** `!` collects first what is no longer used. */
  async memory(how: "?" | "!"): Promise<number> {
    this.#child.stdin.write(how);
    return this.#next();
  }

  /** Asks as Prometheus does, until it is answered: connections that are full are refused. */
  async scrape(): Promise<string> {
    for (;;) {
      const text = await fetch(`http://127.0.0.1:${this.port}/metrics`).then(
        (answer) => answer.text(),
        () => undefined,
      );
      if (text !== undefined) return text;
      await setTimeout(10);
    }
  }

  async renders(): Promise<number> {
    return Number(/renders (\d+)/.exec(await this.scrape())?.[1]);
  }

  async close(): Promise<void> {
    const closed = once(this.#child, "close");
    this.#child.stdin.end();
    await closed;
  }

  async #next(): Promise<number> {
    const [line] = await once(this.#child.stdout, "data");
    return Number(line);
  }
}

async function greedy(port: number, bytes: string | Buffer): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").pause();
  const isOver = new Promise((resolve) => socket.on("error", () => {}).on("close", resolve));
  await Promise.race([once(socket, "connect"), isOver]);
  await Promise.race([new Promise((resolve) => socket.write(bytes, resolve)), isOver, setTimeout(100)]);
  return socket;
}

/** Asks three times, and goes away as soon as that is sent. */
export function leave(port: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {}).on("close", () => resolve());
    socket.on("connect", () => socket.write(get().repeat(3), () => socket.destroy()));
  });
}

export const get = (path = "/metrics", ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, "Host: 127.0.0.1", ...headers, "", ""].join("\r\n");

const FORMS: Readonly<Record<string, string>> = {
  "5,000 requests": get().repeat(5000),
  "5,000 requests that keep the connection": get("/metrics", "Connection: keep-alive").repeat(5000),
  "5,000 requests that close the connection": get("/metrics", "Connection: close").repeat(5000),
  "5,000 requests of HTTP/1.0": get().replace("1.1", "1.0").repeat(5000),
  "5,000 requests for the head": get().replace("GET", "HEAD").repeat(5000),
  "5,000 requests for another page": get("/x").repeat(5000),
  "5,000 requests of another host": get().replace("127.0.0.1", "evil.test").repeat(5000),
  "5,000 requests with another method": get().replace("GET", "DELETE").repeat(5000),
  "5,000 requests with a body": `${get("/metrics", "Content-Length: 5")}hello`.repeat(5000),
  "5,000 requests with a body in chunks": `${get("/metrics", "Transfer-Encoding: chunked")}0\r\n\r\n`.repeat(5000),
  "5,000 requests that wait for a word before their body": get("/metrics", "Expect: 100-continue").repeat(5000),
  "5,000 requests for another protocol": get("/metrics", "Connection: Upgrade", "Upgrade: websocket").repeat(5000),
  "one good request and 5,000 half ones": get() + "GET /metrics HTTP/1.1\r\nHost: localhost\r\n".repeat(5000),
  "one good request and a megabyte of nothing": get() + "\0".repeat(2 ** 20),
  "one good request and a megabyte of line breaks": get() + "\r\n".repeat(2 ** 19),
  "requests with thousands of headers": get("/metrics", ...Array.from({ length: 300 }, (_, n) => `x-${n}: y`)).repeat(
    200,
  ),
  "a header without an end": `${get().slice(0, -2)}x: ${"y".repeat(2 ** 20)}`,
  "headers without an end": get().slice(0, -2) + "x: y\r\n".repeat(2 ** 17),
  "a path without an end": `GET /${"m".repeat(2 ** 20)}`,
  "a megabyte that is no request": "x".repeat(2 ** 20),
  "line breaks only": "\r\n".repeat(2 ** 19),
};

/** One of each kind: requests, connections that stay, bodies, requests that are not complete, and what is no request. */
const SHARE: readonly string[] = [
  "5,000 requests",
  "5,000 requests that keep the connection",
  "5,000 requests with a body in chunks",
  "one good request and 5,000 half ones",
  "headers without an end",
  "a megabyte that is no request",
];

/** The tests of all forms, which the soak runs, or of one of each kind. */
export function testForms(endpoint: Endpoint, which: "all" | "a share"): void {
  for (const [what, bytes] of Object.entries(FORMS)) {
    if (which === "a share" && !SHARE.includes(what)) continue;
    test(`F4: ${CONNECTIONS} connections that send ${what} and never read cost less than 32 MB, and an honest reader is answered`, async () => {
      const before = await endpoint.memory("!");
      const payload = Buffer.from(bytes, "latin1");
      const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => greedy(endpoint.port, payload)));
      const text = await endpoint.scrape();
      const grown = (await endpoint.memory("?")) - before;
      for (const socket of sockets) socket.destroy();
      assert.match(text, /^up 1\n[\s\S]*\nrenders \d+\n$/);
      assert.ok(grown < MAX_GROWTH, `${grown} bytes more`);
    });
  }
}
