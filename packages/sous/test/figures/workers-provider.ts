/** A fake provider for trees over several workers: it answers by content after a while, and remembers every request. */

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ChatMessage } from "./kill-script.ts";
import { answerTo, partOf } from "./workers-script.ts";

export type Request = {
  /** Its number, and the prompt tokens of its answer: so a journal says which request each of its answers belongs to. */
  readonly serial: number;
  /** Of everything that was said. */
  readonly hash: string;
  /** Whose conversation it is. */
  readonly part: string;
  /** When it came, by the clock of `performance`. */
  readonly at: number;
};

export type WorkersProvider = AsyncDisposable & {
  readonly address: string;
  readonly requests: Request[];
  /** Called with every request as it comes; its answer waits for what is returned. */
  onRequest: ((request: Request) => Promise<void> | undefined) | undefined;
};

export const OUTPUT_TOKENS = 7;
const FIRST_SERIAL = 10_000;

/** `delayMs`: of one answer. */
export async function startWorkersProvider(delayMs: () => number, promptTokens?: number): Promise<WorkersProvider> {
  let serial = FIRST_SERIAL;
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  // A thousand wait at once, each on a connection of its own.
  server.keepAliveTimeout = 60_000;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { messages } = JSON.parse(await bodyOf(request)) as { messages: ChatMessage[] };
    const hash = createHash("sha256").update(JSON.stringify(messages)).digest("base64url");
    const asked: Request = { serial: serial++, hash, part: partOf(messages), at: performance.now() };
    provider.requests.push(asked);
    await provider.onRequest?.(asked);
    await new Promise((next) => setTimeout(next, delayMs()));
    if (response.destroyed) return;
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const chunk of chunksOf(asked.serial, messages, promptTokens))
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.end("data: [DONE]\n\n");
  }

  await new Promise<void>((listening) => server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, listening));
  const { port } = server.address() as AddressInfo;
  const provider: WorkersProvider = {
    address: `http://127.0.0.1:${port}/v1`,
    requests: [],
    onRequest: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return provider;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  request.setEncoding("utf8");
  for await (const chunk of request) body += chunk;
  return body;
}

function* chunksOf(serial: number, messages: readonly ChatMessage[], promptTokens = serial): Generator<unknown> {
  const answer = answerTo(messages);
  const head = { id: `answer-${serial}`, object: "chat.completion.chunk", created: 1, model: "fake" };
  const chunk = (delta: unknown, finish_reason: string | null = null) => {
    return { ...head, choices: [{ index: 0, delta, finish_reason }] };
  };
  if ("text" in answer) {
    yield chunk({ role: "assistant", content: answer.text });
    yield chunk({}, "stop");
  } else {
    for (const [index, { name, input }] of answer.calls.entries()) {
      const id = `call_${serial}_${index}`;
      const given = { name, arguments: JSON.stringify(input) };
      yield chunk({ tool_calls: [{ index, id, type: "function", function: given }] });
    }
    yield chunk({}, "tool_calls");
  }
  const total = promptTokens + OUTPUT_TOKENS;
  const usage = { prompt_tokens: promptTokens, completion_tokens: OUTPUT_TOKENS, total_tokens: total };
  yield { ...head, choices: [], usage };
}
