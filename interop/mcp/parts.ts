/**
 * MCP with what others wrote: the conformance suite, a server with everything, and on `sous mcp serve` the Inspector, Claude Code,
 * gemini-cli, opencode and codex.
 */

import type { Look } from "../external/look.ts";
import { startMock } from "../external/mock.ts";
import { installPeers } from "../external/peers.ts";
import { lookAtCallers } from "./called.ts";
import { lookAtConformance } from "./conformance.ts";
import { lookAtEverything } from "./everything.ts";
import { lookAtMcpServe } from "./serve.ts";

export async function lookAtMcp(look: Look): Promise<void> {
  const failure = installPeers();
  if (failure !== undefined) {
    look.at("the peers are installed", false, failure);
    return;
  }
  await lookAtConformance(look);
  await using mock = await startMock();
  await lookAtEverything(mock, look);
  await lookAtMcpServe(mock, look);
  await lookAtCallers(mock, look);
}
