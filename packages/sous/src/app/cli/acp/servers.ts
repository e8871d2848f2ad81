/** Servers as a command reads them, of agents and of tools, and the programs that start them. */

import { startWarning } from "../../config/to-mcp-servers.ts";
import type { AgentServer, Configuration } from "../../core/configuration.ts";
import type { Programs } from "../../core/process.ts";
import { mcpSecrets } from "../application/mcp.ts";
import { serverSecrets } from "../application/outside.ts";
import { surroundingProjects } from "../application/programs.ts";
import { findTrust, readConfiguration, trustWarning } from "../application/project.ts";
import { type ProcessContext, userFolderIfAny } from "../files/paths.ts";
import { alsoHide } from "../files/without-secrets.ts";
import { tell } from "../terminal/output.ts";
import { inertLine, shellWord } from "../terminal/text.ts";

export type ServerOptions = { readonly config: string | undefined; readonly bare: boolean };

/**
 * With the servers of the project when it is trusted. Warns about what is ignored. From now on their keys are not shown.
 * `showsProblems`: the command itself says which MCP servers cannot be started.
 */
export async function configurationOfServers(
  { config, bare }: ServerOptions,
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

export async function configuredServers(
  options: ServerOptions,
  context: ProcessContext,
): Promise<Configuration["agentServers"]> {
  return (await configurationOfServers(options, context)).agentServers;
}

/** No program of a project starts a server. */
export async function openServerPrograms(context: ProcessContext): Promise<Programs> {
  const { openPrograms } = await import("../../process/programs.ts");
  const projects = (await surroundingProjects(context)).map((root) => ({ root, isTrusted: false }));
  return openPrograms({
    stateFolder: userFolderIfAny("state", context.env),
    environment: context.env,
    workspace: { cwd: context.cwd, projects },
  });
}

/** `npx -y claude-agent-acp`, for people. */
export function commandLine({ command, args }: Pick<AgentServer, "command" | "args">): string {
  return [command, ...args].map(shellWord).join(" ");
}
