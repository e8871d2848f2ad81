/** What the agents of `cast.ts` have besides a model: tools that note what they did, and an external agent. */

import type { ExternalAgent } from "../../../../src/embed.ts";
import {
  type Clock,
  type Tool,
  type ToolContext,
  type ToolEffect,
  type ToolTier,
  tool,
} from "../../../../src/index.ts";

export type Cast = {
  /** The waits of the models are on it; the clock of the machine when unset. */
  readonly clock?: Clock | undefined;
  /** True in the process that is killed: slow tools, models and agents never answer there. */
  readonly isDoomed?: boolean | undefined;
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

export function slowTool(cast: Cast, name: string, effect: ToolEffect): Tool {
  return namedTool({ name, effect }, ({ path }) => {
    cast.ran.push(`${path} ${name}`);
    return cast.isDoomed ? new Promise(() => {}) : `${name} is done`;
  });
}

export function confirmed(cast: Cast, name: string): Tool {
  return namedTool({ name, effect: "unsafe", tier: "confirm" }, ({ path }) => {
    cast.ran.push(`${path} ${name}`);
    return `${name} is done`;
  });
}

export function boomTool(): Tool {
  return namedTool({ name: "boom" }, () => {
    throw withStack(new Error("The file is gone"));
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
        if (cast.isDoomed) return new Promise(() => {});
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

/** The same on every machine. */
export function withStack<Fault extends Error>(error: Fault): Fault {
  error.stack = `${error.name}: ${error.message}\n    at golden (cast.ts:1:1)`;
  return error;
}
