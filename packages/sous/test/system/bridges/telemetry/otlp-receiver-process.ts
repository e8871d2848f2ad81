/** A collector in a process of its own: answers as it is told, and says on stdout what it was sent, one line a request. */

import { createServer } from "node:http";
import { flushCompileCache } from "node:module";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

/** A status, or `hang`: takes everything and never answers. */
const answer = process.argv[2] ?? "200";
const tell = (fact: object): void => void process.stdout.write(`${JSON.stringify(fact)}\n`);

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const sent = Buffer.concat(chunks);
  const { headers, url } = request;
  const body = headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
  tell({ path: url, headers, body: body.toString("base64") });
  if (answer === "hang") return;
  response.writeHead(Number(answer), { "content-type": headers["content-type"] ?? "" });
  response.end(headers["content-type"] === "application/json" ? "{}" : "");
});
server.listen(0, "127.0.0.1", () => {
  tell({ port: (server.address() as AddressInfo).port });
  // Otherwise only a process that ends by itself leaves what it has compiled to the next ones, and this one is killed.
  flushCompileCache();
});
