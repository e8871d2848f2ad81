/** sous as an agent of the Agent Client Protocol, for one client. What a session does is behind `ServedAgent`. */

import { agent, type InitializeResponse, methods, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import type { Clock } from "../core/clock.ts";
import { type LineStreamOptions, lineStream } from "./serve-lines.ts";
import { ServedSessions } from "./serve-sessions.ts";
import type { ServedAgent } from "./served-agent.ts";

export type ServeOptions = LineStreamOptions & {
  readonly agent: ServedAgent;
  readonly clock: Clock;
  /** Ends the service. */
  readonly signal: AbortSignal;
};

/** Resolves when the client is gone or `signal` aborts, and every session is closed. */
export async function serveAcp(options: ServeOptions): Promise<void> {
  const sessions = new ServedSessions(options);
  const app = agent({ name: "sous" })
    .onRequest(methods.agent.initialize, ({ params }) => {
      sessions.takesNotices = (params.clientCapabilities?.session?.notices ?? undefined) !== undefined;
      return initialized(options.agent.version);
    })
    .onRequest(methods.agent.session.new, ({ params, client }) => sessions.create(params, client))
    .onRequest(methods.agent.session.load, ({ params, client }) => sessions.continue(params, client, true))
    .onRequest(methods.agent.session.resume, ({ params, client }) => sessions.continue(params, client, false))
    .onRequest(methods.agent.session.list, ({ params }) => sessions.list(params))
    .onRequest(methods.agent.session.close, ({ params }) => sessions.close(params.sessionId))
    .onRequest(methods.agent.session.setMode, ({ params }) => sessions.setMode(params))
    .onRequest(methods.agent.session.setConfigOption, ({ params }) => sessions.setOption(params))
    .onRequest(methods.agent.session.prompt, ({ params, signal }) => sessions.prompt(params, signal))
    // Behind the prompt: a cancel that comes right after it must find it.
    .onNotification(methods.agent.session.cancel, ({ params }) => sessions.cancel(params.sessionId));
  const connection = app.connect(lineStream(options));
  const stop = (): void => connection.close();
  options.signal.addEventListener("abort", stop, { once: true });
  if (options.signal.aborted) stop();
  await connection.closed;
  options.signal.removeEventListener("abort", stop);
  await sessions.closeAll();
}

function initialized(version: string): InitializeResponse {
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: "sous", title: "sous", version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: false, audio: false, embeddedContext: true },
      mcpCapabilities: { http: true, sse: true },
      sessionCapabilities: { list: {}, resume: {}, close: {} },
    },
    authMethods: [],
  };
}
