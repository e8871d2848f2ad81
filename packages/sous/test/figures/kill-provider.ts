/** A fake provider: a server that speaks chat completions, answers by content, and remembers every request. */

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Random } from "../../src/core/clock.ts";
import { between } from "../../src/testing/world.ts";
import { answerTo, type ChatMessage, partOf, piecesOf } from "./kill-script.ts";

/** One request, in the order of arrival. */
export type Asked = {
  /** Reported as its prompt tokens, so that a journal says which request each answer belongs to. */
  readonly serial: number;
  /** Of everything that was said. */
  readonly hash: string;
  /** Whose conversation it is. */
  readonly part: string;
};

export type FakeProvider = AsyncDisposable & {
  /** The address for one tree; what it asks is told to `onAsked`. */
  addressFor(tree: string, onAsked: (asked: Asked) => void): string;
  forget(tree: string): void;
  /** What a dead process has asked may still wait to be read; otherwise it would be taken for a question of the next. */
  hasHeardAll(): Promise<void>;
};

/** Turns of the event loop from a connection that is there to a question that is read: three, and some to spare. */
const TURNS = 10;

/** Prompt tokens of the first request. */
const FIRST_SERIAL = 10_000;
export const OUTPUT_TOKENS = 7;

export async function startFakeProvider(random: Random): Promise<FakeProvider> {
  const listeners = new Map<string, (asked: Asked) => void>();
  let serial = FIRST_SERIAL;
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, tree = ""] = request.url?.split("/") ?? [];
    const { messages } = JSON.parse(await bodyOf(request)) as { messages: ChatMessage[] };
    const hash = createHash("sha256").update(JSON.stringify(messages)).digest("hex");
    const asked: Asked = { serial: serial++, hash, part: partOf(messages) };
    listeners.get(tree)?.(asked);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const chunk of chunksOf(asked.serial, messages, random)) {
      // Some answers come at once, others take their time: a death may come between any two pieces.
      for (let rounds = between(random, 0, 3); rounds > 0; rounds--) await new Promise((next) => setImmediate(next));
      if (response.destroyed) return;
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    response.end("data: [DONE]\n\n");
  }

  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    addressFor(tree, onAsked) {
      listeners.set(tree, onAsked);
      return `http://127.0.0.1:${port}/${tree}/v1`;
    },
    forget: (tree) => void listeners.delete(tree),
    async hasHeardAll() {
      for (let turn = 0; turn < TURNS; turn++) await new Promise((next) => setImmediate(next));
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  request.setEncoding("utf8");
  for await (const chunk of request) body += chunk;
  return body;
}

function* chunksOf(serial: number, messages: readonly ChatMessage[], random: Random): Generator<unknown> {
  const answer = answerTo(messages);
  const chunk = (delta: unknown, finish_reason: string | null = null) => ({
    id: `answer-${serial}`,
    object: "chat.completion.chunk",
    created: 1,
    model: "fake",
    choices: [{ index: 0, delta, finish_reason }],
  });
  if ("text" in answer) {
    for (const content of piecesOf(answer.text, random)) yield chunk({ role: "assistant", content });
    yield chunk({}, "stop");
  } else {
    for (const [index, { name, input }] of answer.calls.entries()) {
      const [first = "", ...rest] = piecesOf(JSON.stringify(input), random);
      const id = `call_${serial}_${index}`;
      yield chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: first } }] });
      for (const more of rest) yield chunk({ tool_calls: [{ index, function: { arguments: more } }] });
    }
    yield chunk({}, "tool_calls");
  }
  const usage = { prompt_tokens: serial, completion_tokens: OUTPUT_TOKENS, total_tokens: serial + OUTPUT_TOKENS };
  yield { ...chunk({}), choices: [], usage };
}
