/** `sous mcp serve`: agents as tools of other programs, over standard input and output. */

import { messageOf } from "../../core/errors.ts";
import { systemClock } from "../../host.ts";
import { serveMcp } from "../../mcp/serve.ts";
import { usageError } from "../exit-codes.ts";
import { openServedAgents } from "../mcp-serve/served-agents.ts";
import { serveOverStdio } from "../serve/over-stdio.ts";
import { MCP } from "../table/mcp-entry.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { readRunFlags } from "../table/run-flags.ts";
import { inertLine } from "../terminal/text.ts";

const MAX_LINE_BYTES = 10 * 1024 * 1024;

export async function mcpServe(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(MCP, parameters);
  refusePositionals("sous mcp serve", positionals, " It takes its orders from standard input.");
  const flags = readRunFlags(values);
  if (values.cwd !== undefined) workIn(values.cwd);
  return serveOverStdio({
    open: () => openServedAgents(flags, values.agents),
    serve: (agents, pipe) => serveMcp({ ...pipe, agents, clock: systemClock, maxLineBytes: MAX_LINE_BYTES }),
  });
}

/** Clients start servers in their own folder, in the home folder or in /, and many have no setting for it. */
function workIn(folder: string): void {
  try {
    process.chdir(folder);
  } catch (error) {
    throw usageError(`--cwd: the folder ${inertLine(folder, 1000)} cannot be used: ${inertLine(messageOf(error))}`);
  }
}
