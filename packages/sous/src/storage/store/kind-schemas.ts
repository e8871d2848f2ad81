/** The schema of the two events that frame a run: what it may do and spend, and how it ended. */

import * as z from "zod";
import { ERROR_TYPES } from "./errors.ts";
import { once } from "./schema.ts";
import { RUN_STATUSES, STOP_REASON_WORDS } from "./words/outcomes.ts";

/** More than a person writes. What is longer is not looked into: a million wrong items would be a million errors. */
const MAX_ITEMS = 100_000;

export function list<Item extends z.ZodType>(item: Item): z.ZodType<z.output<Item>[]> {
  const bounded = (value: unknown, context: z.RefinementCtx): unknown => {
    if (!Array.isArray(value) || value.length <= MAX_ITEMS) return value;
    context.addIssue({ code: "too_big", origin: "array", maximum: MAX_ITEMS });
    return z.NEVER;
  };
  return z.preprocess(bounded, z.array(item));
}

/** A field that is always there in memory, and absent in JSON when it is undefined. */
export function maybe<Value extends z.ZodType>(value: Value) {
  return value.optional().transform(asItIs);
}

function asItIs<Value>(value: Value): Value {
  return value;
}

/** Made when first asked for: building schemas takes longer than loading most of sous, and many programs read no journal. */
export const messageSchemas = once(() => {
  /** Whole and not negative: indexes and counts. */
  const count = z.int().min(0);

  /** Not negative and finite: tokens, money, milliseconds. Nothing real is larger than what a number holds exactly. */
  const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER);

  // The parts below come from callers, models and tools, which may have put more into them than sous knows of. That is
  // dropped: refusing it would make a whole tree unreadable because of one unknown field.

  const provider = z.record(z.string(), z.record(z.string(), z.unknown())).exactOptional();

  const textPart = z.object({ type: z.literal("text"), text: z.string(), provider });
  const reasoningPart = z.object({ type: z.literal("reasoning"), text: z.string(), provider });
  const toolCallPart = z.object({
    type: z.literal("tool-call"),
    callId: z.string(),
    toolName: z.string(),
    input: maybe(z.unknown()),
    provider,
  });

  const filePart = z.object({
    type: z.literal("file"),
    mediaType: z.string(),
    data: z.string(),
    filename: z.string().exactOptional(),
    provider,
  });

  const providerPart = z.object({
    type: z.literal("provider"),
    kind: z.enum(["call", "result", "note"]),
    from: z.string(),
    callId: z.string(),
    toolName: z.string(),
    value: maybe(z.unknown()),
    isError: z.boolean().exactOptional(),
    provider,
  });

  const userMessage = z.strictObject({
    role: z.literal("user"),
    content: list(z.discriminatedUnion("type", [textPart, filePart])),
  });

  const assistantMessage = z.strictObject({
    role: z.literal("assistant"),
    content: list(z.discriminatedUnion("type", [textPart, filePart, reasoningPart, toolCallPart, providerPart])),
  });

  const toolResultPart = z.object({
    type: z.literal("tool-result"),
    callId: z.string(),
    toolName: z.string(),
    output: z.string(),
    isError: z.boolean(),
    files: list(filePart).exactOptional(),
  });

  const toolMessage = z.strictObject({ role: z.literal("tool"), content: list(toolResultPart) });

  const message = z.discriminatedUnion("role", [userMessage, assistantMessage, toolMessage]);

  return { count, amount, filePart, userMessage, assistantMessage, message };
});

export const runSchemas = once(() => {
  const { amount, count, message, userMessage } = messageSchemas();

  const modelErrorKind = z.enum([
    "rate_limit",
    "overloaded",
    "network",
    "interrupted",
    "output_schema",
    "auth",
    "spend_limit",
    "context_length",
    "invalid_request",
    "unknown",
  ]);

  const errorType = z.enum(ERROR_TYPES);

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

  /** JSON has no infinity: what is unlimited comes back as null. */
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
    fanOut: z
      .strictObject({ inputs: z.array(z.string()), atOnce: z.int().positive(), wholeAnswers: z.boolean() })
      .optional(),
    hasRules: z.literal(true).optional(),
  });

  const rights = z.strictObject({
    use: list(z.string()),
    delegate: list(z.string()),
    deny: list(z.string()),
    spawn: z.boolean(),
  });

  const price = z.strictObject({
    input: amount,
    output: amount,
    cachedInput: amount.exactOptional(),
    cacheWrite: amount.exactOptional(),
    calls: z.record(z.string(), amount).exactOptional(),
  });

  const jsonSchema = z.record(z.string(), z.unknown());

  const shownTool = z.strictObject({
    name: z.string(),
    description: z.string(),
    inputSchema: jsonSchema,
    category: z.enum(["read", "edit", "search", "execute", "memory", "vfs", "task", "subagent", "other"]),
    tier: z.enum(["observe", "confirm"]),
    effect: z.enum(["read", "idempotent", "unsafe"]),
    agent: z.string().optional(),
    provider: z.string().optional(),
  });

  const tools = z.strictObject({
    hash: z.string(),
    shown: list(shownTool).optional(),
    bytes: count,
    isDeepest: z.boolean(),
    withheld: list(z.string()).optional(),
  });

  const traceparent = z.string().optional();
  const origin = z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("follow-up"), runId: z.string(), traceparent }),
    z.strictObject({ kind: z.literal("fork"), runId: z.string(), messages: count }),
    z.strictObject({ kind: z.literal("branch"), runId: z.string(), turn: count, history: list(message), traceparent }),
  ]);

  const call = z.strictObject({ callId: z.string(), index: count, background: z.boolean().optional() });

  const runStart = {
    type: z.literal("run-start"),
    agent: z.string(),
    nickname: maybe(z.string()),
    label: z.string(),
    task: userMessage,
    model: z.string(),
    price: maybe(price),
    contextWindow: maybe(amount),
    tools,
    outputSchema: maybe(jsonSchema),
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
    traceparent,
  };

  const resumedRun = z.strictObject({
    agent: z.string(),
    label: z.string(),
    model: z.string(),
    call: maybe(call),
    traceparent,
    startedAt: amount,
    turns: count,
    usage,
    retried: usage.optional(),
    answeredSeq: z.int().min(1).optional(),
  });

  const runEnd = {
    type: z.literal("run-end"),
    status: z.enum(RUN_STATUSES),
    stopReason: maybe(z.enum(STOP_REASON_WORDS)),
    text: z.string(),
    output: z.unknown().optional(),
    fault: maybe(z.strictObject({ type: errorType, message: z.string(), stack: z.string().optional() })),
    turns: count,
    toolCount: count,
    usage,
    costUsd: amount.nullable(),
    durationMs: amount,
  };

  return { modelErrorKind, errorType, usage, runStart, resumedRun, runEnd };
});
