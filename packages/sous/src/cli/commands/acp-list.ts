/** `sous acp list`: the agents of others that are configured, and whether their programs are found. Starts nothing. */

import type { AgentServer } from "../../core/configuration.ts";
import { OUTSIDE_PROVIDER } from "../../core/model.ts";
import { outsideName } from "../../core/outside-agent.ts";
import { commandLine, configuredServers, openServerPrograms } from "../acp/servers.ts";
import { EXIT } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { ACP } from "../table/acp-entry.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { openOutput, printJson } from "../terminal/output.ts";
import { type ListedServer, listedServerLines } from "../view/server-lines.ts";

export async function acpList(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(ACP, parameters);
  refusePositionals("sous acp list", positionals);
  const context = processContext();
  const servers = Object.values(await configuredServers(values, context));
  await using programs = await openServerPrograms(context);
  const found = await Promise.all(
    servers.map(async (server) => ({ server, program: await programs.find(server.command) })),
  );
  const output = openOutput(process.stdout, values);
  if (values.json) printJson({ schema: "sous.acp-list.v1", servers: found.map(serverJson) });
  else if (found.length > 0) output.print(found.flatMap((each) => listedServerLines(toListed(each), output)));
  else output.printText("No agent server is configured: add one to agent_servers in your configuration.");
  return EXIT.ok;
}

type Found = { readonly server: AgentServer; readonly program: string | undefined };

/** The name, how agent files write it, and below what is started and where it comes from. */
function toListed({ server, program }: Found): ListedServer {
  return {
    name: server.name,
    shortName: `${OUTSIDE_PROVIDER}/${outsideName(server.name)}`,
    state: program === undefined ? { text: "not found", colour: "yellow" } : { text: "found", colour: "green" },
    reachedBy: commandLine(server),
    origin: server.origin,
  };
}

/** Without its variables: they carry keys. */
function serverJson({ server, program }: Found): object {
  const { name, command, args, origin, defaultMode, model, timeoutMs, maxCostUsd } = server;
  return {
    name,
    model_name: `${OUTSIDE_PROVIDER}/${outsideName(name)}`,
    command,
    args,
    program: program ?? null,
    from: origin ?? null,
    default_mode: defaultMode ?? null,
    model: model ?? null,
    timeout_ms: timeoutMs,
    max_cost_usd: maxCostUsd ?? null,
  };
}
