/** The transports to a server for one attempt, in the order they are tried. */

import type { ReconnectionScheduler, Transport } from "@modelcontextprotocol/client";
import type { Clock } from "../../core/clock.ts";
import type { McpServer } from "../../core/configuration.ts";
import { ignore, ToolFailure } from "../../core/errors.ts";
import { hostOf } from "../../core/web-address.ts";
import type { McpGround } from "./ground.ts";
import { GuardedTransport } from "./guarded-transport.ts";
import { fetchFor, type HttpRules } from "./http-fetch.ts";
import { StdioTransport } from "./stdio-transport.ts";

/** A transport that is not started yet. */
export type Way = {
  readonly transport: GuardedTransport;
  /** Set for a program. */
  readonly program?: StdioTransport | undefined;
  /** Tells a server that keeps a session that it is over; for HTTP only. */
  readonly endSession?: (() => Promise<void>) | undefined;
};

export function waysTo(server: McpServer, ground: McpGround, sdk: ClientSdk): readonly (() => Way)[] {
  switch (server.transport.type) {
    case "stdio":
      return [() => programWay(server, ground)];
    case "http":
      return [() => httpWay(server, ground, sdk), () => sseWay(server, ground, sdk)];
    case "sse":
      return [() => sseWay(server, ground, sdk)];
    default:
      return server.transport satisfies never;
  }
}

function programWay({ transport }: McpServer, { programs, cwd, environment }: McpGround): Way {
  if (transport.type !== "stdio") throw new Error("Unreachable: a program is reached by stdio");
  const program = new StdioTransport(programs, {
    program: transport.command,
    args: transport.args,
    cwd: transport.cwd ?? cwd,
    environment: { ...transport.env, ...environment },
  });
  const guarded = new GuardedTransport(program);
  program.onLongMessage = () => guarded.failOpen("it sent a message of more than 10 MB, which was not read");
  return { transport: guarded, program };
}

function httpWay(server: McpServer, ground: McpGround, sdk: ClientSdk): Way {
  const streamed = new Set<unknown>();
  const { url, fetch } = webAccess(server, ground, { onStreamEnd: ignore, onAnswerStream: (id) => streamed.add(id) });
  const inner = new sdk.StreamableHTTPClientTransport(url, {
    fetch,
    redirectPolicy: "follow",
    onInsufficientScope: "throw",
    reconnectionScheduler: reconnections(ground.clock),
  });
  const transport = new GuardedTransport(inner as Transport, (id) => streamed.delete(id));
  return { transport, endSession: () => inner.terminateSession() };
}

const MAX_RECONNECTIONS = 1000;
const MIN_DELAY_MS = 100;

/** The server says when: not at once without end, and an idle stream does not keep us alive. */
function reconnections(clock: Clock): ReconnectionScheduler {
  let count = 0;
  return (reconnect, delayMs) => {
    count += 1;
    if (count > MAX_RECONNECTIONS) return undefined;
    const timer = clock.timer(Math.max(delayMs, MIN_DELAY_MS), reconnect, true);
    return () => timer[Symbol.dispose]();
  };
}

function sseWay(server: McpServer, ground: McpGround, sdk: ClientSdk): Way {
  // All answers come in one stream: without it the connection is over.
  const { url, fetch } = webAccess(server, ground, { onStreamEnd: () => void inner.close() });
  const inner = new sdk.SSEClientTransport(url, { fetch, redirectPolicy: "follow" });
  return { transport: new GuardedTransport(inner as Transport) };
}

function webAccess(
  { transport, scope }: McpServer,
  { mayReach }: McpGround,
  streams: Pick<HttpRules, "onStreamEnd" | "onAnswerStream">,
) {
  if (transport.type === "stdio") throw new Error("Unreachable: a program has no address");
  const url = URL.parse(transport.url);
  if (url === null) throw new ToolFailure("its url is not an address");
  const isOwn = scope === "user";
  const mayBeLocal = isOwn || mayReach?.(hostOf(url)) === true;
  const { headers } = transport;
  return { url, fetch: fetchFor({ url, headers, mayBeLocal, isOwn, ...streams }) };
}

/** The SDK of the protocol. */
export type ClientSdk = Awaited<ReturnType<typeof loadClientSdk>>;

/** Loads the SDK, with the first server. The package contains the parts that are named here, and no others. */
export async function loadClientSdk() {
  const { Client, SSEClientTransport, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  return { Client, SSEClientTransport, StreamableHTTPClientTransport };
}
