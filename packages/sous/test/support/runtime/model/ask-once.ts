/** One call to a real server that sends the beginning of an answer and resets the connection. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { agent } from "../../../../src/core/agent.ts";
import type { RunOptions, RunResult } from "../../../../src/core/runtime.ts";
import type { ToolList } from "../../../../src/core/tool.ts";
import { type ResolveOptions, resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { run } from "../../../../src/runtime.ts";

type Asked = Pick<RunOptions, "signal" | "budget"> &
  Pick<ResolveOptions, "fetch"> & {
    model?: string;
    tools?: ToolList;
    run?: typeof run;
    /** The server leaves the connection open. */
    isOpen?: boolean;
  };

/** The output cap of the call. */
export const CAP = 2000;

export async function askOnce(sent: string, given: Asked = {}): Promise<RunResult> {
  const {
    model: name = "anthropic/claude-sonnet-4-5",
    tools = {},
    run: begin = run,
    fetch,
    isOpen,
    ...options
  } = given;
  const server = createServer((request, response) => {
    response.on("error", () => {});
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(sent, () => isOpen !== true && response.destroy());
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const keys = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k" };
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const model = await resolveModel(name, keys, { baseUrl, maxRetries: 0, fetch });
    return await begin(agent({ name: "lead", model, tools, maxOutputTokens: CAP }), "Go.", options).result;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

export function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** 1,000 tokens of the arguments of a call, in an event of chat completions that has not ended. */
export const LONG_EVENT = `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"${"x".repeat(3000)}`;
