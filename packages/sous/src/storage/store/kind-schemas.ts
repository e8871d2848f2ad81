/** One schema for each kind of field that stored events have. Schema and type are the same at any depth, or it does not compile. */

import * as z from "zod";
import { ERROR_TYPES } from "../../core/errors.ts";
import type { StoredBody } from "../../core/event.ts";
import { once } from "../../core/schema.ts";
import type { EVENTS } from "../../core/words/events.ts";
import type { Kinds } from "../../core/words/kinds.ts";
import { type DelegationLimit, type DelegationLimits, LIMIT_NAMES, LIMITS } from "../../core/words/limits.ts";
import { MODEL_ERROR_KINDS } from "../../core/words/model-errors.ts";
import { RUN_STATUSES, STOP_REASON_WORDS } from "../../core/words/outcomes.ts";

type StoredType = Extract<keyof typeof EVENTS, StoredBody["type"]>;
type Fields<Type extends StoredType> = (typeof EVENTS)[Type]["fields"];
type WithoutMark<Word> = Word extends `${infer Kind}?` ? Kind : Word;
/** The kinds of fields that stored events have. */
type StoredKind = { [Type in StoredType]: WithoutMark<Fields<Type>[keyof Fields<Type>]> }[StoredType];

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

/** Builds the schemas on first use: that takes longer than loading most of sous, and many programs read no journal. */
export const messageSchemas = once(() => {
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

  return { filePart, userMessage, assistantMessage, message };
});

export const kindSchemas = once(() => {
  const { filePart, userMessage, assistantMessage, message } = messageSchemas();

  const count = z.int().min(0);
  // Nothing real is larger than what a number holds exactly.
  const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER);
  const errorType = z.enum(ERROR_TYPES);
  const record = z.record(z.string(), z.unknown());

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

  const limits = LIMIT_NAMES.map((name) => {
    const row = LIMITS[name];
    const value: z.ZodType = "words" in row ? z.enum(row.words) : count;
    // A run from before this limit has its default.
    return [name, row.since === undefined ? value : value.default(row.default)];
  });
  const delegationLimits = z.strictObject({
    ...(Object.fromEntries(limits) as { [Name in DelegationLimit]: z.ZodType<DelegationLimits[Name]> }),
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
    requireAll: z.literal(true).optional(),
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

  const shownTool = z.strictObject({
    name: z.string(),
    description: z.string(),
    inputSchema: record,
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

  const placed = z.strictObject({
    rootId: z.string(),
    summary: z.strictObject({ mode: z.enum(LIMITS.summary.words), maxBytes: count }).optional(),
    budgets: list(
      z.strictObject({ name: z.string(), limits: z.object({ tokens: limit, costUsd: limit, executions: limit }) }),
    ),
    asks: z.literal(true).optional(),
  });

  const traceparent = z.string().optional();
  const origin = z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("follow-up"), runId: z.string(), traceparent }),
    z.strictObject({ kind: z.literal("fork"), runId: z.string(), messages: count }),
    z.strictObject({ kind: z.literal("branch"), runId: z.string(), turn: count, history: list(message), traceparent }),
  ]);

  const call = z.strictObject({ callId: z.string(), index: count, background: z.boolean().optional() });

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

  return {
    id: z.string(),
    text: z.string(),
    json: z.unknown(),
    record,
    count,
    amount,
    cost: amount.nullable(),
    flag: z.boolean(),
    yes: z.literal(true),
    phase: z.enum(["start", "end"]),
    answerer: z.enum(["person", "nobody", "cancelled"]),
    cutText: z.enum(["report", "tool-result"]),
    finish: z.enum(["stop", "tool-calls", "length", "content-filter", "paused", "other"]),
    errorType,
    modelErrorKind: z.enum(MODEL_ERROR_KINDS),
    cancelMode: z.enum(["stop", "wrap-up", "last-words"]),
    noticeReason: z.enum([
      "summary",
      "output-repair",
      "wrap-up",
      "empty-answer",
      "cut-answer",
      "no-report",
      "interrupted",
    ]),
    status: z.enum(RUN_STATUSES),
    stopReason: z.enum(STOP_REASON_WORDS),
    task: userMessage,
    answer: assistantMessage,
    files: list(filePart),
    usage,
    providerCalls: z.record(z.string(), count),
    price,
    tools,
    rights,
    origin,
    call,
    budget,
    terms: treeTerms,
    placed,
    toolOrigin: z.object({ server: z.string(), tool: z.string(), definition: z.string().optional() }),
    callTarget: z.strictObject({ paths: list(z.string()), sha256: z.string().optional() }),
    resumedRun,
    fault: z.strictObject({
      type: errorType,
      message: z.string(),
      kind: z.enum(MODEL_ERROR_KINDS).optional(),
      stack: z.string().optional(),
    }),
  } satisfies { [Each in StoredKind]: z.ZodType<Kinds[Each]> };
});

type Parsed = { [Each in StoredKind]: z.output<ReturnType<typeof kindSchemas>[Each]> };
/** The type without differences that do not count: lists lose `readonly` in a schema, and an optional field counts as a field. */
type Spelled<T> = T extends object ? { readonly [Key in keyof T]-?: [Spelled<T[Key]>] } : T;
/** `satisfies` alone is one-way: a schema that knows fewer words than the type, or lacks a field, would pass it. */
type Different = {
  [Each in StoredKind]: [Spelled<Kinds[Each]>, Spelled<Parsed[Each]>] extends [
    Spelled<Parsed[Each]>,
    Spelled<Kinds[Each]>,
  ]
    ? never
    : Each;
}[StoredKind];
true satisfies [Different] extends [never] ? true : { schemaAndTypeDiffer: Different };
