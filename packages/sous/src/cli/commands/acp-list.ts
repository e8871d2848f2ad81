/** `sous acp list`: the agents of others that are configured, and whether their programs are found. Starts nothing. */

import type { AgentServer } from "../../core/configuration.ts";
import { OUTSIDE_PROVIDER } from "../../core/model.ts";
import { outsideName } from "../../core/outside-agent.ts";
import { commandLine, configuredServers, openServerPrograms } from "../acp/servers.ts";
import { EXIT } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { ACP } from "../table/acp-entry.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { type Output, openOutput, printJson } from "../terminal/output.ts";
import { cutToWidth, displayWidth, inertLine } from "../terminal/text.ts";

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
  else if (found.length > 0) output.print(found.flatMap((each) => serverLines(each, output)));
  else output.printText("No agent server is configured: add one to agent_servers in your configuration.");
  return EXIT.ok;
}

type Found = { readonly server: AgentServer; readonly program: string | undefined };

/** The name, how agent files write it, and below what is started and where it comes from. */
function serverLines({ server, program }: Found, { style: { paint, glyphs }, columns }: Output): string[] {
  const name = inertLine(server.name, 60);
  const short = `${OUTSIDE_PROVIDER}/${outsideName(server.name)}`;
  const state = program === undefined ? paint("yellow", "not found") : paint("green", "found");
  const facts = [inertLine(commandLine(server), 300), inertLine(server.origin ?? "", 300)].join(glyphs.dot);
  const head = `${paint("bold", name)}  ${short}  ${state}`;
  return [head, `  ${cutToWidth(facts, Math.max(20, columns - displayWidth("  ")), glyphs.more)}`];
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
