/** What the client of agent servers takes and tells. */

import type { AcpDeadlines, StartedAgent } from "./agent.ts";
import type { AcpPermissionPolicy, LibrarySession } from "./library-session.ts";
import type { AcpServer } from "./server-entry.ts";

/** What a client needs besides the machine. */
export type AcpClientOptions = {
  /** By name; the first one is the default. */
  readonly servers: Readonly<Record<string, AcpServer>>;
  readonly defaultServer?: string | undefined;
  /** Where sessions work that name no folder. */
  readonly cwd: string;
  /** For the sessions of this client; those of a runtime follow its rules. `deny` when unset. */
  readonly permissions?: AcpPermissionPolicy | undefined;
  readonly deadlines?: Partial<AcpDeadlines> | undefined;
};

/** Which session a prompt goes to, and where it works. */
export type AcpPromptOptions = {
  readonly serverName?: string | undefined;
  /** The server's name, or the agent's own. */
  readonly agentId?: string | undefined;
  readonly cwd?: string | undefined;
  /** Cancels the prompt. */
  readonly signal?: AbortSignal | undefined;
};

/** The same for a conversation: without a session a new one is opened. */
export type AcpChatOptions = AcpPromptOptions & { readonly sessionId?: string | undefined };

/** An agent behind a server, as it says in the handshake. */
export type AcpAgent = {
  /** Its own name. */
  readonly id: string;
  readonly serverName: string;
  readonly title: string | undefined;
  readonly version: string | undefined;
  readonly protocolVersion: number;
  readonly canLoadSessions: boolean;
  readonly canListSessions: boolean;
  readonly canDeleteSessions: boolean;
};

/** What is known of a server and its one process. */
export type AcpServerHealth = {
  readonly serverName: string;
  readonly status: "stopped" | "running" | "failed";
  /** Why it failed. */
  readonly error: string | undefined;
  readonly pid: number | undefined;
  readonly handshakeMs: number | undefined;
  readonly openSessions: number;
  /** Lines of its output that were too long to be read. */
  readonly droppedLines: number;
  readonly agent: AcpAgent | undefined;
};

/** A session of an agent, open here or only known to the agent. */
export type AcpSessionInfo = {
  readonly sessionId: string;
  readonly serverName: string;
  readonly cwd: string | undefined;
  readonly title: string | undefined;
  readonly updatedAt: string | undefined;
  /** Open in this client. */
  readonly isOpen: boolean;
};

export function describeAgent({ name, server, info }: StartedAgent): AcpAgent {
  const { loadSession = false, sessionCapabilities } = info.agentCapabilities ?? {};
  return {
    id: name,
    serverName: server.name,
    title: info.agentInfo?.title,
    version: info.agentInfo?.version,
    protocolVersion: info.protocolVersion,
    canLoadSessions: loadSession || sessionCapabilities?.resume === true,
    canListSessions: sessionCapabilities?.list === true,
    canDeleteSessions: sessionCapabilities?.delete === true,
  };
}

export function describeSession({ id, agent, cwd }: LibrarySession): AcpSessionInfo {
  return { sessionId: id, serverName: agent.server.name, cwd, title: undefined, updatedAt: undefined, isOpen: true };
}
