/** Which agents `sous mcp serve` offers, and what it says of each. */

import type { AgentFile } from "../../config/agents/file.ts";
import { oneLine, shortened } from "../../core/clean-text.ts";
import type { ServedTool } from "../../mcp/served-agents.ts";
import { builtInTools } from "../../tools/built-in.ts";
import { agentFiles } from "../application/agent-files.ts";
import { knownTrust, readConfiguration } from "../application/project.ts";
import { chooseAgent, ROOT_NAME } from "../application/root.ts";
import { type ProcessContext, processContext } from "../files/paths.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { inertLine } from "../terminal/text.ts";

const MAX_DESCRIPTION = 1000;

/**
 * Those that are named, or all that agents may call and the root. They are what the files say now: a call reads the files
 * again. Throws a usage error for a name that no agent has.
 */
export async function offeredAgents(
  flags: RunFlags,
  names: readonly string[] | undefined,
  warn: (line: string) => void,
): Promise<ServedTool[]> {
  const files = await readAgents(flags, processContext(), warn);
  const all = [ROOT_NAME, ...files.filter(({ callable }) => callable !== false).map(({ name }) => name)];
  return [...new Set(names ?? all)].map((name) => (name === ROOT_NAME ? ROOT : toolOf(chooseAgent(files, name))));
}

/** As a run would read them; what is wrong with trust or the configuration ends the command. */
async function readAgents(
  flags: RunFlags,
  context: ProcessContext,
  warn: (line: string) => void,
): Promise<readonly AgentFile[]> {
  const warning = (line: string): void => warn(`warning: ${inertLine(line, 1000)}`);
  const trust = flags.isBare ? undefined : await knownTrust({ ...context, warn: warning }, false);
  const project = trust?.state === "trusted" ? trust : undefined;
  const { configuration, warnings } = await readConfiguration({ flags, ...context, project });
  for (const line of warnings) warning(line);
  return agentFiles(context, project, configuration, warning);
}

/** Names of agents are names of tools as they are. */
function toolOf({ name, nickname, description, tools, delegate }: AgentFile): ServedTool {
  const about = shortened(oneLine(description), MAX_DESCRIPTION);
  return {
    name,
    title: shortened(oneLine(nickname), 100) || name,
    description: about === "" ? `The agent ${name} of sous.` : about,
    isReadOnly: !delegate && tools !== undefined && tools.every((tool) => READING.has(tool)),
  };
}

const READING: ReadonlySet<string> = new Set(
  builtInTools()
    .filter(({ effect }) => effect === "read")
    .map(({ name }) => name),
);

const ROOT: ServedTool = {
  name: ROOT_NAME,
  title: ROOT_NAME,
  description:
    "A general agent that works in this folder: it reads and searches files, changes them and runs commands as far as its rules allow, and can delegate to subagents.",
  isReadOnly: false,
};
