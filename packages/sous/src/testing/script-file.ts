/** A script as a JSON file: what a scripted model answers, by agent path. It drives agents without a key or a network. */

import * as z from "zod";
import { ModelError, messageOf, UserError } from "../core/errors.ts";
import { once } from "../core/schema.ts";
import { MODEL_ERROR_KINDS } from "../core/words/model-errors.ts";
import type { Answer, Script, Step } from "./steps.ts";

const scriptSchema = once(() => {
  const call = z.strictObject({ tool: z.string(), input: z.unknown().optional(), id: z.string().optional() });
  const answer = z.strictObject({
    wait_ms: z.number().min(0).max(3_600_000).optional(),
    reasoning: z.string().optional(),
    /** The text in one piece, or in the pieces it arrives in. */
    text: z.union([z.string(), z.array(z.string())]).optional(),
    calls: z.array(call).optional(),
    usage: z.strictObject({ input: z.int().min(0), output: z.int().min(0) }).optional(),
    ending: z.enum(["refuses", "stops_at_length", "hangs"]).optional(),
    error: z.strictObject({ kind: z.enum(MODEL_ERROR_KINDS), message: z.string().optional() }).optional(),
  });
  return z.record(z.string(), z.array(answer));
});

type FileAnswer = z.output<ReturnType<typeof scriptSchema>>[string][number];

/** Keys are agent paths or patterns, values the answers in their order. Throws a `UserError` that names the path. */
export function parseScript(text: string, file: string): Script {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UserError(`${file} is not valid JSON: ${messageOf(error)}`);
  }
  const parsed = scriptSchema().safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new UserError(`${file} is not a script: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  return Object.fromEntries(Object.entries(parsed.data).map(([path, answers]) => [path, answers.map(toAnswer)]));
}

function toAnswer({ wait_ms: delayMs, reasoning, text, calls = [], usage, ending, error }: FileAnswer): Answer {
  const steps: Step[] = [];
  if (delayMs !== undefined) steps.push({ step: "wait", delayMs });
  if (reasoning !== undefined) steps.push({ step: "reasoning", text: reasoning });
  if (text !== undefined) steps.push({ step: "text", chunks: typeof text === "string" ? [text] : text });
  for (const { tool, input = {}, id } of calls) steps.push({ step: "call", toolName: tool, input, callId: id });
  if (usage !== undefined) steps.push({ step: "usage", usage });
  if (error !== undefined) {
    const { kind, message = `The script fails with ${kind}` } = error;
    steps.push({ step: "fail", error: new ModelError(kind, message) });
  }
  if (ending === "refuses") steps.push({ step: "finish", finish: "content-filter" });
  if (ending === "stops_at_length") steps.push({ step: "finish", finish: "length" });
  if (ending === "hangs") steps.push({ step: "hang" });
  return steps;
}
