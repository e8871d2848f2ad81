/** Agents as tools of the Model Context Protocol, for one client. What a call does is behind `ServedAgents`. */

import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { codeOf, UserError } from "../core/errors.ts";
import { type CallsOptions, ServedCalls } from "./serve-calls.ts";
import { LineTransport, type LineTransportOptions } from "./serve-lines.ts";

export type McpServeOptions = CallsOptions & Omit<LineTransportOptions, "isMessage">;

/** Resolves when the client is gone or `signal` aborts, and every call has ended. */
export async function serveMcp(options: McpServeOptions): Promise<void> {
  const sdk = await import("@modelcontextprotocol/server").catch((error: unknown) => {
    throw codeOf(error) === "ERR_MODULE_NOT_FOUND" ? new UserError(NO_SDK) : error;
  });
  const ending = new AbortController();
  const signal = AbortSignal.any([options.signal, ending.signal]);
  const calls = new ServedCalls({ ...options, signal }, sdk.ProtocolError);
  const server = new sdk.Server(
    { name: "sous", title: "sous", version: options.agents.version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler("tools/list", () => ({ tools: calls.list() }));
  server.setRequestHandler("tools/call", ({ params }, context) => calls.call(params, context));
  const closed = Promise.withResolvers<void>();
  server.onclose = () => closed.resolve();
  const isMessage = (value: unknown): value is JSONRPCMessage =>
    sdk.isJSONRPCRequest(value) ||
    sdk.isJSONRPCNotification(value) ||
    sdk.isJSONRPCResultResponse(value) ||
    sdk.isJSONRPCErrorResponse(value);
  const stop = (): void => void server.close();
  options.signal.addEventListener("abort", stop, { once: true });
  await server.connect(new LineTransport({ ...options, isMessage }));
  if (options.signal.aborted) stop();
  await closed.promise;
  options.signal.removeEventListener("abort", stop);
  ending.abort();
  await calls.settled();
}

const NO_SDK =
  "sous mcp serve needs the package @modelcontextprotocol/server: install it beside sous, npm install @modelcontextprotocol/server";

const INSTRUCTIONS =
  "Each tool is an agent that works by itself in the folder of this server, with tools of its own, and answers with a report. A report is what the agent claims: check what matters. A call can take minutes.";
