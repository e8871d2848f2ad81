/** `sous mcp serve`: agents as tools of other programs, over standard input and output. */

import { codeOf, messageOf } from "../../core/errors.ts";
import { systemClock } from "../../host.ts";
import { serveMcp } from "../../mcp/serve.ts";
import { usageError } from "../exit-codes.ts";
import { openServedAgents } from "../mcp-serve/served-agents.ts";
import { serveOverStdio } from "../serve/over-stdio.ts";
import { MCP } from "../table/mcp-entry.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { readRunFlags } from "../table/run-flags.ts";
import { tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";

const MAX_LINE_BYTES = 10 * 1024 * 1024;

export async function mcpServe(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(MCP, parameters);
  refusePositionals("sous mcp serve", positionals, " It reads requests from standard input.");
  const flags = readRunFlags(values);
  if (values.cwd !== undefined) workIn(values.cwd);
  if (process.stdin.isTTY)
    tell("sous mcp serve waits for an MCP client on standard input: clients start it by themselves. Ctrl-C ends it.");
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
    const code = codeOf(error);
    const why = code === "ENOENT" ? "it does not exist" : code === "ENOTDIR" ? "it is not a folder" : messageOf(error);
    throw usageError(`--cwd: the folder ${inertLine(folder, 1000)} cannot be used: ${inertLine(why)}`);
  }
}
