/** The words about a server on the network that does not speak MCP, or fails. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { mcpTools } from "../../../../src/mcp-client.ts";

const HTML = { "content-type": "text/html" };
const ANSWERS: Readonly<Record<string, [status: number, body: string, headers: Record<string, string>]>> = {
  "/404": [404, "Not found", {}],
  "/405": [405, "", {}],
  "/400": [400, '{"error":"no workspace is chosen"}', {}],
  "/500": [500, "<html>Internal error</html>", HTML],
  "/html": [200, "<html>hello</html>", HTML],
};

const server = createServer((request, response) => {
  const [status, body, headers] = ANSWERS[request.url ?? ""] ?? [404, "", {}];
  // The older SSE begins with a GET, which none of them knows.
  response.writeHead(request.method === "GET" ? 405 : status, headers).end(request.method === "GET" ? "" : body);
});
before(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
after(() => server.close());

for (const [path, sentence] of [
  ["/404", "answered with HTTP status 404: Not found. Check the path of url"],
  ["/405", "answered with HTTP status 405. Check the path of url"],
  ["/400", 'answered with HTTP status 400: {"error":"no workspace is chosen"}'],
  ["/500", "answered with HTTP status 500: <html>Internal error</html>"],
  ["/html", "answered with text/html, which is not MCP. Check url"],
] as const) {
  test(`a server at ${path} ${sentence}`, async () => {
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    await assert.rejects(mcpTools({ web: { url: `http://${host}${path}` } }), {
      message: `The MCP server web could not be reached: ${host} ${sentence}`,
    });
  });
}
