/** One started agent: its process, the handshake, and which of its sessions a message is for. */

import { addAbortListener } from "node:events";
import type { Clock } from "../../core/clock.ts";
import { ignore, ModelError, messageOf, UserError } from "../../core/errors.ts";
import type { Programs } from "../../core/process.ts";
import { readTraceContext, type TraceContext } from "../../core/trace-context.ts";
import type { Server } from "./client-types.ts";
import { AgentConnection, AgentError, INVALID_PARAMS, METHOD_NOT_FOUND, Refusal } from "./connection.ts";
import { type AgentInfo, initializeResult, notification, sessionOf } from "./schema.ts";

/** The times to wait, in milliseconds. */
export type AcpDeadlines = {
  /** The time limit of the start of the process, and then of its answer to the handshake. */
  readonly startMs: number;
  /** The time limit of the answer to every request but a prompt. */
  readonly requestMs: number;
  /** The time limit without any message while a prompt is worked on. */
  readonly silenceMs: number;
  /** The time limit of the end of a prompt that was cancelled. */
  readonly graceMs: number;
};

export const DEFAULT_DEADLINES: AcpDeadlines = {
  startMs: 30_000,
  requestMs: 60_000,
  silenceMs: 600_000,
  graceMs: 5000,
};

/** The session's side of the messages of its agent. */
export type SessionHandler = {
  request(method: string, params: unknown): Promise<unknown>;
  update(kind: string, update: unknown): void;
};

/** The requests of ours that an agent may make: the tools of a run that are lent to it. */
export type Lent = { readonly read: boolean; readonly write: boolean; readonly terminal: boolean };

export type AgentStart = {
  readonly server: Server;
  readonly programs: Programs;
  readonly clock: Clock;
  readonly deadlines: AcpDeadlines;
  /** The folder in which the program is started, unless its server names one. */
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly lent: Lent;
};

const PROTOCOL_VERSION = 1;
const MAX_LINE_BYTES = 32 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

export class StartedAgent {
  readonly server: Server;
  readonly connection: AgentConnection;
  readonly deadlines: AcpDeadlines;
  readonly clock: Clock;
  readonly info: AgentInfo;
  readonly handshakeMs: number;
  /** The trace of its variables, for requests about work: the protocol keeps these names free for it. */
  readonly meta: { readonly _meta?: TraceContext };
  readonly #sessions = new Map<string, SessionHandler>();

  constructor(start: AgentStart, connection: AgentConnection, info: AgentInfo, handshakeMs: number) {
    this.server = start.server;
    this.deadlines = start.deadlines;
    this.clock = start.clock;
    this.connection = connection;
    this.info = info;
    this.handshakeMs = handshakeMs;
    const trace = readTraceContext(start.environment);
    this.meta = trace === undefined ? {} : { _meta: trace };
    connection.setHandler({
      request: (method, params) => this.#request(method, params),
      notification: (method, params) => this.#notification(method, params),
    });
  }

  /** The agent's own name; the server's when it gives none. */
  get name(): string {
    return this.info.agentInfo?.name ?? this.server.name;
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** Two sessions with one id could answer each other's questions. */
  add(sessionId: string, handler: SessionHandler): void {
    if (this.#sessions.has(sessionId)) {
      throw new ModelError("unknown", `The agent server ${this.server.name} gave the same id to two sessions`);
    }
    this.#sessions.set(sessionId, handler);
  }

  remove(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  /** Rejects with a `ModelError` in words; `AgentError` is for those who want the code. */
  async request(method: string, params: unknown): Promise<unknown> {
    return await this.connection.request(method, params, this.deadlines.requestMs).catch((error: unknown) => {
      throw error instanceof AgentError ? refusedBy(this.server.name, method, error) : error;
    });
  }

  async close(): Promise<void> {
    await this.connection.close();
  }

  async #request(method: string, params: unknown): Promise<unknown> {
    const { data } = sessionOf.safeParse(params);
    const handler = data === undefined ? undefined : this.#sessions.get(data.sessionId);
    // A question about a session that is not ours is not ours to answer.
    if (handler === undefined && method === "session/request_permission") return { outcome: { outcome: "cancelled" } };
    if (handler === undefined) {
      throw method.startsWith("fs/") || method.startsWith("terminal/")
        ? new Refusal(INVALID_PARAMS, "There is no session with this id")
        : new Refusal(METHOD_NOT_FOUND, "Method not found");
    }
    return await handler.request(method, params);
  }

  #notification(method: string, params: unknown): void {
    if (method !== "session/update") return;
    const { data } = notification.safeParse(params);
    if (data !== undefined) this.#sessions.get(data.sessionId)?.update(data.update.sessionUpdate, data.update);
  }
}

/** Starts the program and shakes hands. Nothing stays when that fails, or when the signal aborts before. */
export async function startAgent(start: AgentStart, signal?: AbortSignal): Promise<StartedAgent> {
  const { server, clock, deadlines } = start;
  signal?.throwIfAborted();
  const begun = clock.monotonic();
  const connection = new AgentConnection({ serverName: server.name, program: await startProgram(start), clock });
  using _stop = signal && addAbortListener(signal, () => void connection.close());
  try {
    signal?.throwIfAborted();
    const answer = await connection.request("initialize", greeting(start.lent), deadlines.startMs);
    const { data } = initializeResult.safeParse(answer);
    if (data === undefined) throw new ModelError("unknown", `The agent server ${server.name} gave no valid handshake`);
    if (data.protocolVersion !== PROTOCOL_VERSION) {
      const words = `speaks version ${data.protocolVersion} of the protocol, not ${PROTOCOL_VERSION}: update one of the two`;
      throw new ModelError("unknown", `The agent server ${server.name} ${words}`);
    }
    return new StartedAgent(start, connection, data, clock.monotonic() - begun);
  } catch (error) {
    await connection.close();
    throw error instanceof AgentError ? refusedBy(server.name, "initialize", error) : error;
  }
}

async function startProgram({ server, programs, clock, deadlines, cwd, environment }: AgentStart) {
  const stop = new AbortController();
  const starting = programs.talk({
    program: server.command,
    args: server.args,
    cwd: server.cwd ?? cwd,
    environment: { ...server.env, ...environment },
    signal: stop.signal,
    maxLineBytes: MAX_LINE_BYTES,
    maxErrorBytes: MAX_ERROR_BYTES,
  });
  const late = Promise.withResolvers<never>();
  using _ = clock.timer(deadlines.startMs, () => {
    const error = new Error(`it did not start within ${deadlines.startMs / 1000} seconds`);
    stop.abort(error);
    late.reject(error);
  });
  try {
    return await Promise.race([starting, late.promise]);
  } catch (error) {
    starting.then((program) => program.close()).catch(ignore);
    throw new UserError(
      `The agent server ${server.name} cannot be started: ${messageOf(error).replace(/\.$/, "")}. Check agent_servers in the configuration`,
    );
  }
}

function greeting(lent: Lent): object {
  return {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "sous", version: "1" },
    clientCapabilities: { fs: { readTextFile: lent.read, writeTextFile: lent.write }, terminal: lent.terminal },
  };
}

/** ACP's code for "sign in first". */
const AUTH_REQUIRED = -32000;

export function refusedBy(serverName: string, method: string, error: AgentError): ModelError {
  const isAuth = error.code === AUTH_REQUIRED || /\bauth/i.test(error.message);
  const advice = isAuth ? ". Sign in with its own program first" : "";
  const words = `The agent server ${serverName} refused ${method}: ${error.message}${advice}`;
  return new ModelError(isAuth ? "auth" : "unknown", words, { cause: error });
}

export function unknownShape({ server }: StartedAgent, method: string): ModelError {
  return new ModelError("unknown", `The agent server ${server.name} answered ${method} in a shape that is not known`);
}
