/** A fan-out of 40 children on a provider that takes calls at a rate, over HTTP and in real time: what is lost, and how long it takes. */

import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { agent } from "../../src/core/agent.ts";
import type { Message } from "../../src/core/message.ts";
import { tool } from "../../src/core/tool.ts";
import { resolveModel } from "../../src/runtime/model/resolve.ts";
import { createRuntime } from "../../src/runtime.ts";
import { RATES, type Rate, RateBucket } from "../support/runtime/model/rate-bucket.ts";

const CHILDREN = 40;
const CALLS = CHILDREN * 3 + 2;
const LATENCY_MS = 200;

export type RateFigure = {
  rate: string;
  atOnce: number;
  failed: number;
  seconds: number;
  /** Of the least possible time. */
  ratio: number;
  refusalsPerAnswer: number;
};

/** Each width at each rate, all at the same time: they share nothing but the processor. */
export function measureRateLimits(widths: readonly number[] = [5, 16, 40]): Promise<RateFigure[]> {
  return Promise.all(RATES.flatMap(([name, rate]) => widths.map((atOnce) => measure(name, rate, atOnce))));
}

export function isReached({ failed, ratio, refusalsPerAnswer }: RateFigure): boolean {
  return failed === 0 && ratio <= 1.15 && refusalsPerAnswer <= 1;
}

async function measure(name: string, rate: Rate, atOnce: number): Promise<RateFigure> {
  const bucket = new RateBucket(rate);
  await using server = await serve(bucket);
  const environment = { OPENAI_API_KEY: "k" };
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const model = await resolveModel("openai-compatible/m", environment, { baseUrl });
  const look = tool({
    name: "look",
    description: "Looks.",
    inputSchema: { type: "object", properties: {} } as const,
    execute: () => "seen",
  });
  const runtime = createRuntime({ limits: { maxConcurrent: CHILDREN }, maxConcurrentCalls: atOnce });
  const startedAt = performance.now();
  const handle = runtime.run(agent({ name: "lead", model, tools: [look], delegate: true }), "Look at all parts.");
  const { agents } = await handle.result;
  const milliseconds = performance.now() - startedAt;
  const least = bucket.leastMs(CALLS) + LATENCY_MS;
  return {
    rate: name,
    atOnce,
    failed: agents.filter(({ status }) => status !== "completed").length + CHILDREN + 1 - agents.length,
    seconds: rounded(milliseconds / 1000),
    ratio: rounded(milliseconds / least),
    refusalsPerAnswer: rounded(bucket.refusals / Math.max(1, bucket.answers)),
  };
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

async function serve(bucket: RateBucket): Promise<AsyncDisposable & { port: number }> {
  const server: Server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request.setEncoding("utf8")) body += piece;
    const taken = bucket.take(performance.now());
    if (taken === "taken") return void setTimeout(() => answer(response, JSON.parse(body)), LATENCY_MS);
    const { afterMs } = taken;
    const headers = afterMs === undefined ? {} : { "retry-after-ms": String(afterMs) };
    response.writeHead(429, headers).end('{"error":{"message":"Slow down"}}');
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

type Chat = { messages: { role: Message["role"]; content: unknown }[] };

/** The lead asks for 40 children, each of which looks twice. */
function answer(response: ServerResponse, { messages }: Chat): void {
  const results = messages.filter(({ role }) => role === "tool").length;
  const isLead = JSON.stringify(messages).includes("Look at all parts.");
  const tasks = Array.from({ length: CHILDREN }, (_, index) => ({ label: `c${index}`, task_prompt: `Part ${index}.` }));
  const call = isLead
    ? { name: "parallel_subagent", input: { tasks, max_concurrent: CHILDREN } }
    : { name: "look", input: {} };
  const isDone = results === (isLead ? 1 : 2);
  const delta = isDone
    ? { content: "Done." }
    : {
        tool_calls: [
          {
            index: 0,
            id: `call_${results}`,
            type: "function",
            function: { name: call.name, arguments: JSON.stringify(call.input) },
          },
        ],
      };
  const chunk = (choice: object) =>
    `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices: [choice] })}\n\n`;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(chunk({ index: 0, delta }));
  response.end(`${chunk({ index: 0, delta: {}, finish_reason: isDone ? "stop" : "tool_calls" })}data: [DONE]\n\n`);
}
