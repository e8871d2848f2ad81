/** sous as an agent of the Agent Client Protocol, for one client. What a session does is behind `ServedAgent`. */

import { addAbortListener } from "node:events";
import {
  type AnyMessage,
  agent,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
  type Stream,
} from "@agentclientprotocol/sdk";
import type { Clock } from "../../core/clock.ts";
import { readJsonLines } from "../../core/json-lines.ts";
import { ServedSessions } from "./serve-sessions.ts";
import type { ServedAgent } from "./served-agent.ts";

export type ServeOptions = {
  readonly input: AsyncIterable<Uint8Array>;
  /** Writes one line with its end; resolves when the reader can take more. */
  readonly write: (line: string) => Promise<void>;
  /** Max bytes of one message. */
  readonly maxLineBytes: number;
  /** One sentence for the log. */
  readonly warn: (sentence: string) => void;
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
    // The handler of cancel stands behind that of the prompt: a cancel that comes right after a prompt must find it.
    .onNotification(methods.agent.session.cancel, ({ params }) => sessions.cancel(params.sessionId));
  const connection = app.connect(lineStream(options));
  using _stop = addAbortListener(options.signal, () => connection.close());
  await connection.closed;
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

/**
 * Messages as lines; the readable side ends when the input does. The SDK has such a stream too, but it answers a line that is
 * not JSON, and one that is too long ends the connection.
 */
function lineStream(options: ServeOptions): Stream {
  return {
    readable: ReadableStream.from(messagesOf(options)) as ReadableStream<AnyMessage>,
    writable: new WritableStream({ write: (message) => options.write(`${JSON.stringify(message)}\n`) }),
  };
}

async function* messagesOf({ input, write, maxLineBytes, warn }: ServeOptions): AsyncGenerator<unknown> {
  for await (const line of readJsonLines(input, maxLineBytes)) {
    if ("value" in line) {
      yield line.value;
    } else if (line.problem === "not JSON") {
      warn("A line of standard input that is not JSON was skipped");
    } else {
      const message = `A message of more than ${maxLineBytes} bytes was skipped; send less at once`;
      warn(message);
      // The id is not known, but the sender must not wait in silence.
      await write(`${JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32600, message } })}\n`);
    }
  }
}
