/** F4: programs of this machine that ask for metrics and never read them: what they cost, and whether an honest reader still gets them. */

import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { after, before, suite, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { sourceFolder } from "../../support/source-files.ts";

const CONNECTIONS = 60;
const MAX_GROWTH = 32 * 1024 * 1024;
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
class Endpoint {
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
function leave(port: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {}).on("close", () => resolve());
    socket.on("connect", () => socket.write(get().repeat(3), () => socket.destroy()));
  });
}

const get = (path = "/metrics", ...headers: string[]) =>
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

suite("F4: metrics and programs that never read", () => {
  const endpoint = new Endpoint();
  let memory = 0;
  before(async () => {
    await endpoint.opened();
    memory = await endpoint.memory("!");
  });
  after(() => endpoint.close());

  for (const [what, bytes] of Object.entries(FORMS)) {
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

  for (const [readers, each] of [
    [1, 2000],
    [16, 400],
    [16, 800],
  ] as const) {
    test(`F4: ${readers * each} readers, ${readers} at once, that ask and leave cost less than 32 MB, and are answered one after another`, async () => {
      const before = await endpoint.memory("!");
      const renders = await endpoint.renders();
      const begun = performance.now();
      let most = 0;
      const leaving = Array.from({ length: readers }, async (_, reader) => {
        for (let number = 0; number < each; number++) {
          await leave(endpoint.port);
          if (reader === 0 && number % 50 === 0) most = Math.max(most, await endpoint.memory("?"));
        }
      });
      await Promise.all(leaving);
      const grown = Math.max(most, await endpoint.memory("?")) - before;
      assert.ok(grown < MAX_GROWTH, `${grown} bytes more`);
      const rendered = (await endpoint.renders()) - renders;
      assert.ok(rendered < 100 + (performance.now() - begun) / 10, `${rendered} renderings`);
    });
  }

  test("F4: nothing of all these connections is kept", async () => {
    const grown = (await endpoint.memory("!")) - memory;
    assert.ok(grown < MAX_GROWTH, `${grown} bytes more`);
  });

  test("F4: a connection has one answer, which says that it is the last one", async () => {
    const socket = connect(endpoint.port, "127.0.0.1").setEncoding("latin1");
    socket.write(get());
    let answer = "";
    for await (const piece of socket) answer += piece;
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*Connection: close\r\n\r\n/);
    assert.equal(answer.split("HTTP/1.1").length, 2);
  });
});
