/** The schema of the two events that frame a run: what it may do and spend, and how it ended. */

import * as z from "zod";
import { list, maybe, messageSchemas } from "./message-schema.ts";
import { once } from "./once.ts";

export const runSchemas = once(() => {
  const { amount, count, message, userMessage } = messageSchemas();

  const modelErrorKind = z.enum([
    "rate_limit",
    "overloaded",
    "network",
    "interrupted",
    "auth",
    "spend_limit",
    "context_length",
    "invalid_request",
    "unknown",
  ]);

  const errorType = z.enum([
    "depth_limit",
    "invalid_input",
    "quota",
    "timeout",
    "cancelled",
    "refused",
    "consent",
    "model",
    "tool",
    "crash",
    "store",
  ]);

  // Usage is counted by models and budgets are given by callers, who may have written more into them: that is dropped.

  const usage = z.object({
    inputTokens: amount,
    outputTokens: amount,
    cachedInputTokens: amount,
    cacheWriteTokens: amount,
    totalTokens: amount,
    // A model that reports its usage may leave this out.
    estimated: z.boolean().default(false),
  });

  /** Infinity is no JSON: what is unlimited comes back as null. */
  const limit = z
    .union([amount, z.null()])
    .transform((value) => value ?? undefined)
    .optional();

  const budget = z.object({ tokens: limit, costUsd: limit, seconds: limit, executions: limit });

  const delegationLimits = z.object({
    maxDepth: count,
    defaultMaxTurns: count,
    outputMaxSize: count,
    maxConcurrent: count,
    onFull: z.enum(["queue", "refuse"]),
    summary: z.enum(["auto", "always", "never"]),
    children: budget,
  });

  const conversationLimits = z.object({
    maxTokens: z.union([amount, z.null()]).transform((value) => value ?? Number.POSITIVE_INFINITY),
    minRetainTurns: count,
    pruneThreshold: amount,
  });

  const treeTerms = z.strictObject({
    limits: delegationLimits,
    conversation: conversationLimits,
    onExhausted: z.enum(["wrap-up", "stop"]),
    onLiveChildren: z.enum(["wait", "cancel"]),
    sharedBudget: z.string().optional(),
    wholeAnswers: z.boolean().optional(),
  });

  const rights = z.strictObject({
    use: list(z.string()),
    delegate: list(z.string()),
    deny: list(z.string()),
    spawn: z.boolean(),
  });

  const origin = z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("follow-up"), runId: z.string() }),
    z.strictObject({ kind: z.literal("fork"), runId: z.string(), messages: count }),
    z.strictObject({ kind: z.literal("branch"), runId: z.string(), turn: count, history: list(message) }),
  ]);

  const call = z.strictObject({ callId: z.string(), index: count, background: z.boolean().optional() });

  const runStart = {
    type: z.literal("run-start"),
    agent: z.string(),
    nickname: maybe(z.string()),
    label: z.string(),
    task: userMessage,
    model: z.string(),
    instructions: maybe(z.string()),
    notes: maybe(z.string()),
    maxTurns: count,
    rights,
    origin: maybe(origin),
    call: maybe(call),
    summaryPrompt: maybe(z.string()),
    summarizes: z.literal(true).optional(),
    timeoutMs: maybe(amount),
    budget: maybe(budget),
    terms: maybe(treeTerms),
    cwd: maybe(z.string()),
  };

  const runEnd = {
    type: z.literal("run-end"),
    status: z.enum(["completed", "incomplete", "budget_exceeded", "timeout", "cancelled", "refused", "failed"]),
    stopReason: maybe(z.enum(["turns", "consent"])),
    text: z.string(),
    output: z.unknown().optional(),
    fault: maybe(z.strictObject({ type: errorType, message: z.string(), stack: z.string().optional() })),
    turns: count,
    toolCount: count,
    usage,
    costUsd: amount.nullable(),
    durationMs: amount,
  };

  return { modelErrorKind, errorType, usage, runStart, runEnd };
});
