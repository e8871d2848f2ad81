/** Sessions for the runtime: each has a process of its own. */

import { addAbortListener } from "node:events";
import { UserError } from "../../core/errors.ts";
import {
  type ExternalHost,
  type ExternalSession,
  externalName,
  LENT_TOOLS,
  type SessionRequest,
} from "../../core/external-agent.ts";
import { traceVariables } from "../../core/trace-context.ts";
import { encodeWithin, WITHIN_VARIABLE } from "../../core/within.ts";
import { type AgentStart, type Lent, type StartedAgent, startAgent } from "./agent.ts";
import type { Server } from "./client-types.ts";
import { openSession } from "./session.ts";

/** The parts that all agents are started with. */
export type AgentGround = Pick<AgentStart, "programs" | "clock" | "deadlines">;

/** Opens a session with the agent of a server, in a process of its own. */
export async function openExternal(
  { server, agentId, ground }: { server: Server; agentId: string | undefined; ground: AgentGround },
  { cwd, sessionId, allowance, trace, signal }: SessionRequest,
  host: ExternalHost,
): Promise<ExternalSession> {
  // The depth and the rest of the budget are variables of the process, so no two runs can share one.
  const environment = { [WITHIN_VARIABLE]: encodeWithin(allowance), ...(trace && traceVariables(trace)) };
  const agent = await startAgent({ ...ground, server, cwd, environment, lent: lentBy(host) }, signal);
  using _stop = addAbortListener(signal, () => void agent.close());
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
  }
}

function lentBy({ lends = LENT_TOOLS }: ExternalHost): Lent {
  return {
    read: lends.includes("read_file"),
    write: lends.includes("write_file"),
    terminal: lends.includes("terminal"),
  };
}

/** An id names an agent and nothing else: it can never choose a mode or a model. */
export function checkAgentId({ name, server }: StartedAgent, agentId: string | undefined): void {
  const known = [name, server.name, externalName(server.name)];
  if (agentId === undefined || known.includes(agentId)) return;
  throw new UserError(
    `The agent server ${server.name} has no agent ${JSON.stringify(agentId.slice(0, 80))}; its agent is ${JSON.stringify(name)}`,
  );
}
