/** The checks of `sous doctor` about agents of others: each server is started, asked for its abilities, and ended. */

import type { Configuration } from "../../core/configuration.ts";
import { type CheckedServer, checkServer } from "../acp/check-server.ts";
import { openServerPrograms } from "../acp/servers.ts";
import type { ProcessContext } from "../files/paths.ts";
import { type Check, ok, problem } from "./machine.ts";

/** Slow servers take 5 seconds; a broken one must not hold up the rest. */
const START_MS = 15_000;

export async function checkServers(
  configuration: Configuration | undefined,
  context: ProcessContext,
): Promise<Check[]> {
  const servers = Object.values(configuration?.agentServers ?? {});
  if (servers.length === 0) return [];
  await using programs = await openServerPrograms(context);
  const options = { programs, cwd: context.cwd, opensSession: false, startMs: START_MS };
  return (await Promise.all(servers.map((server) => checkServer(server, options)))).map(toCheck);
}

function toCheck({ server, answer, problem: wrong }: CheckedServer): Check {
  const name = `agent ${server.name}`;
  if (answer === undefined || wrong !== undefined)
    return problem(name, wrong ?? "it gave no answer", `sous acp check ${JSON.stringify(server.name)} shows more`);
  const version = answer.version === undefined ? "" : ` ${answer.version}`;
  return ok(name, `${answer.agent}${version} answers after ${Math.round(answer.handshakeMs)} ms`);
}
