/** An address that nobody should ask. */

import { createServer } from "node:http";

/** A server that counts who comes, and answers nobody. */
export async function canaryServer() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization ?? request.headers["x-api-key"] ?? ""}`);
    response.writeHead(400, { "content-type": "application/json" }).end('{"error":{"message":"no"}}');
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const found = server.address();
  const url = `http://127.0.0.1:${typeof found === "object" ? found?.port : 0}/v1`;
  return { asked, url, [Symbol.asyncDispose]: () => new Promise<void>((done) => void server.close(() => done())) };
}
