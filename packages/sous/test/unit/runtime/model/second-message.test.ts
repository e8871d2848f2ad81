/** A body that holds a second message behind the end of the first, as from a proxy that replays: the answer is the first one alone. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import * as z from "zod";
import { agent } from "../../../../src/core/agent.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import { tool } from "../../../../src/core/tool.ts";
import { resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { run } from "../../../../src/runtime.ts";
import { WIRES, type Wire } from "./doubled-wires.ts";

type Pieces = readonly Uint8Array[];

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

const whole = (body: string): Pieces => [encode(body)];

const byBytes = (body: string): Pieces => Array.from(encode(body), (byte) => Uint8Array.of(byte));

const cutAt = (body: string, at: number): Pieces => [encode(body).subarray(0, at), encode(body).subarray(at)];

/** Gives these bodies, one for each request. */
function fetchOf(bodies: readonly Pieces[]): typeof globalThis.fetch {
  let requests = 0;
  return async () => {
    const pieces = [...(bodies[requests++] ?? [])];
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
}

/** What a run says and does. */
async function outcomeOf({ provider }: Wire, server: { url?: string; fetch?: typeof globalThis.fetch }) {
  const environment = { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k", GEMINI_API_KEY: "k" };
  const { url = "http://provider.test/v1", fetch } = server;
  const options = { baseUrl: url, maxRetries: 0, silenceMs: 5000, ...(fetch !== undefined && { fetch }) };
  const model = await resolveModel(`${provider}/m`, environment, options);
  const looked: string[] = [];
  const look = tool({
    name: "look",
    description: "Looks.",
    inputSchema: z.object({ at: z.string() }),
    execute: ({ at }) => {
      looked.push(at);
      return "seen";
    },
  });
  const said: string[] = [];
  const onEvent = (event: SousEvent): void => {
    if (event.type !== "message-end") return;
    for (const part of event.message.content) if (part.type === "text") said.push(part.text);
  };
  const { status, text, error, usage, turns } = await run(agent({ name: "lead", model, tools: [look] }), "Go.", {
    onEvent,
  }).result;
  return { status, text, error: error?.message, looked, said, turns, tokens: usage.totalTokens };
}

/** The same of a run that is answered by these bodies. */
function outcomeWith(wire: Wire, ...bodies: readonly Pieces[]) {
  return outcomeOf(wire, { fetch: fetchOf(bodies) });
}

const EXPECTED = {
  status: "completed",
  text: "Done.",
  error: undefined,
  looked: ["here"],
  said: ["I look.", "Done."],
  turns: 2,
  tokens: 2200,
};

const crlf = (body: string): string => body.replaceAll("\n", "\r\n");

suite("a second message behind the end of the first", () => {
  for (const wire of WIRES) {
    const { name, first, other, last } = wire;
    const end = whole(last);
    for (const [what, body] of [
      ["is the first one again", first + first],
      ["is another one", first + other],
      ["is cut", first + other.slice(0, other.length / 2)],
      ["comes three times", first + other + other + first],
    ] as const) {
      test(`${name}: calls run once and no text is doubled when the second message ${what}`, async () => {
        for (const lines of [body, crlf(body)]) assert.deepEqual(await outcomeWith(wire, whole(lines), end), EXPECTED);
      });

      if (what === "comes three times" || what === "is the first one again") continue;
      test(`${name}: it is the same byte by byte when the second message ${what}`, async () => {
        for (const lines of [body, crlf(body)])
          assert.deepEqual(await outcomeWith(wire, byBytes(lines), end), EXPECTED);
      });
    }

    test(`${name}: it is the same wherever the body is cut in two around the end of the first message`, async () => {
      for (const [one, two] of [
        [first, first + first],
        [crlf(first), crlf(first + first)],
      ] as const)
        for (let at = one.length - 14; at < one.length + 5; at++)
          assert.deepEqual(await outcomeWith(wire, cutAt(two, at), end), EXPECTED, `cut at ${at}`);
    });

    test(`${name}: the last answer is not doubled either`, async () => {
      assert.deepEqual(await outcomeWith(wire, whole(first), whole(last + last)), EXPECTED);
    });
  }
});

/** Answers each request by its number, and notes how the answers ended. */
async function serve(answer: (response: ServerResponse, request: number) => void) {
  let connections = 0;
  const closed: Promise<unknown>[] = [];
  const server = createServer((request, response) => {
    const number = closed.push(once(response, "close"));
    request.resume().once("end", () => {
      answer(response.writeHead(200, { "content-type": "text/event-stream" }), number);
    });
  });
  server.on("connection", () => void connections++);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    closed,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const RUNS = 8;

suite("the connection of a body with a second message", () => {
  for (const wire of WIRES) {
    const { name, first, other, last } = wire;
    test(`${name}: later calls use the connection again when the body ends`, async () => {
      await using server = await serve((response, request) => {
        response.write(request % 2 === 1 ? first + other : last + last);
        // By then the answer has been read, and the end is still to come.
        setImmediate(() => setImmediate(() => response.end()));
      });
      for (let runs = 0; runs < RUNS; runs++) assert.deepEqual(await outcomeOf(wire, server), EXPECTED);
      assert.equal(server.closed.length, 2 * RUNS);
      // One or two on a machine at rest: `fetch` closes a connection that was not used for some seconds.
      assert.ok(server.connections <= RUNS, `${server.connections} connections`);
    });
  }
});

suite("a body that stays open behind its first message", { concurrency: true }, () => {
  for (const wire of WIRES) {
    const { name, first, other, last } = wire;
    test(`${name}: a body that stays open holds nothing up, and is closed`, async () => {
      await using server = await serve((response, request) => {
        response.write(request === 1 ? first : last);
        response.write(other);
      });
      assert.deepEqual(await outcomeOf(wire, server), EXPECTED);
      await Promise.all(server.closed);
      assert.equal(server.closed.length, 2);
    });
  }
});
