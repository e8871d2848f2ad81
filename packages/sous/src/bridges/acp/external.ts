/** The agents of a client as the runtime uses them: each session has a process of its own. */

import { UserError } from "../core/errors.ts";
import {
  type OutsideAgent,
  type OutsideHost,
  type OutsideSession,
  outsideName,
  type SessionRequest,
} from "../core/outside-agent.ts";
import { traceVariables } from "../core/trace-context.ts";
import { encodeWithin, WITHIN_VARIABLE } from "../core/within.ts";
import { type AgentStart, type Lent, type StartedAgent, startAgent } from "./agent.ts";
import type { Server } from "./server-entry.ts";
import { openSession } from "./session.ts";

/** What all agents of a client are started with. */
export type AgentGround = Pick<AgentStart, "programs" | "clock" | "deadlines">;

export function createOutsideAgent(server: Server, agentId: string | undefined, ground: AgentGround): OutsideAgent {
  return {
    serverName: server.name,
    maxCostUsd: server.maxCostUsd,
    timeoutMs: server.timeoutMs,
    open: (request, host) => openOutside({ server, agentId, ground }, request, host),
  };
}

type Chosen = { server: Server; agentId: string | undefined; ground: AgentGround };

async function openOutside(
  { server, agentId, ground }: Chosen,
  { cwd, sessionId, allowance, trace, signal }: SessionRequest,
  host: OutsideHost,
): Promise<OutsideSession> {
  // The depth and the rest of the budget are variables of the process, so no two runs can share one.
  const environment = { [WITHIN_VARIABLE]: encodeWithin(allowance), ...(trace && traceVariables(trace)) };
  const agent = await startAgent({ ...ground, server, cwd, environment, lent: lentBy(host) }, signal);
  const stop = (): void => void agent.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    checkAgentId(agent, agentId);
    const session = await openSession({ agent, cwd, sessionId, host, ownsAgent: true });
    signal.throwIfAborted();
    return session;
  } catch (error) {
    await agent.close();
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function lentBy({ lends = ["read_file", "write_file", "terminal"] }: OutsideHost): Lent {
  return {
    read: lends.includes("read_file"),
    write: lends.includes("write_file"),
    terminal: lends.includes("terminal"),
  };
}

/** An id names an agent and nothing else: it can never choose a mode or a model. */
export function checkAgentId({ name, server }: StartedAgent, agentId: string | undefined): void {
  const known = [name, server.name, outsideName(server.name)];
  if (agentId === undefined || known.includes(agentId)) return;
  throw new UserError(
    `The agent server ${server.name} has no agent ${JSON.stringify(agentId.slice(0, 80))}; its agent is ${JSON.stringify(name)}`,
  );
}
