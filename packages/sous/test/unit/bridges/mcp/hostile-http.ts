/** An MCP server over HTTP that does as a function says; counts what it was asked. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Asked = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Message;
};
export type Message = { readonly id?: number; readonly method?: string; readonly params?: Record<string, unknown> };
type Handle = (asked: Asked, response: ServerResponse) => boolean;

export type HttpServer = AsyncDisposable & { readonly url: string; readonly port: number; readonly asked: Asked[] };

/** `handle` returns false for what is answered as usual. */
export async function hostileHttp(handle: Handle = () => false): Promise<HttpServer> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const body = (text === "" ? {} : JSON.parse(text)) as Message;
    const one = { method: request.method ?? "", path: request.url ?? "", headers: request.headers, body };
    asked.push(one);
    if (handle(one, response)) return;
    if (request.method !== "POST") response.writeHead(405).end();
    else if (body.id === undefined) response.writeHead(202).end();
    else json(response, body.id, usual(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function json(response: ServerResponse, id: number | undefined, result: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

export function usual({ method, params }: Message): unknown {
  if (method === "initialize") {
    const serverInfo = { name: "web", version: "1" };
    return { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
  }
  if (method === "tools/list")
    return { tools: [{ name: "echo", description: "Echoes.", inputSchema: { type: "object" } }] };
  return { content: [{ type: "text", text: `ran ${String(params?.name)}` }] };
}
