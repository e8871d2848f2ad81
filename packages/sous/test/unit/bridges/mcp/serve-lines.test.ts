/** A client that writes and does not read: what it asks for must not pile up here. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { LineTransport } from "../../../../src/bridges/mcp/serve.ts";

test("nothing further is read while 4 MiB of answers wait for the client, and everything once it reads", async () => {
  const COUNT = 200;
  const request = Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`);
  async function* input(): AsyncGenerator<Uint8Array> {
    for (let count = 0; count < COUNT; count++) yield request;
  }
  const reads = Promise.withResolvers<void>();
  const transport = new LineTransport({
    input: input(),
    write: () => reads.promise,
    maxLineBytes: 1000,
    warn: () => {},
  });
  let asked = 0;
  const answer = { jsonrpc: "2.0", id: 1, result: { text: "x".repeat(100_000) } };
  transport.onmessage = () => {
    asked += 1;
    void transport.send(answer);
  };
  const closed = new Promise<void>((resolve) => (transport.onclose = resolve));
  await transport.start();
  for (let turn = 0; turn < 100; turn++) await setImmediate();
  assert.ok(asked >= 40 && asked <= 43, `${asked} requests were taken`);
  reads.resolve();
  await closed;
  assert.equal(asked, COUNT);
});
