/** Lines that a client writes to `sous mcp serve` by hand: bad lines, wrong types, too much; and everything it may wait for. */

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { type Message, type ServeStage, serveStage, toolCall, type WireClient, wireClient } from "./serve-stage.ts";

const HANGS = { text: "Working", ending: "hangs" };

/** Code in the process that prints to standard output with every call, as a package in use might. */
const NOISE = `--import=data:text/javascript,${encodeURIComponent(
  `const { parse } = JSON;
  JSON.parse = (text, ...rest) => {
    if (String(text).includes('"tools/call"')) console.log("noise on standard output");
    return parse(text, ...rest);
  };`,
)}`;

suite("the wire of sous mcp serve", () => {
  test("bad lines and wrong types are answered with errors, and the next request is answered", async () => {
    await using stage = await serveStage({ scout: [{ text: "Fine." }] });
    await using client = wireClient(stage, [], { NODE_OPTIONS: NOISE });
    // Before initialize, as some clients do.
    await client.send({ id: 1, method: "tools/list", params: {} });
    assert.ok((await client.answerTo(1)).result?.tools.some(({ name }) => name === "scout"));
    assert.equal((await client.initialize()).result?.serverInfo.name, "sous");

    const wrong: readonly [text: string, id: string | number | null, code: number][] = [
      ["this is not JSON", null, -32700],
      ['{"jsonrpc":"2.0","id":2', null, -32700],
      ["[]", null, -32600],
      ['[{"jsonrpc":"2.0","id":3,"method":"ping"}]', null, -32600],
      ['"ping"', null, -32600],
      ['{"id":4,"method":"ping"}', 4, -32600],
      ['{"jsonrpc":"1.0","id":5,"method":"ping"}', 5, -32600],
      ['{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', null, -32600],
      ['{"jsonrpc":"2.0","id":6,"method":7}', 6, -32600],
      ['{"jsonrpc":"2.0","id":8,"method":"ping","params":[1]}', 8, -32600],
      ['{"jsonrpc":"2.0","id":9,"method":"nonsense"}', 9, -32601],
      ['{"jsonrpc":"2.0","id":10,"method":"resources/list"}', 10, -32601],
      ['{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"nope","arguments":{"task":"x"}}}', 11, -32602],
      ['{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":7}}', 12, -32602],
      ['{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"scout","arguments":"x"}}', 13, -32602],
      ['{"jsonrpc":"2.0","id":14,"method":"tools/call"}', 14, -32602],
      [`${"[".repeat(100_000)}${"]".repeat(100_000)}`, null, -32600],
    ];
    for (const [text, id, code] of wrong) {
      const seen = client.messages.length;
      await client.write(`${text}\n`);
      const answer = await client.until((message) => client.messages.indexOf(message) >= seen);
      assert.deepEqual([answer.id, answer.error?.code], [id, code], text.slice(0, 100));
    }
    // These have no id and no answer.
    await client.send({ id: 99, result: {} }, { method: "notifications/cancelled", params: { requestId: 1234 } });
    await client.write("\n  \n");
    await client.send(toolCall(20, "scout", "Look"));
    assert.equal((await client.answerTo(20)).result?.content[0]?.text, "Fine.");
    assert.match(client.stderr(), /noise on standard output/);
  });
});

suite("the wire of sous mcp serve, in a process with little memory", () => {
  let stage: ServeStage;
  let client: WireClient;
  before(async () => {
    stage = await serveStage({ scout: [{ text: "Fine." }] });
    client = wireClient(stage, [], { NODE_OPTIONS: "--max-old-space-size=80" });
    await client.initialize();
  });
  after(async () => {
    await client[Symbol.asyncDispose]();
    await stage[Symbol.asyncDispose]();
  });

  test("a task that is missing, empty, of a wrong type or too long is an error that its model can mend", async () => {
    const wrong: readonly [given: object | undefined, words: RegExp][] = [
      [undefined, /task is missing/],
      [{}, /task is missing/],
      [{ task: 7 }, /not a text/],
      [{ task: " \n" }, /is empty/],
      [{ task: "x".repeat(100_001) }, /may have 100000/],
      [{ task: "x", also: 1 }, /Unknown argument "also"/],
    ];
    for (const [index, [given, words]] of wrong.entries()) {
      const id = `task ${index}`;
      await client.send({ id, method: "tools/call", params: { name: "scout", arguments: given } });
      const { result } = await client.answerTo(id);
      assert.equal(result?.isError, true);
      assert.match(result?.content[0]?.text ?? "", words);
    }
    assert.deepEqual(
      client.messages.filter(({ error }) => error !== undefined),
      [],
    );
  });

  test("a line of 100 MB is skipped with an error, and holds no memory", async () => {
    const chunk = Buffer.alloc(1024 * 1024, "a");
    await client.write('{"jsonrpc":"2.0","id":"long","method":"');
    for (let count = 0; count < 100; count++) await client.write(chunk);
    await client.write('"}\n');
    assert.match((await client.answerTo(null)).error?.message ?? "", /at most 10485760 bytes; send less at once/);
    await client.send(toolCall("next", "scout", "Look"));
    assert.equal((await client.answerTo("next")).result?.content[0]?.text, "Fine.");
  });

  test("a flood of requests is answered, each once", async () => {
    const COUNT = 1500;
    await client.send(...Array.from({ length: COUNT }, (_, id) => ({ id, method: "tools/list", params: {} })));
    await client.answerTo(COUNT - 1);
    const ids = client.messages.map(({ id }) => id).filter((id) => typeof id === "number");
    assert.equal(new Set(ids).size, COUNT);
    assert.equal(ids.length, COUNT);
  });
});

suite("the calls of sous mcp serve", () => {
  test("sixteen calls work at once; one more is refused in words, and taken when one has ended", async () => {
    await using stage = await serveStage({ scout: [HANGS] });
    await using client = wireClient(stage);
    await client.initialize();
    await client.send(...Array.from({ length: 17 }, (_, id) => toolCall(id, "scout", "Work", { progressToken: id })));
    const { result } = await client.answerTo(16);
    assert.equal(result?.isError, true);
    assert.match(result?.content[0]?.text ?? "", /^16 calls are running/);
    await Promise.all(Array.from({ length: 16 }, (_, id) => client.until(progressOf(id, /Working/))));
    await client.send({ method: "notifications/cancelled", params: { requestId: 3 } });
    await untilStatus(stage, "cancelled");
    await client.send(toolCall(17, "scout", "Work", { progressToken: 17 }));
    await client.until(progressOf(17, /Working/));
    assert.deepEqual(
      client.messages.filter(({ id }) => typeof id === "number").map(({ id }) => id),
      [16],
    );
  });

  test("a cancelled call is not answered and its run is cancelled; progress is a rising number", async () => {
    const slow = { calls: [{ tool: "grep", input: { pattern: "x" } }], wait_ms: 300 };
    await using stage = await serveStage({ scout: [slow, slow, slow, HANGS] });
    await using client = wireClient(stage);
    await client.initialize();
    await client.send(toolCall(1, "scout", "Work", { progressToken: "mine" }));
    await client.until(progressOf("mine", /Working/));
    const rising = client.messages.filter(progressOf("mine", /./)).map(({ params }) => params?.progress ?? 0);
    assert.ok(rising.length >= 3, String(rising));
    assert.deepEqual(
      rising,
      rising.map((_, index) => index + 1),
    );
    await client.send({ method: "notifications/cancelled", params: { requestId: 1, reason: "enough" } });
    await untilStatus(stage, "cancelled");
    await client.send({ id: 2, method: "ping" });
    await client.answerTo(2);
    assert.equal(
      client.messages.some(({ id }) => id === 1),
      false,
    );
    // Without a token there is no progress.
    const before = client.messages.length;
    await client.send(toolCall(3, "scout", "Work"));
    await client.send({ id: 4, method: "ping" });
    await client.answerTo(4);
    assert.equal(
      client.messages.slice(before).some(({ method }) => method !== undefined),
      false,
    );
  });
});

function progressOf(token: unknown, words: RegExp): (message: Message) => boolean {
  return ({ method, params }) =>
    method === "notifications/progress" && params?.progressToken === token && words.test(params?.message ?? "");
}

async function untilStatus(stage: Awaited<ReturnType<typeof serveStage>>, status: string): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await stage.runs()).some((run) => run.status === status)) {
    assert.ok(performance.now() < deadline, `no run is ${status}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
