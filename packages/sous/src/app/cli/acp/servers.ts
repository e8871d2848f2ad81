/** Servers as a command reads them, of agents and of tools, and the programs that start them. */

import type { Programs } from "../../../core/process.ts";
import type { AgentServer, Configuration } from "../../config/configuration.ts";
import { startWarning } from "../../config/to-mcp-servers.ts";
import { serverSecrets } from "../application/external.ts";
import { mcpSecrets } from "../application/mcp.ts";
import { openOutside } from "../application/programs.ts";
import { findTrust, readConfiguration, trustWarning } from "../application/project.ts";
import { EXIT, usageError } from "../exit-codes.ts";
import { type ProcessContext, userFolderIfAny } from "../files/paths.ts";
import { alsoHide } from "../files/without-secrets.ts";
import { refusePositionals } from "../table/options.ts";
import { tell } from "../terminal/output.ts";
import { inertLine, shellWord } from "../terminal/text.ts";

/**
 * Includes the servers of the project when it is trusted. Warns about what is ignored. Hides their secrets from now on.
 * `showsProblems`: the command itself says which MCP servers cannot be started.
 */
export async function configurationOfServers(
  { config, bare }: { readonly config: string | undefined; readonly bare: boolean },
  context: ProcessContext,
  { showsProblems = false } = {},
): Promise<Configuration> {
  const trust = bare ? undefined : await findTrust(context);
  const project = trust?.state === "trusted" ? trust : undefined;
  const { configuration, warnings } = await readConfiguration({ flags: { configFile: config }, ...context, project });
  const untrusted = trust && trustWarning(trust);
  const { agentServers, mcpServers } = configuration;
  const shown = showsProblems ? Object.values(mcpServers).map(startWarning) : [];
  const told = warnings.filter((line) => !shown.includes(line));
  for (const line of untrusted === undefined ? told : [untrusted, ...told]) tell(`warning: ${inertLine(line, 1000)}`);
  alsoHide({ ...serverSecrets(agentServers), ...mcpSecrets(Object.values(mcpServers)) });
  return configuration;
}

/** The only argument of `sous acp check` and `sous mcp check`. */
export function oneServerName(command: string, [name, ...rest]: readonly string[]): string {
  if (name === undefined) throw usageError(`${command} check needs the NAME of a server; ${command} list shows them`);
  refusePositionals(`${command} check`, rest, " Put a name with spaces into quotes.");
  return name;
}

/** Prints the problem that was found, if any. */
export function exitCodeOf({ problem }: { readonly problem: string | undefined }): number {
  if (problem === undefined) return EXIT.ok;
  tell(`error: ${inertLine(problem, 2000)}`);
  return EXIT.failed;
}

/** No program of a project starts a server. */
export async function openServerPrograms(context: ProcessContext): Promise<Programs> {
  return openOutside(context, userFolderIfAny("state", context.env));
}

/** `npx -y claude-agent-acp`, for people. */
export function commandLine({ command, args }: Pick<AgentServer, "command" | "args">): string {
  return [command, ...args].map(shellWord).join(" ");
}
