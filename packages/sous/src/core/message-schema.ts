/** The schema of messages as a journal keeps them, and of the numbers and lists that all stored values are made of. */

import * as z from "zod";
import { once } from "./once.ts";

/** More than anybody writes. What is longer is not looked into: a million wrong items would be a million errors. */
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
  /** Whole and not negative: places, counts of things. */
  const count = z.int().min(0);

  /** Not negative and finite: tokens, money, milliseconds. Nothing real is larger than what a number holds exactly. */
  const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER);

  // The parts below come from callers, models and tools, which may have put more into them than sous knows of. That is
  // dropped: refusing it would make a whole tree unreadable for a stranger's word.

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

  const userMessage = z.strictObject({
    role: z.literal("user"),
    content: list(z.discriminatedUnion("type", [textPart, filePart])),
  });

  const assistantMessage = z.strictObject({
    role: z.literal("assistant"),
    content: list(z.discriminatedUnion("type", [textPart, filePart, reasoningPart, toolCallPart])),
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
