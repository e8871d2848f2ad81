/** The `subagent` tool: one task to one child. */

import { DEFAULT_LIMITS } from "../core/limits.ts";
import { type Tool, tool } from "../core/tool.ts";
import { type InputLimits, spawnInputSchema, toSpawnRequest } from "./input.ts";
import { DESCRIPTIONS } from "./prompts.ts";
import { toToolResult } from "./report.ts";

/** `limits` are those that its description names. */
export function subagentToolFor(limits: InputLimits): Tool {
  return tool({
    name: "subagent",
    description: DESCRIPTIONS.subagent,
    category: "subagent",
    // Repeating a spawn after a crash is safe: the gate knows the child by its call.
    effect: "idempotent",
    inputSchema: spawnInputSchema(limits),
    execute: async (input, context) => toToolResult(await context.spawn(toSpawnRequest(input))),
  }) as Tool;
}

export const subagentTool: Tool = subagentToolFor(DEFAULT_LIMITS);
