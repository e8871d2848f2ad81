/** Two servers for the attacks on `fetch`: one that may be asked, and a canary that must never hear of it. */

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { fetchTool } from "../../../src/app/tools/fetch.ts";
import type { Network } from "../../../src/app/tools/fetch-page.ts";
import type { ToolResult } from "../../../src/core/tool.ts";
import { isPublicAddress } from "../../../src/machine/address.ts";
import { contextIn } from "../app/tools/temporary-tree.ts";

/** Every address of 127/8 is this machine: the page has one that is exempt, the canary listens on the others. */
export const PAGE_ADDRESS = "127.0.0.2";

export type PageServer = AsyncDisposable & { port: number; url: string };

export async function pageServer(answer: RequestListener): Promise<PageServer> {
  const server = createServer(answer);
  server.listen(0, PAGE_ADDRESS);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://page.example.com:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type Canary = AsyncDisposable & { port: number; connections(): number };

export async function canaryServer(): Promise<Canary> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.end("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 6\r\n\r\nsecret");
  });
  server.listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Names lead to the page unless a test says otherwise; any port is fine, so that only the address decides. */
export function testNetwork(network: Partial<Network> = {}): Partial<Network> {
  return {
    resolve: async () => [PAGE_ADDRESS],
    mayConnect: (address) => address === PAGE_ADDRESS || isPublicAddress(address),
    ...network,
  };
}

export type Asked = { url: string; format?: "markdown" | "text" | "raw" };

export async function fetchWith(
  network: Partial<Network>,
  input: Asked,
  options: { timeoutMs?: number; allowHosts?: string[]; signal?: AbortSignal } = {},
): Promise<ToolResult> {
  const { signal, ...rest } = options;
  const tool = fetchTool({ network, ...rest });
  return (await tool.execute(input, contextIn("/", signal))) as ToolResult;
}
