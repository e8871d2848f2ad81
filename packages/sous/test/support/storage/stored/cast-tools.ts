/** The parts of the agents of `cast.ts` besides a model: tools that note what they did, and an external agent. */

import type { ExternalAgent } from "../../../../src/embed.ts";
import { type Tool, type ToolContext, type ToolEffect, type ToolTier, tool } from "../../../../src/index.ts";

export type Cast = {
  /** Which tools really ran and which prompts an external agent was sent, in order: `lead/north look`. */
  readonly ran: string[];
};

function namedTool(
  { name, effect = "read", tier = "observe" }: { name: string; effect?: ToolEffect; tier?: ToolTier },
  execute: (context: ToolContext) => unknown,
): Tool {
  const inputSchema = { type: "object" } as const;
  return tool({
    ...{ name, description: `Does ${name}.`, effect, tier, inputSchema },
    execute: (_input, context) => execute(context),
  }) as Tool;
}

export function lookTool(cast: Cast): Tool {
  return namedTool({ name: "look" }, ({ path }) => {
    cast.ran.push(`${path} look`);
    return { success: true, output: "a wall", metadata: { lines: 1 } };
  });
}

export function plainTool(cast: Cast, name: string, effect: ToolEffect): Tool {
  return namedTool({ name, effect }, ({ path }) => {
    cast.ran.push(`${path} ${name}`);
    return `${name} is done`;
  });
}

export function confirmed(cast: Cast, name: string): Tool {
  return namedTool({ name, effect: "unsafe", tier: "confirm" }, ({ path }) => {
    cast.ran.push(`${path} ${name}`);
    return `${name} is done`;
  });
}

export function mason(cast: Cast): ExternalAgent {
  return {
    serverName: "Mason",
    maxCostUsd: 0.5,
    timeoutMs: 60_000,
    open: async ({ sessionId = "session-1" }, host) => ({
      id: sessionId,
      async prompt(text) {
        cast.ran.push(`${sessionId}: ${text}`);
        const call = { callId: "t1", name: "Bash", kind: "execute", title: "npm test", input: { command: "npm test" } };
        host.onCall({ ...call, phase: "start" });
        host.onCall({ ...call, phase: "end", output: "3 failed", isError: true });
        host.onText("A wall.");
        const tokens = {
          inputTokens: 900,
          outputTokens: 40,
          cachedInputTokens: 0,
          cacheWriteTokens: 0,
          totalTokens: 940,
        };
        return { stop: "done", usage: { ...tokens, estimated: false }, costUsd: 0.02 };
      },
      close: async () => {},
    }),
  };
}
