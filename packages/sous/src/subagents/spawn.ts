/** The `subagent` tool: one task to one child. */

import { type Tool, tool } from "../core/tool.ts";
import { spawnInputSchema, toSpawnRequest } from "./input.ts";
import { DESCRIPTIONS } from "./prompts.ts";
import { toToolResult } from "./report.ts";

export const subagentTool: Tool = tool({
  name: "subagent",
  description: DESCRIPTIONS.subagent,
  category: "subagent",
  // Repeating a spawn after a crash is safe: the gate knows the child by its call.
  effect: "idempotent",
  inputSchema: spawnInputSchema,
  execute: async (input, context) => toToolResult(await context.spawn(toSpawnRequest(input))),
}) as Tool;
