/** What tests of the tools for embedders share: a registry, a client that is told what to say, and a recorder of callbacks. */

import assert from "node:assert/strict";
import type { ExternalAgents, ExternalPrompt } from "../../src/core/spawn.ts";
import { type Tool, ToolRegistry } from "../../src/core/tool.ts";
import { registerSubagentTools } from "../../src/runtime.ts";
import type { SubagentCallbacks, SubagentInfo } from "../../src/subagents/callbacks.ts";
import type { SubagentToolsOptions } from "../../src/subagents/register.ts";

export function registryWith(options: SubagentToolsOptions, depth?: number, tools: readonly Tool[] = []): ToolRegistry {
  const registry = new ToolRegistry(tools);
  registerSubagentTools(registry, options, depth);
  return registry;
}

/** Everything that was called back, in words. An id is shown as what its start has said about it. */
export function recorder(): { said: string[]; callbacks: SubagentCallbacks } {
  const said: string[] = [];
  const started = new Map<string, SubagentInfo>();
  const who = (id: string) => {
    const { mode, description } = started.get(id) ?? assert.fail(`${id} has not started`);
    return `${mode} ${description}`;
  };
  return {
    said,
    callbacks: {
      onSubagentStart(info) {
        started.set(info.id, info);
        said.push(`start ${who(info.id)}`);
      },
      onSubagentStreamDelta: (id, text) => void said.push(`delta ${who(id)}: ${text}`),
      onSubagentToolCallStart: (id, { toolName, input }) =>
        void said.push(`call ${who(id)}: ${toolName} ${JSON.stringify(input)}`),
      onSubagentToolCallEnd: (id, { toolName, output, isError }) =>
        void said.push(`called ${who(id)}: ${toolName} ${output} ${isError}`),
      onSubagentComplete: (id, { text, turns, durationMs }) =>
        void said.push(`complete ${who(id)}: ${text}, ${turns} turns, ${Number.isInteger(durationMs)}`),
      onSubagentError: (id, { message, result }) => void said.push(`error ${who(id)}: ${message}; ${result.text}`),
    },
  };
}

/** A client that answers as it is told. */
export function fakeClient(
  answer: (prompt: ExternalPrompt, options: { signal: AbortSignal; onText(text: string): void }) => Promise<string>,
  usage?: { inputTokens: number; outputTokens: number },
): ExternalAgents & { prompts: ExternalPrompt[] } {
  const prompts: ExternalPrompt[] = [];
  return {
    prompts,
    async generate(prompt, options) {
      prompts.push(prompt);
      const content = await answer(prompt, options);
      return { content, agentId: "codex", serverName: "local", sessionId: "s1", usage };
    },
  };
}

export const ALLOW = { approve: () => ({ allow: true }) as const };
