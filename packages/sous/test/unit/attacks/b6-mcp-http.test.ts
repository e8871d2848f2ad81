/** Attempts of MCP servers that have an address, each by its effect. */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { openMcpTools } from "../../../src/bridges/mcp/open.ts";
import type { McpServer } from "../../../src/core/configuration.ts";
import { isMetadataAddress } from "../../../src/machine/address.ts";
import { VirtualClock } from "../../../src/testing/world.ts";
import { callTool, hostileWorld, until, type World } from "../../support/bridges/mcp/hostile.ts";
import { type Asked, hostileHttp, json, usual } from "../bridges/mcp/hostile-http.ts";

function webServer(world: World, url: string, settings: Partial<McpServer> = {}): McpServer {
  const headers = { Authorization: "Bearer planted" };
  return world.server({}, { name: "web", transport: { type: "http", url, headers }, ...settings });
}

function redirect(response: ServerResponse, location: string, status = 307): true {
  response.writeHead(status, { location }).end();
  return true;
}

function isCall({ body }: Asked): boolean {
  return body.method === "tools/call";
}

test("a server with an address is called with its headers, and told that the session is over", async () => {
  const clock = new VirtualClock(0);
  await using world = await hostileWorld({ clock });
  await using web = await hostileHttp(({ body }, response) => {
    if (body.method !== "initialize") return false;
    response.setHeader("mcp-session-id", "s1");
    json(response, body.id, usual(body));
    return true;
  });
  const opened = await world.open(webServer(world, web.url));
  assert.deepEqual(await callTool(opened), { success: true, output: "ran echo" });
  await opened[Symbol.asyncDispose]();
  assert.equal(web.asked.at(-1)?.method, "DELETE");
  assert.equal(clock.liveTimers, 0);
  assert.deepEqual(new Set(web.asked.map(({ headers }) => headers.authorization)), new Set(["Bearer planted"]));
});

for (const type of ["http", "sse"] as const) {
  test(`an old server that knows only SSE is reached by the type ${type}`, async () => {
    await using world = await hostileWorld();
    let stream: ServerResponse | undefined;
    await using web = await hostileHttp(({ method, path, body }, response) => {
      if (method === "GET") {
        stream = response;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("event: endpoint\ndata: /messages\n\n");
      } else if (path === "/messages") {
        response.writeHead(202).end();
        const answer = { jsonrpc: "2.0", id: body.id, result: usual(body) };
        if (body.id !== undefined) stream?.write(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
      } else response.writeHead(404).end();
      return true;
    });
    const transport = { type, url: web.url, headers: {} };
    const opened = await world.open(webServer(world, web.url, { transport }));
    assert.deepEqual(opened.problems, []);
    assert.deepEqual(await callTool(opened), { success: true, output: "ran echo" });
  });
}

test("a session that the server forgot is begun again at the next call", async () => {
  await using world = await hostileWorld();
  let isForgotten = true;
  await using web = await hostileHttp((asked, response) => {
    if (!isCall(asked) || !isForgotten) return false;
    isForgotten = false;
    response.writeHead(404).end();
    return true;
  });
  const opened = await world.open(webServer(world, web.url));
  assert.match((await callTool(opened)).error ?? "", /^The MCP server web lost our session during the call/);
  assert.equal((await callTool(opened)).success, true);
});

test("B6.1: a redirect to another host is not followed, and the other host hears nothing", async () => {
  await using world = await hostileWorld();
  await using other = await hostileHttp();
  await using web = await hostileHttp((_asked, response) => redirect(response, other.url));
  const { tools, problems } = await world.open(webServer(world, web.url));
  assert.deepEqual(tools, []);
  assert.match(problems[0] ?? "", /leads to another host, which is not followed/);
  assert.equal(other.asked.length, 0);
});

const ELSEWHERE = [
  "http://169.254.169.254/latest/meta-data",
  "file:///etc/passwd",
  "javascript:alert(1)",
  "http://[fe80::1]/",
];
for (const location of ELSEWHERE) {
  test(`B6.1: a redirect to ${location} is not followed in the middle of a session`, async () => {
    await using world = await hostileWorld();
    await using web = await hostileHttp((asked, response) => isCall(asked) && redirect(response, location));
    const { success, error = "" } = await callTool(await world.open(webServer(world, web.url)));
    assert.equal(success, false);
    assert.match(error, /leads to another host, which is not followed/);
  });
}

test("B6.1: a redirect on the same host is followed with the message, and one without end is not", async () => {
  await using world = await hostileWorld();
  await using web = await hostileHttp(({ path }, response) => path === "/mcp" && redirect(response, "/moved"));
  assert.equal((await callTool(await world.open(webServer(world, web.url)))).success, true);
  await using loop = await hostileHttp((_asked, response) => redirect(response, "/mcp"));
  const { problems } = await world.open(webServer(world, loop.url));
  assert.match(problems[0] ?? "", /redirects more than 5 times/);
  assert.equal(loop.asked.length, 6);
});

test("B6.1: a redirect that would turn a message into a request for a page is not followed", async () => {
  await using world = await hostileWorld();
  await using web = await hostileHttp(({ path }, response) => path === "/mcp" && redirect(response, "/moved", 302));
  assert.match((await world.open(webServer(world, web.url))).problems[0] ?? "", /which loses the message/);
});

for (const host of ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]"]) {
  test(`B6.4: a server of a project at ${host} is not reached, unless the user allows the host`, async () => {
    await using world = await hostileWorld();
    await using web = await hostileHttp();
    const server = webServer(world, `http://${host}:${web.port}/mcp`, { scope: "project" });
    const { tools, problems } = await world.open(server);
    assert.deepEqual(tools, []);
    assert.match(problems[0] ?? "", /which is not public: name the host in tools\.fetch\.allow_hosts/);
    assert.equal(web.asked.length, 0);
    if (host.startsWith("[")) return;
    await using allowed = await openMcpTools([server], { ...world.ground, mayReach: (each) => each === host });
    assert.equal(allowed.tools.length, 1);
  });
}

test("B6.4: a server of a project at a metadata address is not reached, also when its host is allowed", async () => {
  await using world = await hostileWorld();
  const server = webServer(world, "http://169.254.169.254/mcp", { scope: "project" });
  await using opened = await openMcpTools([server], { ...world.ground, mayReach: () => true });
  assert.match(opened.problems[0] ?? "", /where machines keep their keys: it is not reached/);
});

test("B6.4: metadata addresses are known in every spelling", () => {
  const hidden = [
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "fe80::1",
    "febf::1",
    "fe80::1%eth0",
  ];
  const more = ["64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "fd00:ec2::254", "168.63.129.16", "100.100.100.200"];
  assert.deepEqual(
    [...hidden, ...more].filter((each) => !isMetadataAddress(each)),
    [],
  );
  assert.deepEqual(
    ["127.0.0.1", "10.0.0.1", "8.8.8.8", "::1", "fec0::1", "2001:db8::1", "x"].filter(isMetadataAddress),
    [],
  );
});

for (const [type, status] of [
  ["http", 401],
  ["http", 403],
  ["sse", 401],
] as const) {
  test(`B6.5: ${status} to the type ${type} is one sentence with the host and the header to set, and no address of the server is opened`, async () => {
    await using world = await hostileWorld();
    await using other = await hostileHttp();
    const challenge = `Bearer resource_metadata="${other.url}", error="insufficient_scope"`;
    await using web = await hostileHttp((_asked, response) => {
      response.writeHead(status, { "www-authenticate": challenge }).end("$(reboot)");
      return true;
    });
    const transport = { type, url: web.url, headers: {} };
    const { problems } = await world.open(webServer(world, web.url, { transport }));
    assert.deepEqual(problems, [
      `The MCP server web could not be reached: 127.0.0.1:${web.port} refused access (${status}). Set the header for it: headers: { Authorization: "Bearer \${TOKEN}" }`,
    ]);
    assert.equal(other.asked.length, 0);
  });
}

for (const status of [407, 429, 500]) {
  test(`B6.1: ${status} is told as it is, and the older way is not tried`, async () => {
    await using world = await hostileWorld();
    await using web = await hostileHttp((asked, response) => {
      response.writeHead(asked.method === "POST" ? status : 405).end("slow down");
      return true;
    });
    const { problems } = await world.open(webServer(world, web.url));
    assert.match(problems.join(), new RegExp(`^The MCP server web could not be reached: .*${status}: slow down$`));
    assert.deepEqual(
      web.asked.map(({ method }) => method),
      ["POST"],
    );
  });
}

const BIG = "x".repeat(11 * 1024 * 1024);
test("B6.1: an answer of 11 MB is a failed result, and the next call works", async () => {
  await using world = await hostileWorld();
  let isBig = true;
  await using web = await hostileHttp((asked, response) => {
    if (!isCall(asked) || !isBig) return false;
    isBig = false;
    json(response, asked.body.id, { content: [{ type: "text", text: BIG }] });
    return true;
  });
  const opened = await world.open(webServer(world, web.url));
  assert.match((await callTool(opened)).error ?? "", /longer than 10485760 bytes/);
  assert.equal((await callTool(opened)).success, true);
});

test("B6.1: an event of 11 MB without an end is a failed result", async () => {
  await using world = await hostileWorld();
  await using web = await hostileHttp((asked, response) => {
    if (!isCall(asked)) return false;
    response.writeHead(200, { "content-type": "text/event-stream" }).write(`data: ${BIG}`);
    return true;
  });
  assert.match((await callTool(await world.open(webServer(world, web.url)))).error ?? "", /connection was lost/);
});

test("B6.1: a stream that ends, or a connection that breaks, before the answer is a failed result at once", async () => {
  await using world = await hostileWorld();
  let breaks = false;
  await using web = await hostileHttp((asked, response) => {
    if (!isCall(asked)) return false;
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (breaks) response.write(": half\n", () => response.destroy());
    else response.end();
    return true;
  });
  const opened = await world.open(webServer(world, web.url));
  assert.match((await callTool(opened)).error ?? "", /the connection was lost before the answer came/);
  breaks = true;
  assert.match((await callTool(opened)).error ?? "", /the connection was lost before the answer came/);
});

test("B6.1: a packed answer is not unpacked", async () => {
  await using world = await hostileWorld();
  await using web = await hostileHttp((_asked, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end("bomb");
    return true;
  });
  assert.match((await world.open(webServer(world, web.url))).problems[0] ?? "", /sent a compressed answer/);
});

test("B6.5: a header that cannot be sent is named, and its value is not shown", async () => {
  await using world = await hostileWorld();
  await using web = await hostileHttp();
  const headers = { Authorization: "Bearer planted\r\nX-Evil: 1" };
  const { problems } = await world.open(
    webServer(world, web.url, { transport: { type: "http", url: web.url, headers } }),
  );
  assert.match(problems[0] ?? "", /its header "Authorization" cannot be sent/);
  assert.equal(problems.join().includes("planted"), false);
  assert.equal(web.asked.length, 0);
});

test("B6.1: no proxy of the variables and no cookie is used", async () => {
  await using world = await hostileWorld();
  await using proxy = await hostileHttp();
  await using web = await hostileHttp((_asked, response) => {
    response.setHeader("set-cookie", "id=1; Path=/");
    return false;
  });
  const before = { ...process.env };
  try {
    Object.assign(process.env, { HTTP_PROXY: proxy.url, http_proxy: proxy.url, ALL_PROXY: proxy.url });
    assert.equal((await callTool(await world.open(webServer(world, web.url)))).success, true);
  } finally {
    for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY"]) {
      if (before[name] === undefined) delete process.env[name];
    }
  }
  assert.equal(proxy.asked.length, 0);
  assert.deepEqual(
    web.asked.filter(({ headers }) => headers.cookie !== undefined),
    [],
  );
});

test("B6.6: a cancelled call over HTTP is told to the server, and its late answer is dropped", async () => {
  await using world = await hostileWorld();
  let late: (() => void) | undefined;
  await using web = await hostileHttp((asked, response) => {
    if (!isCall(asked) || late !== undefined) return false;
    late = () => json(response, asked.body.id, { content: [{ type: "text", text: "late" }] });
    return true;
  });
  const opened = await world.open(webServer(world, web.url));
  const stop = new AbortController();
  const call = callTool(opened, {}, { signal: stop.signal });
  await until(() => late !== undefined, "the call arrives");
  stop.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
  await until(() => web.asked.some(({ body }) => body.method === "notifications/cancelled"), "the cancel arrives");
  late?.();
  assert.equal((await callTool(opened)).output, "ran echo");
});

test("B6.1: a server that breaks its streams and asks to be called at once is not called without a pause", async () => {
  const clock = new VirtualClock(0);
  await using world = await hostileWorld({ clock });
  await using web = await hostileHttp(({ method }, response) => {
    if (method !== "GET") return false;
    response.writeHead(200, { "content-type": "text/event-stream" }).end("retry: 0\nid: 1\ndata:\n\n");
    return true;
  });
  const opened = await world.open(webServer(world, web.url));
  const streams = () => web.asked.filter(({ method }) => method === "GET").length;
  await until(() => streams() === 1, "the stream is opened");
  // The clock stands still, so only calls are made.
  for (let calls = 0; calls < 20; calls++) assert.equal((await callTool(opened)).success, true);
  assert.equal(streams(), 1);
});
