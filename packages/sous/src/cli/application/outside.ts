/** The agents of others that a command can delegate to. Nothing of the protocol is loaded before one of them is needed. */

import type { AcpClient } from "../../acp/client.ts";
import type { AgentServer, Configuration } from "../../core/configuration.ts";
import { UserError } from "../../core/errors.ts";
import { type OutsideAgents, outsideName } from "../../core/outside-agent.ts";
import type { Programs } from "../../core/process.ts";
import { secretsOf } from "../../secrets/variables.ts";

type Servers = Configuration["agentServers"];

export type LateClient = AsyncDisposable & { open(): Promise<AcpClient> };

/** One client for all of them, made when it is first asked for. It ends with everything it has started. */
export function lateClient(servers: Servers, { programs, cwd }: { programs: Programs; cwd: string }): LateClient {
  let opening: Promise<AcpClient> | undefined;
  const make = async (): Promise<AcpClient> => {
    const { createAcpClient } = await import("../../acp-client.ts");
    return createAcpClient({ servers, programs, cwd });
  };
  return {
    open: () => (opening ??= make()),
    [Symbol.asyncDispose]: async () => {
      const client = await opening?.catch(() => undefined);
      await client?.dispose();
    },
  };
}

/** Undefined when there are no servers. */
export function outsideAgents(servers: Servers, client: LateClient): OutsideAgents | undefined {
  const known = Object.values(servers);
  if (known.length === 0) return undefined;
  return {
    serverNames: known.map(({ name }) => name),
    outsideAgent(serverName, agentId) {
      const { name, maxCostUsd, timeoutMs } = findServer(servers, serverName ?? namedBy(agentId, servers));
      return {
        serverName: name,
        maxCostUsd,
        timeoutMs,
        open: async (request, host) => {
          const opened = await client.open();
          return opened.outsideAgent(name, agentId).open(request, host);
        },
      };
    },
  };
}

/** The client reads the id of an agent in the same way, and refuses one that its server does not have. */
function namedBy(agentId: string | undefined, servers: Servers): string | undefined {
  const named = Object.values(servers).find(({ name }) => name === agentId || outsideName(name) === agentId);
  return named?.name ?? defaultServer(servers);
}

/** The first one that is configured. */
export function defaultServer(servers: Servers): string | undefined {
  return Object.values(servers)[0]?.name;
}

/** By its name, or as it is written behind `external/`. Throws a `UserError` that lists the known ones. */
export function findServer(servers: Servers, wanted: string | undefined): AgentServer {
  const known = Object.values(servers);
  const found =
    known.find(({ name }) => name === wanted) ??
    known.find(({ name }) => wanted !== undefined && outsideName(name) === outsideName(wanted));
  if (found !== undefined) return found;
  if (known.length === 0)
    throw new UserError("No agent server is configured: add one to agent_servers in your configuration");
  const names = known.map(({ name }) => name).join(", ");
  throw new UserError(
    `Unknown agent server ${JSON.stringify((wanted ?? "").slice(0, 80))}; agent_servers has: ${names}`,
  );
}

/** Keys in the variables of servers, under names that no other variable has: they are removed from what is stored and shown. */
export function serverSecrets(servers: Servers): Record<string, string> {
  return Object.fromEntries(
    Object.values(servers).flatMap(({ name, env }) =>
      secretsOf(env).map((secret) => [`${outsideName(name)}_${secret.name}`.toUpperCase(), secret.value]),
    ),
  );
}
