/** B6.1: what a server on the network sends in place of an answer, or beside it. */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { suite, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { BoundedMessages } from "../../../src/bridges/mcp/http-fetch.ts";
import { openMcpTools } from "../../../src/bridges/mcp/open.ts";
import type { McpTransport } from "../../../src/core/configuration.ts";
import { callTool, hostileWorld, until } from "../../support/bridges/mcp/hostile.ts";
import { hostileHttp, json } from "../bridges/mcp/hostile-http.ts";

/** The result of a call that is answered so. */
async function resultOf(answer: (response: ServerResponse) => void) {
  await using world = await hostileWorld();
  await using web = await hostileHttp(({ body }, response) => {
    if (body.method !== "tools/call") return false;
    answer(response);
    return true;
  });
  const transport: McpTransport = { type: "http", url: web.url, headers: {} };
  return await callTool(await world.open(world.server({}, { name: "web", transport, callTimeoutMs: 20_000 })));
}

const JSON_TYPE = { "content-type": "application/json" };
const NOTE = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}';
const NO_ANSWERS: [string, (response: ServerResponse) => void][] = [
  ["202", (response) => response.writeHead(202).end()],
  ["204", (response) => response.writeHead(204).end()],
  [
    "101",
    ({ socket }) => socket?.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
  ],
  ["the answer to another request", (response) => json(response, 4242, { content: [] })],
  ["a notification", (response) => response.writeHead(200, JSON_TYPE).end(NOTE)],
  ["an empty list", (response) => response.writeHead(200, JSON_TYPE).end("[]")],
  [
    "a list of 50,000 messages",
    (response) => response.writeHead(200, JSON_TYPE).end(`[${`${NOTE},`.repeat(50_000)}1]`),
  ],
];

/** Writes until the other side closes the connection. */
function withoutEnd(response: ServerResponse, status: number, type: string): void {
  response.writeHead(status, { "content-type": type });
  const events = `data: ${"x".repeat(60_000)}\n\n`.repeat(10);
  const write = (): void => {
    if (response.destroyed) return;
    if (response.write(events)) setImmediate(write);
    else response.once("drain", write);
  };
  write();
}

const ENDLESS: [number, string][] = [
  [500, "text/event-stream"],
  [202, "text/event-stream"],
  [200, "text/event-streams"],
];

suite("B6.1: a call over HTTP fails at once, and not by its time limit", () => {
  for (const [what, answer] of NO_ANSWERS) {
    test(`B6.1: a call over HTTP fails at once when it is answered with ${what}`, async () => {
      const { success, error = "" } = await resultOf(answer);
      assert.equal(success, false);
      assert.match(error, /^The MCP server web could not run echo: /);
    });
  }

  for (const [status, type] of ENDLESS) {
    test(`B6.1: a call over HTTP fails before the memory is full when ${status} comes with ${type} without end`, async () => {
      const { success, error = "" } = await resultOf((response) => withoutEnd(response, status, type));
      assert.equal(success, false);
      assert.match(error, /^The MCP server web could not run echo: /);
    });
  }
});

test("B6.1: an error of a server that claims a status is not taken for a lost session or a refused key", async () => {
  await using world = await hostileWorld();
  await using web = await hostileHttp(({ body: { id, method, params } }, response) => {
    if (method !== "tools/call") return false;
    const data = params?.arguments;
    response
      .writeHead(200, JSON_TYPE)
      .end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -1, message: "torn", data } }));
    return true;
  });
  const transport: McpTransport = { type: "http", url: web.url, headers: {} };
  const opened = await world.open(world.server({}, { name: "web", transport }));
  for (const status of [404, 401]) {
    assert.equal((await callTool(opened, { status })).error, "The MCP server web could not run echo: torn");
  }
});

test("B6.1: an answer without end to a message of the older SSE is not collected without end", async () => {
  await using world = await hostileWorld();
  const answers: ServerResponse[] = [];
  await using web = await hostileHttp(({ method }, response) => {
    if (method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("event: endpoint\ndata: /messages\n\n");
    } else {
      answers.push(response);
      withoutEnd(response, 200, "text/event-stream");
    }
    return true;
  });
  const transport: McpTransport = { type: "sse", url: web.url, headers: {} };
  const stop = new AbortController();
  const server = world.server({}, { name: "web", transport });
  const opening = openMcpTools([server], world.ground, { signal: stop.signal });
  await until(() => answers[0]?.destroyed === true, "the connection is closed");
  stop.abort(new Error("enough"));
  await assert.rejects(opening, /enough/);
});

test("B6.6: the connection of a call is closed when the call is answered, although the server keeps it open", async () => {
  await using world = await hostileWorld();
  let held: ServerResponse | undefined;
  await using web = await hostileHttp(({ body }, response) => {
    if (body.method !== "tools/call") return false;
    held = response.writeHead(200, { "content-type": "text/event-stream" });
    held.write(`data: {"jsonrpc":"2.0","id":${body.id},"result":{"content":[{"type":"text","text":"hi"}]}}\n\n`);
    return true;
  });
  const transport: McpTransport = { type: "http", url: web.url, headers: {} };
  const opened = await world.open(world.server({}, { name: "web", transport }));
  assert.equal((await callTool(opened)).output, "hi");
  await until(() => held?.destroyed === true, "the connection is closed");
});

test("B6.6: the connection of a call is closed when the call is cancelled, also before a status has come", async () => {
  await using world = await hostileWorld();
  let held: ServerResponse | undefined;
  await using web = await hostileHttp(({ body }, response) => {
    if (body.method !== "tools/call") return false;
    held = response;
    return true;
  });
  const transport: McpTransport = { type: "http", url: web.url, headers: {} };
  const opened = await world.open(world.server({}, { name: "web", transport }));
  const stop = new AbortController();
  const call = callTool(opened, {}, { signal: stop.signal });
  await until(() => held !== undefined, "the call arrives");
  stop.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
  await until(() => held?.destroyed === true, "the connection is closed");
  assert.equal(web.asked.at(-1)?.body.method, "notifications/cancelled");
});

test("B6.1: events without end leave every turn to timers and other calls after 16 KB", async () => {
  const events = new BoundedMessages({ isStream: true, isAnswer: false });
  let inTurn = 0;
  let most = 0;
  let total = 0;
  events.on("data", ({ length }: Buffer) => {
    inTurn += length;
    total += length;
    most = Math.max(most, inTurn);
  });
  const sent = Buffer.from("data: {}\n\n".repeat(50_000));
  events.end(sent);
  while (total < sent.length) {
    inTurn = 0;
    await turn();
  }
  assert.ok(most <= 32 * 1024, String(most));
});
