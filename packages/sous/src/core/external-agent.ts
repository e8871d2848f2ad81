/**
 * The port to an external agent. It works in a session: opened, prompted, closed. `bridges/acp/` stands behind it. To
 * the gate for children such an agent is a model, marked as one that acts by itself.
 */

import { ModelError, UserError } from "./errors.ts";
import { EXTERNAL_PROVIDER, isExternalModel, type Model } from "./model.ts";
import type { ToolResult } from "./tool.ts";
import type { TraceContext } from "./trace-context.ts";
import type { Usage } from "./usage.ts";

/** The external agents that a runtime knows, by the names of their servers. */
export type ExternalAgents = {
  readonly serverNames: readonly string[];
  /** The default one when neither is named. Throws a `UserError` for one that is not known. Starts nothing. */
  externalAgent(serverName?: string, agentId?: string): ExternalAgent;
};

/** One external agent: what it may cost and take, and how a session with it is opened. */
export type ExternalAgent = {
  readonly serverName: string;
  /** USD that a prompt may cost: its reservation under a limit of money, and its bill when the agent reports none. */
  readonly maxCostUsd: number | undefined;
  /** The time that one run of it may take. */
  readonly timeoutMs: number | undefined;
  /** Starts the agent and opens a session, new or recorded. Throws a `SessionLost` when the recorded one cannot be continued. */
  open(request: SessionRequest, host: ExternalHost): Promise<ExternalSession>;
};

/** A server of an external agent, as far as the choice of one goes. */
type NamedServer = Pick<ExternalAgent, "maxCostUsd" | "timeoutMs"> & { readonly name: string };

/** Opens a session with the agent of a server. `agentId` is the agent that was asked for, if one was. */
type OpenAgent<Server> = (
  chosen: { readonly server: Server; readonly agentId: string | undefined },
  request: SessionRequest,
  host: ExternalHost,
) => Promise<ExternalSession>;

/** The servers of external agents: how one is found, and its agent as a runtime uses it. */
export class ServerBook<Server extends NamedServer> {
  readonly #servers: readonly Server[];
  readonly names: readonly string[];
  /** The first one, unless another is chosen. */
  readonly defaultName: string | undefined;

  constructor(servers: readonly Server[], defaultServer?: string) {
    this.#servers = servers;
    this.names = servers.map(({ name }) => name);
    this.defaultName = defaultServer === undefined ? this.names[0] : this.find(defaultServer).name;
  }

  /**
   * Finds a server by its name, however it is spelled; the default one when none is named. Throws a `UserError` that lists the
   * known ones.
   */
  find(wanted = this.defaultName ?? ""): Server {
    const found = this.named(wanted) ?? this.named(externalName(wanted));
    if (found !== undefined) return found;
    if (this.names.length === 0)
      throw new UserError("No agent server is configured: add one to agent_servers in your configuration");
    const known = this.names.join(", ");
    throw new UserError(`Unknown agent server ${JSON.stringify(wanted.slice(0, 80))}; agent_servers has: ${known}`);
  }

  /** Finds a server by its name, or as it is written behind `external/`, which an agent's id can be as well. */
  named(wanted: string): Server | undefined {
    const known = knownName(this.names, wanted);
    return this.#servers.find(({ name }) => name === known);
  }

  /** The id of an agent may name its server. */
  chosen(serverName: string | undefined, agentId: string | undefined): Server {
    const named = serverName === undefined && agentId !== undefined ? this.named(agentId) : undefined;
    return named ?? this.find(serverName);
  }

  /** Starts nothing: `open` is called for each session. */
  agents(open: OpenAgent<Server>): ExternalAgents {
    return {
      serverNames: this.names,
      externalAgent: (serverName, agentId) => {
        const server = this.chosen(serverName, agentId);
        const { name, maxCostUsd, timeoutMs } = server;
        const chosen = { server, agentId };
        return { serverName: name, maxCostUsd, timeoutMs, open: (request, host) => open(chosen, request, host) };
      },
    };
  }
}

/** The request for a session. */
export type SessionRequest = {
  /** The folder it works in. */
  readonly cwd: string;
  /** A session that was opened earlier and is to continue. */
  readonly sessionId: string | undefined;
  /** The limits for it and everything it starts. */
  readonly allowance: ExternalAllowance;
  /** The trace that it works in, for the spans of its own. */
  readonly trace?: TraceContext | undefined;
  readonly signal: AbortSignal;
};

/** Handed on in a variable, so that a runtime inside of the agent can only narrow it. */
export type ExternalAllowance = {
  /** The level of the agent in our tree, and the deepest level there may be. */
  readonly depth: number;
  readonly maxDepth: number;
  /** The rest of each limit; undefined where there is none. */
  readonly tokens: number | undefined;
  readonly costUsd: number | undefined;
  readonly durationMs: number | undefined;
};

/** One conversation with the agent. */
export type ExternalSession = {
  readonly id: string;
  /**
   * Sends one message and waits for the end of the agent's turn. Aborting the signal cancels the turn; it then resolves with
   * what is known, or rejects when the agent does not stop in time. Rejects with a `ModelError` for every other failure.
   */
  prompt(text: string, signal: AbortSignal): Promise<ExternalAnswer>;
  /** Ends the session here and its process, if it has one of its own. Never rejects. */
  close(): Promise<void>;
};

/** The ending of a prompt, and what it used. */
export type ExternalAnswer = {
  readonly stop: "done" | "refused" | "length" | "turns" | "cancelled";
  /** The tokens of this prompt; undefined when the agent did not say. */
  readonly usage: Usage | undefined;
  /** The cost of this prompt; undefined when the agent did not say. Never a made-up zero. */
  readonly costUsd: number | undefined;
};

/** The services of a run for its session. All of it may be called until the session is closed. */
export type ExternalHost = {
  onText(text: string): void;
  onThought(text: string): void;
  onPlan(steps: readonly string[]): void;
  /** A call that the agent makes itself, when it begins and when it has ended. */
  onCall(call: ExternalCall): void;
  /** The usage of this prompt so far, as far as it is known. */
  onUsage(spent: { readonly tokens: number | undefined; readonly costUsd: number | undefined }): void;
  /** May it do this? The rights of the run, the rules of the user, then the person. */
  approve(action: ExternalAction): Promise<boolean>;
  /** The tools of the run that may be called; all three when unset. The agent is offered no others. */
  readonly lends?: readonly LentToolName[] | undefined;
  /** The run's own `read_file`, `write_file` or `terminal`, under its rights, rules and limits. */
  callTool(action: ExternalAction): Promise<ToolResult>;
};

/** Tools of a run that an external agent may call. */
export type LentToolName = "read_file" | "write_file" | "terminal";

export const LENT_TOOLS: readonly LentToolName[] = ["read_file", "write_file", "terminal"];

/** An act of the agent, in the words of our own tools: exactly what a rule or a person decides about. */
export type ExternalAction = {
  readonly callId: string;
  readonly toolName: string;
  readonly input: unknown;
  /** Only asks how an earlier action stands: not recorded. */
  readonly isPoll?: true | undefined;
  /** Other paths that programs may take its path for: what is refused or denied for one of them is not allowed. */
  readonly otherPaths?: readonly string[] | undefined;
  /** The reason why it is not known what it does: no rule allows it, only a person may. */
  readonly unclear?: string | undefined;
  /** A rerun asks as it was asked then: where it led was looked at then. */
  readonly isRepeated?: true | undefined;
};

/** Something that the agent does by itself. */
export type ExternalCall = {
  readonly callId: string;
  readonly phase: "start" | "end";
  /** The name that the agent gives it. */
  readonly name: string;
  /** The kind of act: `read`, `edit`, `execute`, `search`, … */
  readonly kind: string;
  /** The title for people. */
  readonly title: string;
  readonly input: unknown;
  /** The result of the act, and whether it failed; set at the end. */
  readonly output?: string | undefined;
  readonly isError?: boolean | undefined;
};

/** The recorded session cannot be continued: the agent cannot load one, or does not know it any more. */
export class SessionLost extends Error {
  override name = "SessionLost";
}

/** An external agent as the gate for children sees it. */
export function externalModel(external: ExternalAgent): Model {
  const id = `${EXTERNAL_PROVIDER}/${externalName(external.serverName)}`;
  return {
    id,
    external,
    answer: () => Promise.reject(new ModelError("unknown", `${id} works in sessions and does not answer questions`)),
  };
}

/** A server's name as it is written behind `external/`: `Claude Code` becomes `claude-code`. */
export function externalName(serverName: string): string {
  return serverName
    .toLowerCase()
    .replace(/[^a-z0-9._]+/g, "-")
    .replace(/^[^a-z0-9]+/, "");
}

function knownName(names: readonly string[], wanted: string): string | undefined {
  return names.find((each) => each === wanted) ?? names.find((each) => externalName(each) === wanted);
}

/** The agent behind `external/NAME`; undefined for any other model. Throws a `UserError` when there is no such agent. */
export function externalModelFor(choice: unknown, agents: ExternalAgents | undefined): Model | undefined {
  if (typeof choice !== "string" || !isExternalModel(choice)) return undefined;
  const name = choice.slice(EXTERNAL_PROVIDER.length + 1);
  const known = agents?.serverNames ?? [];
  const server = knownName(known, name);
  if (agents !== undefined && server !== undefined) return externalModel(agents.externalAgent(server));
  const hint = known.length === 0 ? "no agent_servers are set (models.external in code)" : `known: ${known.join(", ")}`;
  throw new UserError(`There is no agent server for the model ${choice}: ${hint}`);
}
