/** Agents as tools of the Model Context Protocol, for one client. What a call does is behind `ServedAgents`. */

import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  Server,
} from "@modelcontextprotocol/server";
import { type CallsOptions, ServedCalls } from "./serve-calls.ts";
import { LineTransport, type LineTransportOptions } from "./serve-lines.ts";

export type McpServeOptions = CallsOptions & Omit<LineTransportOptions, "isMessage">;

/** Resolves when the client is gone or `signal` aborts, and every call has ended. */
export async function serveMcp(options: McpServeOptions): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([options.signal, ending.signal]);
  const calls = new ServedCalls({ ...options, signal });
  const server = new Server(
    { name: "sous", title: "sous", version: options.agents.version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler("tools/list", () => ({ tools: calls.list() }));
  server.setRequestHandler("tools/call", ({ params }, context) => calls.call(params, context));
  const closed = Promise.withResolvers<void>();
  server.onclose = () => closed.resolve();
  const isMessage = (value: unknown): value is JSONRPCMessage =>
    isJSONRPCRequest(value) ||
    isJSONRPCNotification(value) ||
    isJSONRPCResultResponse(value) ||
    isJSONRPCErrorResponse(value);
  const stop = (): void => void server.close();
  options.signal.addEventListener("abort", stop, { once: true });
  await server.connect(new LineTransport({ ...options, isMessage }));
  if (options.signal.aborted) stop();
  await closed.promise;
  options.signal.removeEventListener("abort", stop);
  ending.abort();
  await calls.settled();
}

const INSTRUCTIONS =
  "Each tool is an agent that works by itself in the folder of this server, with tools of its own, and answers with a report. A report is what the agent claims: check what matters. A call can take minutes.";
