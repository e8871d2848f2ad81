/** The external agents that a command can delegate to. Nothing of the protocol is loaded before one of them is needed. */

import type { AgentGround } from "../../../bridges/acp/external.ts";
import { type ExternalAgents, externalName, ServerBook } from "../../../core/external-agent.ts";
import { secretsOf } from "../../../runtime/secrets/variables.ts";
import type { Configuration } from "../../config/configuration.ts";

type Servers = Configuration["agentServers"];

/** Undefined when there are no servers. */
export function externalAgents(servers: Servers, machine: Omit<AgentGround, "deadlines">): ExternalAgents | undefined {
  const known = Object.values(servers);
  if (known.length === 0) return undefined;
  return new ServerBook(known).agents(async (chosen, request, host) => {
    const [{ DEFAULT_DEADLINES: deadlines }, { openExternal }] = await Promise.all([
      import("../../../bridges/acp/agent.ts"),
      import("../../../bridges/acp/external.ts"),
    ]);
    return openExternal({ ...chosen, ground: { ...machine, deadlines } }, request, host);
  });
}

/** Keys in the variables of servers, under names that no other variable has: they are removed from what is stored and shown. */
export function serverSecrets(servers: Servers): Record<string, string> {
  return Object.fromEntries(
    Object.values(servers).flatMap(({ name, env }) =>
      secretsOf(env).map((secret) => [`${externalName(name)}_${secret.name}`.toUpperCase(), secret.value]),
    ),
  );
}
