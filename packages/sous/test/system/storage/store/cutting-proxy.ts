/** Stands between a client and a Postgres server, and cuts the connection at a moment that a test chooses. */

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** Where the next commit, or what else a test names, is cut off: before the server hears of it, while it works on it, or before its answer arrives. */
export type Cut = "before-commit" | "during-commit" | "after-commit";

export type CuttingProxy = AsyncDisposable & {
  readonly port: number;
  /** Cuts this many commits, or messages with this text, then lets everything pass. */
  cut(where: Cut, times?: number, text?: string): void;
  /** How many were cut. */
  readonly cuts: number;
};

export async function openCuttingProxy(serverSocket: string): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let where: Cut = "before-commit";
  let left = 0;
  let cuts = 0;
  let marker = COMMIT;

  const proxy = createServer((client) => {
    const server = connect(serverSocket);
    let isAnswerAwaited = false;
    const cut = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on("error", cut);
      socket.on("close", () => {
        open.delete(socket);
        cut();
      });
    }
    client.on("data", (chunk) => {
      if (left === 0 || !chunk.includes(marker)) {
        server.write(chunk);
        return;
      }
      left -= 1;
      cuts += 1;
      if (where === "before-commit") cut();
      else if (where === "during-commit") server.write(chunk, cut);
      else {
        isAnswerAwaited = true;
        server.write(chunk);
      }
    });
    server.on("data", (chunk) => {
      if (isAnswerAwaited) cut();
      else client.write(chunk);
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("The proxy has no port");
  return {
    port: address.port,
    cut(atThis, times = 1, text) {
      where = atThis;
      marker = text === undefined ? COMMIT : Buffer.from(text);
      left = times;
    },
    get cuts() {
      return cuts;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      proxy.close();
      await once(proxy, "close");
    },
  };
}

/** A simple query of the protocol: its letter, its length, its text, a zero. */
const COMMIT = Buffer.from("Q\0\0\0\u000bcommit\0", "latin1");
