/** `sous acp`: the external agents that sous can delegate to, and sous as an agent of an editor. */

import { externalName, ServerBook } from "../../../core/external-agent.ts";
import { EXTERNAL_PROVIDER } from "../../../core/model.ts";
import type { AgentServer } from "../../config/configuration.ts";
import { type CheckedServer, checkServer } from "../acp/check-server.ts";
import { commandLine, configurationOfServers, exitCodeOf, oneServerName, openServerPrograms } from "../acp/servers.ts";
import { EXIT } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { performWord, refusePositionals, type Typed } from "../table/options.ts";
import { ACP } from "../table/server-entries.ts";
import { type Output, openOutput, printJson } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";
import { type ListedServer, listedServerLines } from "../view/server-lines.ts";

type TypedAcp = Typed<typeof ACP>;

export async function acp(parameters: readonly string[]): Promise<number> {
  // `serve` needs the runtime and the protocol, which the others do not load.
  const serve = async (typed: TypedAcp) => (await import("../serve/agent.ts")).acpServe(typed);
  return performWord(ACP, { list: acpList, check: acpCheck, serve }, "takes list, check NAME or serve", parameters);
}

/** The configured external agents, and whether their programs are found. Starts nothing. */
async function acpList({ values, positionals }: TypedAcp): Promise<number> {
  refusePositionals("sous acp list", positionals);
  const context = processContext();
  const servers = Object.values((await configurationOfServers(values, context)).agentServers);
  await using finder = await openServerPrograms(context);
  const found = await Promise.all(
    servers.map(async (server) => ({ server, program: await finder.find(server.command) })),
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
    shortName: `${EXTERNAL_PROVIDER}/${externalName(server.name)}`,
    state: program === undefined ? { text: "not found", colour: "yellow" } : { text: "found", colour: "green" },
    reachedBy: commandLine(server),
    origin: server.origin,
  };
}

/** Leaves out the variables of the server: they carry keys. */
function serverJson({ server, program }: Found): object {
  const { name, command, args, origin, defaultMode, model, timeoutMs, maxCostUsd } = server;
  return {
    name,
    model_name: `${EXTERNAL_PROVIDER}/${externalName(name)}`,
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

/** Starts one server, asks what it can do, and ends it. No prompt is sent. */
async function acpCheck({ values, positionals }: TypedAcp): Promise<number> {
  const name = oneServerName("sous acp", positionals);
  const context = processContext();
  const { agentServers } = await configurationOfServers(values, context);
  const server = new ServerBook(Object.values(agentServers)).find(name);
  await using programs = await openServerPrograms(context);
  const checked = await checkServer(server, { programs, cwd: context.cwd, opensSession: true });
  if (values.json) printJson(checkJson(checked));
  else openedLines(checked, openOutput(process.stdout, values));
  return exitCodeOf(checked);
}

const MAX_LISTED = 20;

function openedLines({ server, program, answer, choices }: CheckedServer, { print, style: { paint } }: Output): void {
  const rows: [what: string, value: string][] = [
    ["command", commandLine(server)],
    ["program", program ?? "not found"],
  ];
  if (answer !== undefined) {
    const { handshakeMs, protocolVersion, id, version, canLoadSessions } = answer;
    rows.push(
      ["handshake", `${Math.round(handshakeMs)} ms`],
      ["protocol", String(protocolVersion)],
      ["agent", version === undefined ? id : `${id} ${version}`],
      ["continues", canLoadSessions ? "its sessions, also after a restart" : "no session after a restart"],
    );
  }
  if (choices !== undefined) {
    rows.push(["modes", listed(choices.modes, server.defaultMode)], ["models", listed(choices.models, server.model)]);
  }
  print([
    paint("bold", inertLine(server.name, 60)),
    ...rows.map(([what, value]) => `  ${what.padEnd("handshake".length)}  ${inertLine(value, 1000)}`),
  ]);
}

function listed(offered: readonly string[], chosen: string | undefined): string {
  const names = offered.length === 0 ? "no choice" : offered.slice(0, MAX_LISTED).join(", ");
  const more = offered.length > MAX_LISTED ? ` and ${offered.length - MAX_LISTED} more` : "";
  return `${names}${more}${chosen === undefined ? "" : ` (configured: ${chosen})`}`;
}

function checkJson({ server, program, answer, choices, problem }: CheckedServer): object {
  return {
    schema: "sous.acp-check.v1",
    name: server.name,
    ok: problem === undefined,
    problem: problem ?? null,
    program: program ?? null,
    handshake_ms: answer === undefined ? null : Math.round(answer.handshakeMs),
    protocol_version: answer?.protocolVersion ?? null,
    agent: answer === undefined ? null : { name: answer.id, version: answer.version ?? null },
    capabilities: answer === undefined ? null : { load: answer.canLoadSessions },
    modes: choices?.modes ?? null,
    models: choices?.models ?? null,
  };
}
