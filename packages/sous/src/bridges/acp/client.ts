/** The client of the Agent Client Protocol: several agent servers, started on demand, for code and for the runtime. */

import { messageOf, UserError } from "../../core/errors.ts";
import {
  type ExternalAgent,
  type ExternalAgents,
  externalName,
  ServerBook,
  SessionLost,
} from "../../core/external-agent.ts";
import { DEFAULT_DEADLINES, type StartedAgent, startAgent } from "./agent.ts";
import {
  type AcpAgent,
  type AcpChatOptions,
  type AcpClientOptions,
  type AcpPromptOptions,
  type AcpServerHealth,
  type AcpSessionInfo,
  checkedServers,
  describeAgent,
  describeSession,
  type Server,
} from "./client-types.ts";
import { type AgentGround, checkAgentId, openExternal } from "./external.ts";
import {
  type AcpPermissionPolicy,
  type AcpPiece,
  type AcpResult,
  iteratePieces,
  LibrarySession,
} from "./library-session.ts";
import { listResult } from "./schema.ts";

/** Max pages of `session/list`: an agent that always names a next page is asked for no more. */
const MAX_PAGES = 20;

/**
 * The agents of some servers: for a runtime (`models.external`, `client` of `registerSubagentTools`), and sessions of its own for
 * code without one. Servers are started on demand.
 */
export class AcpClient implements ExternalAgents, AsyncDisposable {
  readonly #book: ServerBook<Server>;
  readonly #ground: AgentGround;
  readonly #external: ExternalAgents;
  readonly #cwd: string;
  readonly #onDispose: () => Promise<void>;
  readonly #agents = new Map<string, Promise<StartedAgent>>();
  readonly #failures = new Map<string, string>();
  readonly #sessions = new Map<string, LibrarySession>();
  /** Aborts when the client is closed: a server that is starting then is not waited for. */
  readonly #stop = new AbortController();
  #policy: AcpPermissionPolicy;
  #disposed: Promise<void> | undefined;

  /** Use `createAcpClient`. */
  constructor(options: AcpClientOptions, ground: Omit<AgentGround, "deadlines">, onDispose: () => Promise<void>) {
    this.#book = new ServerBook(checkedServers(options.servers), options.defaultServer);
    this.#ground = { ...ground, deadlines: { ...DEFAULT_DEADLINES, ...options.deadlines } };
    this.#external = this.#book.agents((chosen, request, host) =>
      openExternal({ ...chosen, ground: this.#ground }, request, host),
    );
    this.#cwd = options.cwd;
    this.#policy = options.permissions ?? "deny";
    this.#onDispose = onDispose;
  }

  get serverNames(): readonly string[] {
    return this.#book.names;
  }

  get serverCount(): number {
    return this.#book.names.length;
  }

  get defaultServerName(): string | undefined {
    return this.#book.defaultName;
  }

  /** The id that stands for the agent of the default server. */
  get defaultAgent(): string | undefined {
    const name = this.#book.defaultName;
    return name === undefined ? undefined : externalName(name);
  }

  /** Returns an agent for the runtime. Starts nothing; every session that it opens has a process of its own. */
  externalAgent(serverName?: string, agentId?: string): ExternalAgent {
    return this.#external.externalAgent(serverName, agentId);
  }

  /** Starts the servers, or those named. Without names it fails only when none can be started: `getServerHealth` says why. */
  async initialize(serverNames?: readonly string[]): Promise<void> {
    const servers = (serverNames ?? this.#book.names).map((name) => this.#book.find(name));
    const started = await Promise.allSettled(servers.map((server) => this.#start(server)));
    const failed = started.filter((each) => each.status === "rejected");
    const [first] = failed;
    if (first !== undefined && (serverNames !== undefined || failed.length === started.length)) throw first.reason;
  }

  /** Ends all sessions and processes of this client, and waits for that. */
  dispose(): Promise<void> {
    this.#disposed ??= this.#close();
    return this.#disposed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** The agents of all servers that can be started. */
  async listAgents(): Promise<AcpAgent[]> {
    const started = await Promise.allSettled(this.#book.names.map((name) => this.#start(this.#book.find(name))));
    return started.flatMap((each) => (each.status === "fulfilled" ? [describeAgent(each.value)] : []));
  }

  /** Finds an agent by the name of its server or its own; undefined when no server has it. */
  async getAgent(agentId: string): Promise<AcpAgent | undefined> {
    const server = this.#book.named(agentId);
    if (server !== undefined) return describeAgent(await this.#start(server));
    return (await this.listAgents()).find(({ id }) => id === agentId);
  }

  /** One prompt in a session of its own. */
  async generate(prompt: string, options: AcpPromptOptions = {}): Promise<AcpResult> {
    return await this.#promptOnce(prompt, options, () => {}, options.signal);
  }

  /** The same, piece by piece. To stop reading cancels it. */
  generateStream(prompt: string, options: AcpPromptOptions = {}): AsyncGenerator<AcpPiece, void> {
    return iteratePieces((onPiece, signal) => this.#promptOnce(prompt, options, onPiece, signal), options.signal);
  }

  /** One message in a conversation: in a new session, or in that of an earlier result. */
  async chat(message: string, { sessionId, signal, ...options }: AcpChatOptions = {}): Promise<AcpResult> {
    const session = sessionId === undefined ? await this.#open(options) : await this.#continued(sessionId, options);
    return await session.prompt(message, () => {}, signal);
  }

  /** Starts the server to find out. */
  async isAvailable(serverName?: string): Promise<boolean> {
    const server = this.#book.find(serverName);
    return await this.#start(server).then(
      () => true,
      () => false,
    );
  }

  /** The state of a server; starts nothing. */
  async getServerHealth(serverName?: string): Promise<AcpServerHealth> {
    const { name } = this.#book.find(serverName);
    const agent = await this.#agents.get(name)?.catch(() => undefined);
    const death = agent?.connection.death;
    const isRunning = agent !== undefined && death === undefined;
    const error = isRunning ? undefined : (death?.message ?? this.#failures.get(name));
    return {
      serverName: name,
      status: isRunning ? "running" : error === undefined ? "stopped" : "failed",
      error,
      pid: isRunning ? agent.connection.pid : undefined,
      handshakeMs: agent?.handshakeMs,
      openSessions: isRunning ? agent.sessionCount : 0,
      droppedLines: agent?.connection.droppedLines ?? 0,
      agent: agent === undefined ? undefined : describeAgent(agent),
    };
  }

  /** The sessions that the agent lists; when it cannot, those that are open here. */
  async listSessions(serverName?: string): Promise<AcpSessionInfo[]> {
    const agent = await this.#start(this.#book.find(serverName));
    const isOpen = (sessionId: string) => this.#sessions.get(sessionId)?.agent.server.name === agent.server.name;
    if (!describeAgent(agent).canListSessions) {
      return [...this.#sessions.values()].filter(({ id }) => isOpen(id)).map(describeSession);
    }
    const found: AcpSessionInfo[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const { data } = listResult.safeParse(
        await agent.request("session/list", cursor === undefined ? {} : { cursor }),
      );
      for (const each of data?.sessions ?? []) {
        const { sessionId, cwd, title, updatedAt } = each;
        found.push({ sessionId, serverName: agent.server.name, cwd, title, updatedAt, isOpen: isOpen(sessionId) });
      }
      cursor = data?.nextCursor;
      if (cursor === undefined) break;
    }
    return found;
  }

  /** Opens a session without prompting it. */
  async newSession(options: Omit<AcpPromptOptions, "signal"> = {}): Promise<AcpSessionInfo> {
    return describeSession(await this.#open(options));
  }

  /** Opens an earlier session again, in the folder that is named. */
  async loadSession(sessionId: string, options: Omit<AcpPromptOptions, "signal"> = {}): Promise<AcpSessionInfo> {
    return describeSession(await this.#continued(sessionId, options));
  }

  /** Ends it here and has the agent delete it. */
  async deleteSession(sessionId: string, serverName?: string): Promise<void> {
    const open = this.#sessions.get(sessionId);
    const agent = open?.agent ?? (await this.#start(this.#book.find(serverName)));
    if (!describeAgent(agent).canDeleteSessions) {
      throw new UserError(`The agent server ${agent.server.name} cannot delete sessions`);
    }
    this.#sessions.delete(sessionId);
    await open?.close();
    await agent.request("session/delete", { sessionId });
  }

  async setSessionMode(sessionId: string, mode: string): Promise<void> {
    await this.#opened(sessionId).setMode(mode);
  }

  async setSessionModel(sessionId: string, model: string): Promise<void> {
    await this.#opened(sessionId).setModel(model);
  }

  /** Answers the questions of all sessions of this client by this policy, also of those that are open. */
  setPermissionPolicy(policy: AcpPermissionPolicy): void {
    this.#policy = policy;
  }

  embed(): never {
    throw new UserError("The Agent Client Protocol has no embeddings: use a model of a provider that offers them");
  }

  async #promptOnce(
    prompt: string,
    options: AcpPromptOptions,
    onPiece: (piece: AcpPiece) => void,
    signal: AbortSignal | undefined,
  ): Promise<AcpResult> {
    const session = await this.#open(options);
    try {
      return await session.prompt(prompt, onPiece, signal);
    } finally {
      this.#sessions.delete(session.id);
      await session.close();
    }
  }

  #opened(sessionId: string): LibrarySession {
    const session = this.#sessions.get(sessionId);
    if (session !== undefined) return session;
    throw new UserError(`No session ${JSON.stringify(sessionId)} is open: open it with loadSession`);
  }

  async #continued(sessionId: string, options: AcpPromptOptions): Promise<LibrarySession> {
    const open = this.#sessions.get(sessionId);
    if (open !== undefined && open.agent.connection.death === undefined) return open;
    this.#sessions.delete(sessionId);
    return await this.#open(options, sessionId).catch((error: unknown) => {
      throw error instanceof SessionLost ? new UserError(error.message) : error;
    });
  }

  async #open({ serverName, agentId, cwd }: AcpPromptOptions, sessionId?: string): Promise<LibrarySession> {
    const agent = await this.#start(this.#book.chosen(serverName, agentId));
    checkAgentId(agent, agentId);
    const policy = () => this.#policy;
    const session = await LibrarySession.open({ agent, cwd: cwd ?? this.#cwd, sessionId, policy });
    this.#sessions.set(session.id, session);
    return session;
  }

  /** The one process of a server; started again when it has ended. */
  async #start(server: Server): Promise<StartedAgent> {
    if (this.#disposed !== undefined) throw new UserError("This client of agent servers is closed");
    const running = this.#agents.get(server.name);
    const agent = await running?.catch(() => undefined);
    if (agent !== undefined && agent.connection.death === undefined) return agent;
    // Another call may have started it meanwhile.
    const now = this.#agents.get(server.name);
    if (now !== undefined && now !== running) return await now;
    const lent = { read: false, write: false, terminal: false };
    const start = { ...this.#ground, server, cwd: this.#cwd, environment: {}, lent };
    const starting = startAgent(start, this.#stop.signal);
    this.#agents.set(server.name, starting);
    this.#failures.delete(server.name);
    starting.catch((error: unknown) => void this.#failures.set(server.name, messageOf(error)));
    return await starting;
  }

  async #close(): Promise<void> {
    this.#stop.abort();
    this.#sessions.clear();
    const agents = await Promise.allSettled(this.#agents.values());
    await Promise.all(agents.map((each) => (each.status === "fulfilled" ? each.value.close() : undefined)));
    await this.#onDispose();
  }
}
