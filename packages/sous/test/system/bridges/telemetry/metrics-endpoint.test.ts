/** F4: the address that Prometheus reads: only from this machine, never in the way of the process. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { suite, test } from "node:test";
import { serveMetrics } from "../../../../src/bridges/telemetry/metrics-endpoint.ts";
import { UserError } from "../../../../src/core/errors.ts";
import { sourceFolder } from "../../../support/source-files.ts";

type Asked = { method?: string; path?: string; headers?: Record<string, string> };

async function ask(port: number, { method = "GET", path = "/metrics", headers = {} }: Asked = {}) {
  const sent = request({ port, host: "127.0.0.1", method, path, headers, agent: false }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let body = "";
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, type: response.headers["content-type"], body };
}

/** What comes back for these very bytes. */
async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  socket.end(bytes);
  let answer = "";
  for await (const chunk of socket) answer += chunk;
  return answer;
}

const render = () => "up 1\n";

suite("F4: the endpoint", () => {
  test("F4: the endpoint answers GET and HEAD of /metrics in the format of Prometheus", async () => {
    await using endpoint = await serveMetrics({ port: 0, render });
    const type = "text/plain; version=0.0.4; charset=utf-8";
    assert.deepEqual(await ask(endpoint.port), { status: 200, type, body: "up 1\n" });
    assert.deepEqual(await ask(endpoint.port, { method: "HEAD" }), { status: 200, type, body: "" });
    assert.equal((await ask(endpoint.port, { path: "/metrics?x=1" })).status, 200);
    assert.equal(endpoint.url, `http://127.0.0.1:${endpoint.port}/metrics`);
  });

  test("F4: the endpoint refuses other paths and methods", async () => {
    await using endpoint = await serveMetrics({ port: 0, render });
    for (const path of ["/", "/metrics/", "/metrics/../x", "http://127.0.0.1/metrics"]) {
      assert.equal((await ask(endpoint.port, { path })).status, 404, path);
    }
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
      assert.equal((await ask(endpoint.port, { method })).status, 405, method);
    }
  });

  test("F4: the endpoint refuses every name of this machine but its own, so a web page cannot read it", async () => {
    let renders = 0;
    await using endpoint = await serveMetrics({ port: 0, render: () => String(++renders) });
    const evil = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:9464", "evil.example#localhost"];
    for (const host of [...evil, "127.0.0.1:9464@evil.example", "0.0.0.0", "[::1].evil.example", "localhost:x"]) {
      assert.equal((await ask(endpoint.port, { headers: { host } })).status, 403, host);
    }
    for (const header of ["", "Host:\r\n"]) {
      assert.match(await raw(endpoint.port, `GET /metrics HTTP/1.0\r\n${header}\r\n`), /^HTTP\/1\.1 403 /);
    }
    assert.equal(renders, 0);
    for (const host of ["127.0.0.1", "localhost", "LOCALHOST:1", "[::1]:9464", `127.0.0.1:${endpoint.port}`]) {
      assert.equal((await ask(endpoint.port, { headers: { host } })).status, 200, host);
    }
  });

  test("F4: the endpoint answers 503 with the reason when there is nothing to show, and later answers again", async () => {
    let isBroken = true;
    const renderLater = async () => {
      if (isBroken) throw new Error("The database is gone");
      return "up 1\n";
    };
    await using endpoint = await serveMetrics({ port: 0, render: renderLater });
    const { status, body } = await ask(endpoint.port);
    assert.deepEqual([status, body], [503, "The database is gone\n"]);
    isBroken = false;
    assert.equal((await ask(endpoint.port)).status, 200);
  });

  test("F4: the endpoint says in words that its port is in use", async () => {
    await using first = await serveMetrics({ port: 0, render });
    await assert.rejects(serveMetrics({ port: first.port, render }), (error) => {
      assert.ok(error instanceof UserError);
      assert.equal(error.message, `Metrics cannot be served: port ${first.port} is in use, choose another`);
      return true;
    });
  });

  test("F4: the endpoint is closed at once, with connections that are open and silent", async () => {
    const endpoint = await serveMetrics({ port: 0, render });
    const socket = connect(endpoint.port, "127.0.0.1");
    await once(socket, "connect");
    socket.write("GET /metrics HTTP/1.1\r\n");
    const closed = new Promise((resolve) => socket.on("error", () => {}).on("close", resolve));
    await endpoint[Symbol.asyncDispose]();
    await closed;
    await assert.rejects(ask(endpoint.port), { code: "ECONNREFUSED" });
  });

  test("F4: the endpoint does not keep its process alive, not even with a connection", async () => {
    const code = `
      import { connect } from "node:net";
      import { serveMetrics } from ${JSON.stringify(join(sourceFolder, "bridges/telemetry/metrics-endpoint.ts"))};
      const { port } = await serveMetrics({ port: 0, render: () => "" });
      await new Promise((resolve) => connect(port, "127.0.0.1", resolve).unref());
      process.stdout.write("open");`;
    const flags = ["--conditions=sous-source", "--input-type=module", "--eval", code];
    const child = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"], timeout: 30_000 });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    const [exitCode] = await once(child, "close");
    assert.deepEqual([exitCode, output], [0, "open"]);
  });
});
