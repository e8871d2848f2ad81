/** `sous acp serve`: sous as the agent of an editor, over standard input and output. */

import { serveAcp } from "../../acp/serve.ts";
import { systemClock } from "../../host.ts";
import { readOuterLimits } from "../application/within.ts";
import { openServedAgent } from "../serve/agent.ts";
import { serveOverStdio } from "../serve/over-stdio.ts";
import { ACP } from "../table/acp-entry.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { readRunFlags } from "../table/run-flags.ts";

const MAX_LINE_BYTES = 32 * 1024 * 1024;

export async function acpServe(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(ACP, parameters);
  refusePositionals("sous acp serve", positionals, " It reads requests from standard input.");
  const flags = readRunFlags(values);
  // Limits that cannot be read end the command, before a session is opened without them.
  await readOuterLimits(process.env);
  return serveOverStdio({
    open: () => openServedAgent(flags),
    serve: (agent, pipe) => serveAcp({ ...pipe, agent, clock: systemClock, maxLineBytes: MAX_LINE_BYTES }),
  });
}
