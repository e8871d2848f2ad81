/** Shared parts of the tests of the tools for embedders: a registry, a client that is told what to say, a recorder of callbacks. */

import assert from "node:assert/strict";
import {
  type ExternalAgents,
  type ExternalAnswer,
  type ExternalHost,
  SessionLost,
  type SessionRequest,
} from "../../../src/core/external-agent.ts";
import { type Tool, ToolRegistry } from "../../../src/core/tool.ts";
import { noUsage } from "../../../src/core/usage.ts";
import type { SubagentCallbacks, SubagentInfo } from "../../../src/runtime/subagents/callbacks.ts";
import type { SubagentToolsOptions } from "../../../src/runtime/subagents/register.ts";
import { registerSubagentTools } from "../../../src/runtime.ts";

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

export type FakePrompt = {
  task: string;
  serverName: string | undefined;
  agentId: string | undefined;
  sessionId: string;
  /** The session was opened before, and continues. */
  isContinued: boolean;
};

type FakeAnswer = string | Partial<ExternalAnswer & { text: string }>;

/** What an agent does with a prompt. A text is its answer; `lent` is what the run lends to the session. */
export type FakeWork = (
  prompt: FakePrompt,
  lent: { signal: AbortSignal; host: ExternalHost; request: SessionRequest },
) => Promise<FakeAnswer>;

type FakeOptions = {
  usage?: { inputTokens: number; outputTokens: number } | undefined;
  maxCostUsd?: number | undefined;
  timeoutMs?: number | undefined;
  /** False for agents that know none of their earlier sessions. */
  canLoad?: boolean | undefined;
  /** Sessions that exist, also from an earlier process. */
  sessions?: Set<string> | undefined;
};

/** External agents that answer as they are told, without a process. */
export function fakeClient(
  work: FakeWork,
  options: FakeOptions = {},
): ExternalAgents & { prompts: FakePrompt[]; open: Set<string> } {
  const { usage, maxCostUsd, timeoutMs, canLoad = true, sessions = new Set() } = options;
  const prompts: FakePrompt[] = [];
  const open = new Set<string>();
  return {
    prompts,
    open,
    serverNames: ["local", "Second Server"],
    externalAgent: (serverName, agentId) => ({
      serverName: serverName ?? "local",
      maxCostUsd,
      timeoutMs,
      async open(request, host) {
        const isContinued = request.sessionId !== undefined;
        if (isContinued && !(canLoad && sessions.has(request.sessionId)))
          throw new SessionLost("it does not know the session");
        const id = request.sessionId ?? `s${sessions.size + 1}`;
        sessions.add(id);
        open.add(id);
        return {
          id,
          async prompt(task, signal) {
            const prompt = { task, serverName, agentId, sessionId: id, isContinued };
            prompts.push(prompt);
            const said = await work(prompt, { signal, host, request });
            const answer = typeof said === "string" ? { text: said } : said;
            if (answer.text !== undefined) host.onText(answer.text);
            const reported = usage && { ...noUsage(), ...usage, totalTokens: usage.inputTokens + usage.outputTokens };
            return { stop: "done", usage: reported, costUsd: undefined, ...answer };
          },
          async close() {
            open.delete(id);
          },
        };
      },
    }),
  };
}

export const ALLOW = { approve: () => ({ allow: true }) as const };
