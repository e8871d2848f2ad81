/** Attacks of strangers on traces and metrics, or by them: of models, programs on this machine, and the collector itself. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { suite, test } from "node:test";
import { measureRuns } from "../../../src/bridges/telemetry/metrics.ts";
import { serveMetrics } from "../../../src/bridges/telemetry/metrics-endpoint.ts";
import { createRegistry } from "../../../src/bridges/telemetry/registry.ts";
import { agent } from "../../../src/core/agent.ts";
import { run } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { type Folder, folder, MODEL, USED } from "../../support/app/cli/chat-folder.ts";
import { compiled, type Ended, MAIN, sous } from "../../support/app/cli/sous-process.ts";
import { tracedProcess } from "../../support/bridges/telemetry/traced.ts";

const ANSWER = { sous: [{ ...USED, text: "Done." }] };
/** Far more than it takes, and less than a run that waits for an end that never comes. */
const MAX_MS = 120_000;

suite("F2: a model", () => {
  test("F2: a model that calls a tool with a name and an id of a megabyte makes no span of that size", async () => {
    const { onEvent, spans } = tracedProcess();
    const text = "\u001b[31mname\n".repeat(100_000);
    const model = scriptedModel({ lead: [[calls(text, {}, `id ${text}`)], [says("Done.")]] });
    const { status } = await run(agent({ name: "lead", model }), "Go.", { onEvent }).result;
    const longest = Math.max(
      ...spans.flatMap(({ name, attributes }) => [name, ...Object.values(attributes)].map(length)),
    );
    assert.equal(status, "completed");
    assert.ok(spans.some(({ name }) => name.startsWith("execute_tool ")) && longest < 1000, String(longest));
  });

  test("F3: a model that invents names of tools, children and models makes no further series", async () => {
    const registry = createRegistry();
    const invented = Array.from({ length: 50 }, (_, index) => [
      calls(`tool_${index}`, {}),
      calls("subagent", { label: `label_${index}`, task_prompt: "Look." }),
      calls("subagent", { label: "other", task_prompt: "Look.", model: `nobody/model_${index}` }),
    ]);
    const model = scriptedModel({ lead: [...invented, [says("Done.")]], "**": () => [says("Here.")] });
    const lead = agent({ name: "lead", model, delegate: true, maxTurns: 100 });
    await run(lead, "Go.", { onEvent: measureRuns(registry) }).result;
    assert.match(registry.render(), /^subagent_executions_total\{depth="1"\} 50$/m);
    assert.doesNotMatch(registry.render(), /tool_\d|label_\d|model_\d/);
  });
});

suite("F4: a program on this machine", { concurrency: true }, () => {
  test("F4: a program that opens 300 connections and says nothing keeps no one from the endpoint once it is gone", async () => {
    const endpoint = await serveMetrics({ port: 0, render: () => "ok\n" });
    const sockets = await Promise.all(Array.from({ length: 300 }, () => openSocket(endpoint.port)));
    for (const socket of sockets) socket.destroy();
    const answer = await eventually(async () => (await fetch(endpoint.url)).text());
    assert.equal(answer, "ok\n");
    const silent = await openSocket(endpoint.port);
    const closed = once(silent, "close");
    await endpoint[Symbol.asyncDispose]();
    await closed;
  });

  test("F4: a program that sends damaged, endless or smuggled requests gets no metrics, and the next reader does", async () => {
    await using endpoint = await serveMetrics({ port: 0, render: () => "secret 1\n" });
    const requests = [
      "GET /metrics HTTP/1.1\r\nHost: evil.test\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil.test\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nHost: localhost@evil.test\r\n\r\n",
      "GET http://evil.test/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /metrics HTTP/1.1\r\n\r\n",
      "GET /metrics\r\n\r\n",
      `GET /metrics HTTP/1.1\r\nHost: localhost\r\nx: ${"y".repeat(20_000)}\r\n\r\n`,
      `GET /${"m".repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "\u0016\u0003\u0001\u0002\u0000",
    ];
    for (const request of requests) {
      const answer = await say(endpoint.port, request);
      assert.doesNotMatch(answer, /secret/, request.slice(0, 80));
    }
    assert.equal(await (await fetch(endpoint.url)).text(), "secret 1\n");
  });
});

suite("F2: a collector", { concurrency: true }, () => {
  test("F2: a collector that sends its client elsewhere learns nothing for the other host", async () => {
    const heard: string[] = [];
    await using other = await collector((request, response) => {
      heard.push(`${request.method} ${request.url} ${request.headers["x-key"]}`);
      response.end();
    });
    await using first = await collector((_, response) => {
      response.writeHead(307, { location: `${other.url}/v1/traces` }).end();
    });
    const { code, stdout } = await runSending(first.url, { OTEL_EXPORTER_OTLP_HEADERS: "x-key=very-secret" });
    assert.deepEqual([code, stdout.trim(), heard], [0, "Done.", []]);
    assert.ok(first.requests() > 0);
  });

  test("F2: a collector that never stops answering costs one warning, and holds no run", async () => {
    const piece = Buffer.alloc(65_536, "x");
    await using endless = await collector((_, response) => {
      const more = (): void => void (response.destroyed || response.write(piece, more));
      response.writeHead(200, { "content-type": "application/json" });
      more();
    });
    const { code, stdout, stderr, milliseconds } = await runSending(endless.url);
    assert.deepEqual([code, stdout.trim(), stderr.match(/^warning: /gm)?.length], [0, "Done.", 1], stderr);
    assert.ok(endless.requests() > 0 && milliseconds < MAX_MS, `${milliseconds} ms`);
  });
});

test("F4: a reader that never stops asking neither ends nor delays a run, and is cut off at its end", async () => {
  await using place = await folder({ sous: [{ ...USED, text: "Done.", wait_ms: 300 }] });
  let [answers, isOver] = [0, false];
  const reading: Promise<void>[] = [];
  const read = async (url: string): Promise<void> => {
    while (!isOver) {
      const text = await fetch(url).then(
        (answer) => answer.text(),
        () => undefined,
      );
      if (text === undefined) return;
      assert.match(text, /^subagent_active_count\{depth="0"\} [01]$|^# HELP/m);
      answers += 1;
    }
  };
  const onStderr = (text: string): void => {
    const url = /http:\S+/.exec(text)?.[0];
    if (url !== undefined && reading.length === 0) reading.push(...Array.from({ length: 8 }, () => read(url)));
  };
  const { code, stdout } = await runWatched(place, ["run", "Go", ...MODEL, "--quiet", "--metrics-port", "0"], onStderr);
  isOver = true;
  await Promise.all(reading);
  assert.deepEqual([code, stdout.trim(), answers > 0], [0, "Done.", true]);
});

test("F2, C2: on a full disk a run with traces and metrics answers, warns once and ends", async () => {
  await using sink = await collector((_, response) => void response.end());
  const { code, stdout, stderr } = await runSending(sink.url, {}, { maxFileKb: 48, more: ["--metrics-port", "0"] });
  assert.deepEqual([code, stdout.trim()], [0, "Done."]);
  const warnings = stderr.split("\n").filter((line) => line.startsWith("warning: "));
  assert.deepEqual([warnings.length, /the run is not stored/.test(warnings.join())], [1, true], stderr);
});

function length(value: unknown): number {
  return String(value).length;
}

type Collector = AsyncDisposable & { readonly url: string; requests(): number };

async function collector(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Collector> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume();
    answer(request, response);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type Sending = { maxFileKb?: number; more?: readonly string[] };

async function runSending(url: string, env: Record<string, string> = {}, { more = [], ...options }: Sending = {}) {
  await using place = await folder(ANSWER);
  const variables = { ...place.env, OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: "20", ...env };
  const ended: Ended = await sous(["run", "Go", ...MODEL, "--quiet", ...more], {
    cwd: place.cwd,
    env: variables,
    ...options,
  });
  return ended;
}

async function runWatched(place: Folder, parameters: readonly string[], onStderr: (text: string) => void) {
  const child = spawn(process.execPath, [MAIN, ...parameters], {
    cwd: place.cwd,
    env: { NODE_COMPILE_CACHE: compiled, ...place.env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: MAX_MS,
  });
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (said.stdout += chunk));
  child.stderr.on("data", (chunk) => {
    said.stderr += chunk;
    onStderr(said.stderr);
  });
  const [code] = await once(child, "close");
  return { code, ...said };
}

/** Connected, or refused because there are too many. */
async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** What is answered until the other side closes, or a little is read. */
async function say(port: number, text: string): Promise<string> {
  const socket = await openSocket(port);
  socket.end(text);
  let answer = "";
  socket.on("data", (chunk) => (answer += chunk));
  await once(socket, "close");
  return answer;
}

/** Connections that are gone are noticed a moment later. */
async function eventually<Value>(attempt: () => Promise<Value>): Promise<Value> {
  for (const end = performance.now() + MAX_MS; ; ) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((next) => setTimeout(next, 20));
    }
  }
}
