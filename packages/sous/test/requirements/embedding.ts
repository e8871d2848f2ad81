/** What tests of the tools for embedders share: a registry, a client that is told what to say, and a recorder of callbacks. */

import type { ExternalAgents, ExternalPrompt } from "../../src/core/external-agent.ts";
import { type Tool, ToolRegistry } from "../../src/core/tool.ts";
import { registerSubagentTools } from "../../src/runtime.ts";
import type { SubagentCallbacks, SubagentInfo } from "../../src/subagents/callbacks.ts";
import type { SubagentToolsOptions } from "../../src/subagents/register.ts";

export function registryWith(options: SubagentToolsOptions, depth?: number, tools: readonly Tool[] = []): ToolRegistry {
  const registry = new ToolRegistry(tools);
  registerSubagentTools(registry, options, depth);
  return registry;
}

/** Everything that was called back, in words. */
export function recorder(): { said: string[]; callbacks: SubagentCallbacks } {
  const said: string[] = [];
  const who = ({ description, mode }: SubagentInfo) => `${mode} ${description}`;
  return {
    said,
    callbacks: {
      onSubagentStart: (info) => void said.push(`start ${who(info)}`),
      onStreamDelta: (info, text) => void said.push(`delta ${who(info)}: ${text}`),
      onToolCallStart: (info, { toolName, input }) =>
        void said.push(`call ${who(info)}: ${toolName} ${JSON.stringify(input)}`),
      onToolCallEnd: (info, { toolName, output, isError }) =>
        void said.push(`called ${who(info)}: ${toolName} ${output} ${isError}`),
      onComplete: (info, { text, turns, durationMs }) =>
        void said.push(`complete ${who(info)}: ${text}, ${turns} turns, ${durationMs >= 0}`),
      onError: (info, { message, text }) => void said.push(`error ${who(info)}: ${message}; ${text}`),
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
