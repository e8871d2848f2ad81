/**
 * Stands between codex and the fake provider. codex lists the tools of a server as one entry of the type `namespace`, which the
 * fake provider does not read: here they become plain functions, and calls of them get their namespace back.
 */

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

type Listed = { type: string; name?: string; tools?: Listed[] };

export type CodexProvider = AsyncDisposable & { readonly url: string };

export async function startCodexProvider(mockUrl: string): Promise<CodexProvider> {
  const server = createServer(async (request, response) => {
    const { body, namespaces } = flattened(await textOf(request));
    const { authorization = "" } = request.headers;
    const headers = { "content-type": "application/json", authorization };
    const answer = await fetch(`${mockUrl}${request.url}`, { method: "POST", headers, body });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/event-stream" });
    response.end(named(await answer.text(), namespaces));
  }).listen(0, "127.0.0.1");
  await new Promise((listens) => server.once("listening", listens));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => new Promise((closed) => server.close(() => closed())),
  };
}

function flattened(text: string): { body: string; namespaces: readonly string[] } {
  const request = JSON.parse(text) as { tools?: Listed[] };
  const { tools = [] } = request;
  const namespaces = tools.flatMap(({ type, name }) => (type === "namespace" && name !== undefined ? [name] : []));
  const flat = tools.flatMap((each) =>
    each.type === "namespace"
      ? (each.tools ?? []).map((tool) => ({ ...tool, name: `${each.name}__${tool.name}` }))
      : [each],
  );
  return { body: JSON.stringify({ ...request, tools: flat }), namespaces };
}

function named(answer: string, namespaces: readonly string[]): string {
  return namespaces.reduce(
    (text, namespace) => text.replaceAll(`"name":"${namespace}__`, `"namespace":"${namespace}","name":"`),
    answer,
  );
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}
