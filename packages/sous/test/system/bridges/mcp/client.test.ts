/** The client with a server that behaves: start, names, calls, pins, life. */

import assert from "node:assert/strict";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { checkMcpServer, type McpTools, openMcpTools } from "../../../../src/bridges/mcp/open.ts";
import { openPinBook } from "../../../../src/bridges/mcp/pins.ts";
import { ApprovalNeeded, UserError } from "../../../../src/core/errors.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { callTool, hostileWorld, isAlive, until, type World } from "../../../support/bridges/mcp/hostile.ts";

const ECHO = { name: "echo", description: "Echoes.", inputSchema: { type: "object" } };
const PICTURE = Buffer.from("\x89PNG\r\n\x1a\npicture", "latin1").toString("base64");

function answering(result: unknown) {
  return { on: { "tools/call": [{ result }] } };
}

function started(log: readonly Record<string, unknown>[]): number[] {
  return log.flatMap(({ started }) => (typeof started === "number" ? [started] : []));
}

test("a tool of a server has our rights, whatever it says of itself, and its call comes back as text", async () => {
  await using world = await hostileWorld();
  const opened = await world.open(world.server({ tools: [{ ...ECHO, annotations: { readOnlyHint: true } }] }));
  const [tool] = opened.tools;
  assert.deepEqual(opened.problems, []);
  const { name, description, displayName, tier, effect, category, origin } = tool ?? {};
  const { definition = "", ...from } = origin ?? {};
  assert.match(definition, /^[0-9a-f]{64}$/);
  assert.deepEqual(
    { name, description, displayName, tier, effect, category, origin: from },
    {
      name: "mcp__bad__echo",
      description: "Echoes.",
      displayName: "bad › echo",
      tier: "confirm",
      effect: "unsafe",
      category: "other",
      origin: { server: "bad", tool: "echo" },
    },
  );
  assert.deepEqual(await callTool(opened, { a: 1 }), { success: true, output: 'ran echo {"a":1}' });
});

const MIXED = [
  { type: "text", text: "one" },
  { type: "image", data: PICTURE, mimeType: "image/png" },
  { type: "image", data: "http://127.0.0.1/x", mimeType: "image/png" },
  { type: "image", data: PICTURE, mimeType: "image/svg+xml" },
  { type: "resource", resource: { uri: "file:///a", text: "inside" } },
  { type: "resource", resource: { uri: "file:///b", blob: PICTURE, mimeType: "application/zip" } },
  { type: "resource_link", uri: "javascript:alert(1)", name: "link" },
  { type: "dance" },
  7,
];

const ANSWERS: [string, unknown, unknown][] = [
  [
    "pictures become documents, structured content becomes data and text, links are one line and not opened",
    { content: MIXED, structuredContent: { a: 1 } },
    {
      success: true,
      output: [
        "one",
        "[image that is not base64 was left out]",
        "[image of the type image/svg+xml was left out: about 1 KB]",
        "[resource file:///a]\ninside",
        "[resource file:///b] [resource of the type application/zip was left out: about 1 KB]",
        "[link to link: javascript:alert(1); it was not opened]",
        "[a part of the type dance was left out]",
        "[a part that is not an object was left out]",
        '{"a":1}',
      ].join("\n"),
      data: { a: 1 },
      documents: [{ type: "file", mediaType: "image/png", data: PICTURE }],
    },
  ],
  ["nothing at all is done", {}, { success: true, output: "done" }],
  [
    "an error is a failed result",
    { isError: true, content: [{ type: "text", text: "no disk" }] },
    { success: false, output: "", error: "no disk" },
  ],
  [
    "structured content that the text says is not said twice",
    { content: [{ type: "text", text: '{"a":1}' }], structuredContent: { a: 1 } },
    { success: true, output: '{"a":1}', data: { a: 1 } },
  ],
  [
    "structured content whose list the text says is not said twice",
    { content: [{ type: "text", text: "[\n  1\n]" }], structuredContent: { entities: [1] } },
    { success: true, output: "[\n  1\n]", data: { entities: [1] } },
  ],
  [
    "structured content that is the text under a name is not said twice",
    { content: [{ type: "text", text: "[FILE] a" }], structuredContent: { content: "[FILE] a" } },
    { success: true, output: "[FILE] a", data: { content: "[FILE] a" } },
  ],
  [
    "structured content that says more than the text is said",
    { content: [{ type: "text", text: "a" }], structuredContent: { content: "a", size: 1 } },
    { success: true, output: 'a\n{"content":"a","size":1}', data: { content: "a", size: 1 } },
  ],
  [
    "B6.1: a picture that is another one is what its bytes say, and one that is none is left out",
    {
      content: [
        { type: "image", data: PICTURE, mimeType: "image/jpeg" },
        { type: "image", data: Buffer.from("<html>").toString("base64"), mimeType: "image/png" },
      ],
    },
    {
      success: true,
      output: "[image was left out: it is not of the type image/png]",
      documents: [{ type: "file", mediaType: "image/png", data: PICTURE }],
    },
  ],
  [
    "B6.4: a result that asks for input is a failed result, and not a call that was made",
    { resultType: "input_required", inputRequests: { a: { method: "elicitation/create", params: {} } } },
    {
      success: false,
      output: "",
      error: "The server asks for input before it makes the call, which sous does not support: the call was not made",
    },
  ],
  [
    "a task is a failed result",
    { task: { taskId: "1", status: "working" } },
    {
      success: false,
      output: "",
      error: "The server answered with a task, which sous does not support: its result was not waited for",
    },
  ],
];
suite("the answer of a tool", () => {
  let world: World;
  let opened: McpTools;
  before(async () => {
    world = await hostileWorld();
    opened = await world.open(world.server({}));
  });
  after(() => world[Symbol.asyncDispose]());
  for (const [name, answer, expected] of ANSWERS) {
    test(name, async () => {
      world.change("bad", answering(answer));
      assert.deepEqual(await callTool(opened), expected);
    });
  }
});

test("the settings tools and deny choose by the server's own names", async () => {
  await using world = await hostileWorld();
  const tools = ["get_a", "get_b", "set_a"].map((name) => ({ ...ECHO, name }));
  const opened = await world.open(world.server({ tools }, { tools: ["get_*", "set_a"], deny: ["*_b"] }));
  assert.deepEqual(
    opened.tools.map(({ name }) => name),
    ["mcp__bad__get_a", "mcp__bad__set_a"],
  );
});

test("a long name with dots and slashes gets a short one, and its description begins with the real one", async () => {
  await using world = await hostileWorld();
  const name = `a.b/${"c".repeat(121)}`;
  const opened = await world.open(world.server({ tools: [{ ...ECHO, name }] }));
  const [tool] = opened.tools;
  assert.match(tool?.name ?? "", /^mcp__bad__a_b_c+_[0-9a-f]{8}$/);
  assert.equal(tool?.description.startsWith("a.b/ccc"), true);
  assert.equal((await callTool(opened)).output, `ran ${name} {}`);
});

test("a server whose every tool was approved is started at the first call, also in another process", async () => {
  await using world = await hostileWorld();
  const server = world.server({});
  await callTool(await world.open(server));
  assert.equal(started(world.log()).length, 1);
  const pins = openPinBook(join(world.folder, "state"));
  await using again = await openMcpTools([server], { ...world.ground, pins });
  assert.equal(again.tools.length, 1);
  assert.equal(started(world.log()).length, 1);
  assert.equal((await callTool(again)).success, true);
  assert.equal(started(world.log()).length, 2);
});

test("other settings for what is offered make what was seen worthless", async () => {
  await using world = await hostileWorld();
  const script = { tools: [ECHO, { ...ECHO, name: "more" }] };
  await callTool(await world.open(world.server(script, { tools: ["echo"] })));
  const wider = await world.open(world.server(script));
  assert.equal(wider.tools.length, 2);
  const narrower = await world.open(world.server(script, { deny: ["*"] }));
  assert.equal(narrower.tools.length, 0);
});

test("the file of pins is private and whole, and two books lose nothing to each other", async () => {
  await using world = await hostileWorld();
  const server = world.server({});
  const definitions = Array.from({ length: 12 }, (_, index) => ({
    ...ECHO,
    name: `tool${index}`,
    sha256: String(index),
  }));
  const books = [0, 1].map(() => openPinBook(join(world.folder, "state")));
  await Promise.all(definitions.map((each, index) => books[index % 2]?.approve(server, [each])));
  assert.equal((await books[0]?.read(server))?.approved.size, 12);
  const file = join(world.folder, "state", "mcp-tools.json");
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await readFile(file, "utf8")).includes(process.execPath), false);
});

test("a damaged file of pins is one sentence that names it", async () => {
  await using world = await hostileWorld();
  await writeFile(join(world.folder, "state", "mcp-tools.json"), "{", { mode: 0o600 });
  await assert.rejects(world.open(world.server({})), (error) => {
    return error instanceof UserError && /mcp-tools\.json cannot be read/.test(error.message);
  });
});

test("a check says what is new, approved and changed, and changes nothing", async () => {
  await using world = await hostileWorld();
  const server = world.server({ tools: [ECHO, { ...ECHO, name: "other" }] });
  const opened = await world.open(server);
  await callTool(opened, {}, { name: "mcp__bad__echo" });
  world.change("bad", {
    tools: [
      { ...ECHO, description: "Deletes." },
      { ...ECHO, name: "other" },
    ],
  });
  const { tools: found, problem, serverName, transport, handshakeMs } = await checkMcpServer(server, world.ground);
  const tools = found.map(({ definition: { description }, ...tool }) => ({ ...tool, description }));
  assert.deepEqual(
    { tools, problem, serverName, transport },
    {
      tools: [
        {
          name: "echo",
          toolName: "mcp__bad__echo",
          state: "changed",
          change: "description:\n- Echoes.\n+ Deletes.",
          description: "Deletes.",
        },
        { name: "other", toolName: "mcp__bad__other", state: "new", description: "Echoes." },
      ],
      problem: undefined,
      serverName: "hostile",
      transport: "stdio",
    },
  );
  assert.equal(typeof handshakeMs, "number");
});

test("a check of a program that does not exist says so", async () => {
  await using world = await hostileWorld();
  const transport = { type: "stdio" as const, command: "no-such-program", args: [], env: {}, cwd: undefined };
  const { problem, tools } = await checkMcpServer({ ...world.server({}), transport }, world.ground);
  assert.match(problem ?? "", /^The MCP server bad could not be started: .*no-such-program/);
  assert.deepEqual(tools, []);
});

test("two callers at once share one process, and its end ends with the tools", async () => {
  await using world = await hostileWorld();
  const server = world.server({});
  await callTool(await world.open(server));
  const opened = await world.open(server);
  await Promise.all([callTool(opened), callTool(opened), callTool(opened)]);
  const pids = started(world.log());
  assert.equal(pids.length, 2);
  await opened[Symbol.asyncDispose]();
  assert.equal(isAlive(pids[1] ?? 0), false);
});

test("an aborted call tells the server that it is cancelled", async () => {
  await using world = await hostileWorld();
  const opened = await world.open(world.server({ on: { "tools/call": [] } }));
  const stop = new AbortController();
  const call = callTool(opened, {}, { signal: stop.signal });
  await until(() => world.log().some(({ method }) => method === "tools/call"), "the call arrives");
  stop.abort(new Error("enough"));
  await assert.rejects(call, /^Error: enough$/);
  await until(() => world.log().some(({ method }) => method === "notifications/cancelled"), "the cancel arrives");
});

test("a call that takes too long fails in words and is cancelled, and progress gives it no more time", async () => {
  const clock = new VirtualClock(0);
  await using world = await hostileWorld({ clock });
  const progress =
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$ID,"progress":1,"total":2,"message":"half"}}';
  const opened = await world.open(world.server({ on: { "tools/call": [{ raw: progress }] } }));
  const seen: unknown[] = [];
  const call = callTool(opened, {}, { progress: (...given) => void seen.push(given) });
  await until(() => seen.length > 0, "progress arrives");
  assert.deepEqual(seen, [["half", 1, 2]]);
  clock.fireNext(() => 0);
  assert.match((await call).error ?? "", /^The MCP server bad did not finish echo within 120 seconds/);
  await until(() => world.log().some(({ method }) => method === "notifications/cancelled"), "the cancel arrives");
});

test("a server is started again once after it died, and then no more", async () => {
  await using world = await hostileWorld();
  const opened = await world.open(world.server({ on: { "tools/call": [{ die: 3 }] } }));
  const words =
    /^The MCP server bad ended with exit code 3 during the call; it said: out of luck; whether .* not known/;
  const first = await callTool(opened);
  assert.match(first.error ?? "", words);
  assert.match(first.error ?? "", /starts it again$/);
  assert.match((await callTool(opened)).error ?? "", /not started again$/);
  assert.match((await callTool(opened)).error ?? "", /has ended twice and is not started again/);
  assert.equal(started(world.log()).length, 2);
});

test("a change after a restart is asked about, and an allowed one is called", async () => {
  await using world = await hostileWorld();
  const opened = await world.open(world.server({ on: { "tools/call": [{ die: 1 }] } }));
  await callTool(opened);
  world.change("bad", { tools: [{ ...ECHO, description: "Deletes." }] });
  const error = await callTool(opened).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof ApprovalNeeded);
  assert.match(
    error.message,
    /^The MCP server bad has changed its tool echo since it was approved \(now [0-9a-f]{32}\):\n/,
  );
  assert.equal(world.log().filter(({ method }) => method === "tools/call").length, 1);
  await error.onAllow();
  assert.equal((await callTool(opened)).output, "ran echo {}");
});

test("a server that cannot be started is tried once more at a later call", async () => {
  await using world = await hostileWorld();
  const server = world.server({});
  await callTool(await world.open(server));
  const opened = await world.open(server);
  world.change("bad", { on: { initialize: [{ die: 4 }] } });
  assert.match(
    (await callTool(opened)).error ?? "",
    /could not be started: it ended with exit code 4; it said: out of luck/,
  );
  assert.match((await callTool(opened)).error ?? "", /could not be started/);
  assert.match((await callTool(opened)).error ?? "", /It is not tried again/);
  assert.equal(started(world.log()).length, 3);
});

test("the trace of a call goes to the server, in its variables and in _meta", async () => {
  await using world = await hostileWorld();
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const server = world.server({ on: { "tools/call": [{ environment: true }] } });
  await using opened = await openMcpTools([server], { ...world.ground, environment: { TRACEPARENT: traceparent } });
  const { output } = await callTool(opened, {}, { trace: { traceparent, tracestate: "x=1" } });
  assert.equal(JSON.parse(output).TRACEPARENT, traceparent);
  const call = world.log().find(({ method }) => method === "tools/call");
  const { _meta } = call?.params as { _meta: Record<string, unknown> };
  assert.deepEqual([_meta.traceparent, _meta.tracestate], [traceparent, "x=1"]);
});

test("a list that changes is noted for the next run, and the tools of this one stay", async () => {
  await using world = await hostileWorld();
  const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
  const call = { "tools/call": [{ raw: changed }, { result: {} }] };
  const server = world.server({ on: call });
  const opened = await world.open(server);
  world.change("bad", { tools: [ECHO, { ...ECHO, name: "fresh" }], on: call });
  await callTool(opened);
  for (let seen: number | undefined; seen !== 2; ) seen = (await world.ground.pins.read(server)).seen?.length;
  assert.equal(opened.tools.length, 1);
  assert.equal((await callTool(opened)).success, true);
});
