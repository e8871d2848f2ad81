/** `sous acp check NAME`: starts one server, asks what it can do, and ends it. No prompt is sent. */

import { type CheckedServer, checkServer } from "../acp/check-server.ts";
import { commandLine, configuredServers, openServerPrograms } from "../acp/servers.ts";
import { findServer } from "../application/outside.ts";
import { EXIT, usageError } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { ACP } from "../table/acp-entry.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { type Output, openOutput, printJson, tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";

const COMMAND = "sous acp check";

export async function acpCheck(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(ACP, parameters);
  const [name, ...rest] = positionals;
  if (name === undefined) throw usageError(`${COMMAND} needs the NAME of a server; sous acp list shows them`);
  refusePositionals(COMMAND, rest, " Put a name with spaces into quotes.");
  const context = processContext();
  const server = findServer(await configuredServers(values, context), name);
  await using programs = await openServerPrograms(context);
  const checked = await checkServer(server, { programs, cwd: context.cwd, opensSession: true });
  if (values.json) printJson(checkJson(checked));
  else openedLines(checked, openOutput(process.stdout, values));
  if (checked.problem === undefined) return EXIT.ok;
  tell(`error: ${inertLine(checked.problem, 2000)}`);
  return EXIT.failed;
}

const MAX_LISTED = 20;

function openedLines({ server, program, answer, choices }: CheckedServer, { print, style: { paint } }: Output): void {
  const rows: [what: string, value: string][] = [
    ["command", commandLine(server)],
    ["program", program ?? "not found"],
  ];
  if (answer !== undefined) {
    const { handshakeMs, protocolVersion, agent, version, canLoad } = answer;
    rows.push(
      ["handshake", `${Math.round(handshakeMs)} ms`],
      ["protocol", String(protocolVersion)],
      ["agent", version === undefined ? agent : `${agent} ${version}`],
      ["continues", canLoad ? "its sessions, also after a restart" : "no session after a restart"],
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
    agent: answer === undefined ? null : { name: answer.agent, version: answer.version ?? null },
    capabilities: answer === undefined ? null : { load: answer.canLoad },
    modes: choices?.modes ?? null,
    models: choices?.models ?? null,
  };
}
