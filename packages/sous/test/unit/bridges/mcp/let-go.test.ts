/** Servers of tools, and calls that are served: what one step has set up is gone when it is over. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { suite, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { McpGround } from "../../../../src/bridges/mcp/ground.ts";
import { openMcpTools } from "../../../../src/bridges/mcp/open.ts";
import { LineTransport, serveMcp } from "../../../../src/bridges/mcp/serve.ts";
import { type ServedAgents, ServedCalls } from "../../../../src/bridges/mcp/serve-calls.ts";
import { StdioTransport } from "../../../../src/bridges/mcp/stdio-transport.ts";
import type { McpServer } from "../../../../src/core/configuration.ts";
import type { Programs } from "../../../../src/core/process.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { stubAgent } from "../../../support/bridges/acp/stub-agent.ts";
import { callTool } from "../../../support/bridges/mcp/hostile.ts";

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await nextTurn();
}

function greeting(method: string): object | undefined {
  if (method === "tools/list") return { tools: [{ name: "echo", inputSchema: { type: "object" } }] };
  if (method === "tools/call") return { content: [{ type: "text", text: "done" }] };
  if (method !== "initialize") return undefined;
  const serverInfo = { name: "stub", version: "1" };
  return { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
}

suite("servers of tools that start", () => {
  /** One that answers at once, and one that does so when it is told. */
  function open() {
    const clock = new VirtualClock(0);
    const quick = stubAgent(greeting);
    let isAwake = false;
    const held: { id: number | undefined; result: object }[] = [];
    const slow = stubAgent((method) => {
      const result = greeting(method);
      if (isAwake || result === undefined) return result;
      held.push({ id: slow.sent.at(-1)?.id, result });
      return undefined;
    });
    const wake = () => {
      isAwake = true;
      for (const answer of held.splice(0)) slow.say(answer);
    };
    const programs = {
      talk: (request: Parameters<Programs["talk"]>[0]) =>
        (request.program === "quick" ? quick : slow).start.programs.talk(request),
    };
    const pins = {
      read: async () => ({ approved: new Map(), seen: undefined }),
      noteSeen: async () => {},
      approve: async () => {},
    };
    const ground = { programs, clock, cwd: "/", pins } as object as McpGround;
    const server = (name: string) =>
      ({
        name,
        transport: { type: "stdio", command: name, args: [], env: {}, cwd: undefined },
        startTimeoutMs: 30_000,
        callTimeoutMs: 120_000,
        tools: undefined,
        deny: [],
        isDisabled: false,
      }) as object as McpServer;
    const slowOnes: (readonly string[])[] = [];
    const onSlow = (names: readonly string[]) => slowOnes.push(names);
    const opening = openMcpTools([server("quick"), server("slow")], ground, { onSlow });
    return { clock, opening, quick, wake, slowOnes };
  }

  test("servers of tools whose list changes are asked for it, which leaves no timer behind", async () => {
    const { clock, opening, quick, wake } = open();
    wake();
    await using _opened = await opening;
    const lists = () => quick.sent.filter(({ method }) => method === "tools/list").length;
    assert.equal(lists(), 1);
    quick.say({ method: "notifications/tools/list_changed" });
    await turns();
    assert.deepEqual([lists(), clock.liveTimers], [2, 0]);
  });

  test("servers of tools that start in time leave no timer behind", async () => {
    const { clock, opening, wake, slowOnes } = open();
    wake();
    await using opened = await opening;
    assert.deepEqual([opened.problems, opened.tools.length, clock.liveTimers, slowOnes], [[], 1 + 1, 0, []]);
  });

  test("servers of tools that were called have no time limit left, and no listener on the signal of the call", async () => {
    const { clock, opening, wake } = open();
    wake();
    await using opened = await opening;
    const { signal } = new AbortController();
    const { success } = await callTool(opened, {}, { name: "mcp__quick__echo", signal });
    assert.deepEqual([success, clock.liveTimers, getEventListeners(signal, "abort").length], [true, 0, 0]);
  });

  test("servers of tools that start slowly are named alone, without those that have started", async () => {
    const { clock, opening, wake, slowOnes } = open();
    await turns();
    clock.fireNext(() => 0);
    assert.deepEqual(slowOnes, [["slow"]]);
    wake();
    await using opened = await opening;
    assert.deepEqual([opened.problems, clock.liveTimers], [[], 0]);
  });
});

test("a server of tools is read as long as it takes what it is sent, however much that was", async () => {
  let isTaking = true;
  const never = new Promise<void>(() => {});
  const stub = stubAgent(() => undefined);
  const program = await stub.start.programs.talk({} as Parameters<Programs["talk"]>[0]);
  const programs = { talk: async () => ({ ...program, send: () => (isTaking ? Promise.resolve() : never) }) };
  const transport = new StdioTransport(programs as object as Programs, { program: "stub", args: [], cwd: "/" });
  const heard: unknown[] = [];
  transport.onmessage = (message) => heard.push(message);
  await transport.start();
  const note = { jsonrpc: "2.0", method: "note" } as const;
  for (let count = 0; count < 200; count++) await transport.send(note);
  isTaking = false;
  void transport.send(note);
  for (let count = 0; count < 3; count++) stub.say({ method: "note" });
  await turns();
  assert.equal(heard.length, 3);
});

test("a client is read as long as it takes its answers, however much they were", async () => {
  let isTaking = true;
  const never = new Promise<void>(() => {});
  const more = Promise.withResolvers<void>();
  async function* input(): AsyncGenerator<Uint8Array> {
    await more.promise;
    for (let count = 0; count < 3; count++) yield Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  }
  const write = () => (isTaking ? Promise.resolve() : never);
  const transport = new LineTransport({ input: input(), write, maxLineBytes: 1000, warn: () => {} });
  let asked = 0;
  transport.onmessage = () => {
    asked += 1;
  };
  await transport.start();
  for (let count = 0; count < 100; count++) await transport.send({ text: "x".repeat(100_000) });
  isTaking = false;
  void transport.send({ text: "small" });
  more.resolve();
  await turns();
  assert.equal(asked, 3);
});

suite("a call that is served", () => {
  const report = { text: "Done.", data: {}, isError: false };
  const agents = (call: ServedAgents["call"]): ServedAgents => {
    const tool = { name: "sous", title: "sous", description: "", isReadOnly: false };
    return { version: "1", tools: [tool], outputSchema: {}, call };
  };

  test("a call that is served sends no progress after its answer", async () => {
    const clock = new VirtualClock(0);
    const sent: unknown[] = [];
    const calls = new ServedCalls({
      agents: agents(async (_tool, _task, { show }) => {
        show("at work");
        return report;
      }),
      clock,
      signal: new AbortController().signal,
    });
    const mcpReq = {
      _meta: { progressToken: 1 },
      signal: new AbortController().signal,
      notify: async (message: unknown) => void sent.push(message),
    };
    await calls.call({ name: "sous", arguments: { task: "Go." } }, { mcpReq } as object as Parameters<
      ServedCalls["call"]
    >[1]);
    assert.deepEqual([clock.fireNext(() => 0), sent], [false, []]);
  });

  test("a client that is gone leaves no listener on the signal that would have ended its service", async () => {
    const { signal } = new AbortController();
    async function* input(): AsyncGenerator<Uint8Array> {}
    await serveMcp({
      agents: agents(async () => report),
      clock: new VirtualClock(0),
      signal,
      input: input(),
      write: async () => {},
      maxLineBytes: 1000,
      warn: () => {},
    });
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });
});
