/** Runs, usage and messages as scripts read them: the same facts under snake_case names, with null for what is not there. */

import type { Message } from "../core/message.ts";
import type { RunResult } from "../core/runtime.ts";
import type { RunRecord } from "../core/store.ts";
import type { Usage } from "../core/usage.ts";
import type { ListedConversation } from "./list-conversations.ts";

export function runJson(record: RunRecord): Record<string, unknown> {
  return {
    id: record.id,
    agent_id: record.agentId,
    parent_id: record.parentId,
    root_id: record.rootId,
    path: record.path,
    agent: record.agent,
    label: record.label,
    depth: record.depth,
    status: record.status,
    stop_reason: record.stopReason ?? null,
    max_turns_reached: record.stopReason === "turns",
    started_at: timestamp(record.startedAt),
    ended_at: timestamp(record.endedAt),
    duration_ms: record.durationMs ?? null,
    turns: record.turns,
    tool_count: record.toolCount,
    usage: usageJson(record.usage),
    cost_usd: record.costUsd,
    model: record.model,
    task: record.task,
    summary_prompt: record.summaryPrompt ?? null,
    allowed_tools: record.allowedTools,
    cwd: record.cwd ?? null,
    lost: record.lost ?? null,
  };
}

/** All messages of a conversation as one run: the id and the task of the first, the status of the latest, the sums of all. */
export function conversationJson(conversation: ListedConversation): Record<string, unknown> {
  const { first, last, messages, durationMs, ...sums } = conversation;
  const { status, stopReason, endedAt } = last;
  return {
    ...runJson({ ...first, ...sums, status, stopReason, endedAt }),
    duration_ms: durationMs ?? null,
    messages,
    last_run_id: last.id,
    last_started_at: timestamp(last.startedAt),
  };
}

/** The object that `--json` prints for a run that has just ended. */
export function resultJson(result: RunResult): Record<string, unknown> {
  return {
    schema: "sous.result.v1",
    status: result.status,
    result: result.text,
    output: result.output ?? null,
    stop_reason: result.stopReason ?? null,
    run_id: result.runId === "" ? null : result.runId,
    turns: result.turns,
    usage: usageJson(result.usage),
    cost_usd: result.costUsd,
    duration_ms: Math.round(result.durationMs),
    agents: result.agents.map((agent) => ({
      id: agent.id,
      parent_id: agent.parentId,
      path: agent.path,
      label: agent.label,
      depth: agent.depth,
      status: agent.status,
      turns: agent.turns,
      tool_count: agent.toolCount,
      usage: usageJson(agent.usage),
      cost_usd: agent.costUsd,
      duration_ms: Math.round(agent.durationMs),
    })),
    denied: result.denied.map(({ path, toolName, input }) => ({ path, tool_name: toolName, input })),
    error: result.error === undefined ? null : { type: result.error.type, message: result.error.message },
    lost: result.lost ?? null,
  };
}

export function usageJson(usage: Usage): Record<string, unknown> {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    total_tokens: usage.totalTokens,
    estimated: usage.estimated,
  };
}

/** RFC 3339; null when there is none, or when a database holds a number that is no moment. */
export function timestamp(time: number | undefined): string | null {
  return time !== undefined && Math.abs(time) <= LAST_MOMENT ? new Date(time).toISOString() : null;
}

const LAST_MOMENT = 8.64e15;

export function messageJson(message: Message, number: number): Record<string, unknown> {
  return { n: number, role: message.role, content: message.content.map(partJson) };
}

export function partJson(part: Message["content"][number]): Record<string, unknown> {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, text: part.text };
    case "file":
      return { type: part.type, media_type: part.mediaType, filename: part.filename ?? null, data: part.data };
    case "tool-call":
      return { type: part.type, call_id: part.callId, tool_name: part.toolName, input: part.input };
    case "tool-result": {
      const { callId, toolName, output, isError, files = [] } = part;
      const result = { type: part.type, call_id: callId, tool_name: toolName, output, is_error: isError };
      return files.length === 0 ? result : { ...result, files: files.map(partJson) };
    }
    default:
      return part satisfies never;
  }
}
