/** Runs and events as scripts read them: snake_case names; what models and tools wrote is left as it is. */

import type { OpenQuestion } from "../../../core/approval.ts";
import type { SousEvent } from "../../../core/event.ts";
import type { LimitState } from "../../../core/limits.ts";
import type { Message } from "../../../core/message.ts";
import type { RunResult } from "../../../core/runtime.ts";
import type { RunRecord } from "../../../core/store.ts";
import { shownLimit } from "../../../core/units.ts";
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
    max_turns_reached: record.maxTurnsReached,
    started_at: timestamp(record.startedAt),
    ended_at: timestamp(record.endedAt),
    duration_ms: record.durationMs ?? null,
    turns: record.turns,
    tool_count: record.toolCount,
    usage: withSnakeCase(record.usage),
    cost_usd: record.costUsd,
    model: record.model,
    task: record.task,
    summary_prompt: record.summaryPrompt ?? null,
    allowed_tools: record.allowedTools,
    cwd: record.cwd ?? null,
    lost: record.lost ?? null,
    damage: record.damage ?? null,
  };
}

/** All messages of a conversation as one run: the id and the task of the first, the status of the latest, the sums of all. */
export function conversationJson(conversation: ListedConversation): Record<string, unknown> {
  const { first, last, messages, durationMs, questions = 0, ...sums } = conversation;
  const { status, stopReason, maxTurnsReached, endedAt } = last;
  return {
    ...runJson({ ...first, ...sums, status, stopReason, maxTurnsReached, endedAt }),
    duration_ms: durationMs ?? null,
    messages,
    open_questions: questions,
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
    usage: withSnakeCase(result.usage),
    cost_usd: result.costUsd,
    duration_ms: Math.round(result.durationMs),
    agents: result.agents.map((agent) => withSnakeCase({ ...agent, durationMs: Math.round(agent.durationMs) })),
    denied: result.denied.map(({ path, toolName, input, toolReason }) => ({
      path,
      tool_name: toolName,
      input,
      ...(toolReason !== undefined && { tool_reason: toolReason }),
    })),
    questions: result.questions.map(questionJson),
    error: result.error === undefined ? null : { type: result.error.type, message: result.error.message },
    lost: result.lost ?? null,
  };
}

export function questionJson({ id, digest, path, toolName, input, action }: OpenQuestion): Record<string, unknown> {
  return { id, digest, path, tool_name: toolName, input, action };
}

/** RFC 3339; null when it is unknown, or when a damaged database holds a number that is not a date. */
export function timestamp(time: number | undefined): string | null {
  return time !== undefined && Math.abs(time) <= LAST_MOMENT ? new Date(time).toISOString() : null;
}

const LAST_MOMENT = 8.64e15;

export function messageJson(message: Message, number: number): Record<string, unknown> {
  return { n: number, ...messageBody(message) };
}

function partJson(part: Message["content"][number]): Record<string, unknown> {
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
    case "provider": {
      const { kind, callId, toolName, value, isError = false } = part;
      return { type: part.type, kind, call_id: callId, tool_name: toolName, value, is_error: isError };
    }
    default:
      return part satisfies never;
  }
}

/** A delta has no number, and so no `seq`. */
export function eventJson(event: SousEvent): Record<string, unknown> {
  const { seq, time, runId, agentId, parentId, path, depth, type, ...body } = event;
  const head = { seq, ts: timestamp(time), run_id: runId, agent_id: agentId, parent_id: parentId, path, depth, type };
  const fields = Object.entries(body).map(([name, value]) => [snakeCase(name), fieldJson(name, value)]);
  return { ...head, ...Object.fromEntries(fields) };
}

/** Names that others have chosen are left as they are. */
const FOREIGN = new Set(["input", "metadata", "output", "outputSchema"]);

function fieldJson(name: string, value: unknown): unknown {
  if (value === undefined) return null;
  if (FOREIGN.has(name)) return value;
  if (name === "task" || (name === "message" && typeof value === "object")) return messageBody(value as Message);
  if (name === "limit") return limitJson(value as LimitState);
  if (name === "files") return (value as Message["content"]).map(partJson);
  return withSnakeCase(value);
}

/** The unit is named like the fields of a budget: `cost_usd`. */
function limitJson(state: LimitState): Record<string, unknown> {
  const limit = shownLimit(state);
  return { ...limit, unit: snakeCase(limit.unit) };
}

function messageBody({ role, content }: Message): Record<string, unknown> {
  return { role, content: content.map(partJson) };
}

/** The fields that are too long for a line: a history is in its own run, and the definitions of tools are for a rerun. */
const LEFT_OUT = new Set(["history", "shown"]);

/** Names of ours at any depth, such as those of limits, rights, budgets and usage. */
export function withSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSnakeCase);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => !LEFT_OUT.has(name));
  return Object.fromEntries(entries.map(([name, part]) => [snakeCase(name), withSnakeCase(part)]));
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
