/** Events as scripts read them: the names of `stream-json`, snake_case, with what models and tools wrote left as it is. */

import type { SousEvent } from "../core/event.ts";
import type { LimitState } from "../core/limits.ts";
import type { Message } from "../core/message.ts";
import type { Usage } from "../core/usage.ts";
import { partJson, timestamp, usageJson } from "./run-json.ts";

/** A delta has no number, and so no `seq`. */
export function eventJson(event: SousEvent): Record<string, unknown> {
  const { seq, time, runId, agentId, parentId, path, depth, type, ...body } = event;
  const head = { seq, ts: timestamp(time), run_id: runId, agent_id: agentId, parent_id: parentId, path, depth, type };
  const fields = Object.entries(body).map(([name, value]) => [snakeCase(name), fieldJson(name, value)]);
  return { ...head, ...Object.fromEntries(fields) };
}

/** What somebody else has named is not ours to spell. */
const FOREIGN = new Set(["input", "metadata", "output"]);

function fieldJson(name: string, value: unknown): unknown {
  if (value === undefined) return null;
  if (FOREIGN.has(name)) return value;
  if (name === "usage" || name === "spent") return usageJson(value as Usage);
  if (name === "message" && typeof value === "object") return messageBody(value as Message);
  if (name === "task") return messageBody(value as Message);
  if (name === "limit") return limitJson(value as LimitState);
  if (name === "files") return (value as Message["content"]).map(partJson);
  return withSnakeCase(value);
}

/** The unit is named like the fields of a budget: `cost_usd`. */
function limitJson({ of, unit, limit, spent, reserved }: LimitState): Record<string, unknown> {
  return { of, unit: snakeCase(unit), limit, spent, reserved };
}

function messageBody({ role, content }: Message): Record<string, unknown> {
  return { role, content: content.map(partJson) };
}

/** The values of a run's start: limits, rights, budgets. A history in it is left out, for it is in its own run. */
function withSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSnakeCase);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => name !== "history");
  return Object.fromEntries(entries.map(([name, part]) => [snakeCase(name), withSnakeCase(part)]));
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
