/** The settings of a client of agent servers, and its descriptions of them. */

import { UserError } from "../../core/errors.ts";
import type { AcpDeadlines, StartedAgent } from "./agent.ts";
import type { AcpPermissionPolicy, LibrarySession } from "./library-session.ts";

/** The program of an agent, and the settings its sessions begin with. */
export type AcpServer = {
  /** A program, looked for in PATH, or an absolute path; not a line for a shell. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** The folder in which the program is started; that of its first session when unset. */
  readonly cwd?: string | undefined;
  /** The variables it gets besides the few that every program gets. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Only here a mode that skips questions can be chosen. */
  readonly defaultMode?: string | undefined;
  readonly model?: string | undefined;
  /** The time of one run or one prompt; 30 minutes when unset. */
  readonly timeoutMs?: number | undefined;
  /** USD that a prompt may cost. */
  readonly maxCostUsd?: number | undefined;
};

const DEFAULT_TIMEOUT_MS = 30 * 60_000;

/** Throws a `UserError` for one that cannot be started. */
export function checkedServers(servers: Readonly<Record<string, AcpServer>>): Server[] {
  return Object.entries(servers).map(([name, server]) => checked(name, server));
}

/** One that was checked, with its defaults. */
export type Server = ReturnType<typeof checked>;

function checked(name: string, given: AcpServer) {
  if (typeof given.command !== "string" || given.command.trim() === "") {
    throw new UserError(`The agent server ${name} has no command: give the program that starts it`);
  }
  const { args = [], env = {}, timeoutMs = DEFAULT_TIMEOUT_MS, maxCostUsd } = given;
  if (!(timeoutMs > 0)) throw new UserError(`The timeout of the agent server ${name} must be greater than 0`);
  return { ...given, name, args, env, timeoutMs, maxCostUsd };
}

/** The options of a client. */
export type AcpClientOptions = {
  /** The servers by name; the first one is the default. */
  readonly servers: Readonly<Record<string, AcpServer>>;
  readonly defaultServer?: string | undefined;
  /** The folder of sessions that name none. */
  readonly cwd: string;
  /** The policy for sessions of this client; sessions of a runtime follow its rules. `deny` when unset. */
  readonly permissions?: AcpPermissionPolicy | undefined;
  readonly deadlines?: Partial<AcpDeadlines> | undefined;
};

/** The session that a prompt goes to, and the folder it works in. */
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
  /** The agent's own name. */
  readonly id: string;
  readonly serverName: string;
  readonly title: string | undefined;
  readonly version: string | undefined;
  readonly protocolVersion: number;
  readonly canLoadSessions: boolean;
  readonly canListSessions: boolean;
  readonly canDeleteSessions: boolean;
};

/** The state of a server and its one process. */
export type AcpServerHealth = {
  readonly serverName: string;
  readonly status: "stopped" | "running" | "failed";
  /** The reason why it failed. */
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
