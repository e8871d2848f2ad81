/** Checks an answer where it enters: a model may be foreign code, and everything behind this trusts its types. */

import { ModelError } from "../../core/errors.ts";
import { isFilePart, isProviderData } from "../../core/message.ts";
import type { FinishReason, ModelAnswer } from "../../core/model.ts";
import { jsonOf } from "../../core/schema.ts";
import type { Usage } from "../../core/usage.ts";

/** Returns the answer, without impossible usage. Throws a `ModelError` that names the first problem. */
export function checkAnswer(answer: ModelAnswer, id: string): ModelAnswer {
  const wrong = problemOf(answer);
  if (wrong !== undefined) {
    throw new ModelError("unknown", `${id} gave a malformed answer: ${wrong}`, { afterOutput: true });
  }
  const usage = checkUsage(answer.usage);
  const providerCalls = checkProviderCalls(answer.providerCalls);
  if (usage === answer.usage && providerCalls === answer.providerCalls) return answer;
  return { ...answer, usage, providerCalls };
}

type Unchecked<T> = { readonly [Key in keyof T]?: unknown };

const FINISHES: Readonly<Record<FinishReason, true>> = {
  stop: true,
  "tool-calls": true,
  length: true,
  "content-filter": true,
  paused: true,
  other: true,
};

function problemOf(answer: Unchecked<ModelAnswer> | undefined | null): string | undefined {
  if (typeof answer !== "object" || answer === null) return `it is ${answer}`;
  const { message, finish } = answer;
  if (typeof message !== "object" || message === null) return "it has no message";
  const { role, content } = message as Unchecked<ModelAnswer["message"]>;
  if (role !== "assistant") return `the role of its message is ${JSON.stringify(role)}, not "assistant"`;
  if (!Array.isArray(content)) return "the content of its message is not a list";
  for (let index = 0; index < content.length; index++) {
    const wrong = problemOfPart(content[index]);
    if (wrong !== undefined) return `content[${index}]${wrong}`;
  }
  return Object.hasOwn(FINISHES, String(finish)) ? undefined : `its finish is ${JSON.stringify(finish)}`;
}

type AnyPart = { [key: string]: unknown };

function problemOfPart(part: AnyPart | null | undefined): string | undefined {
  if (typeof part !== "object" || part === null) return ` is ${part}`;
  if (!isProviderData(part.provider)) return ".provider cannot be stored";
  switch (part.type) {
    case "text":
    case "reasoning":
      return textProblem(part, "text");
    case "tool-call":
      return textProblem(part, "callId") ?? textProblem(part, "toolName");
    case "file":
      return isFilePart(part)
        ? undefined
        : (textProblem(part, "mediaType") ?? textProblem(part, "data") ?? textProblem(part, "filename"));
    case "provider":
      return providerPartProblem(part);
    default:
      return ` has the type ${JSON.stringify(part.type)}`;
  }
}

function providerPartProblem(part: AnyPart): string | undefined {
  const { kind, value, isError } = part;
  if (kind !== "call" && kind !== "result" && kind !== "note") return `.kind is ${JSON.stringify(kind)}`;
  if (isError !== undefined && typeof isError !== "boolean") return ".isError is not a boolean";
  if (jsonOf(value) === undefined) return ".value cannot be stored";
  return textProblem(part, "callId") ?? textProblem(part, "toolName") ?? textProblem(part, "from");
}

function textProblem(part: AnyPart, field: string): string | undefined {
  return typeof part[field] === "string" ? undefined : `.${field} is not a string`;
}

/**
 * Undefined for impossible counts: then they are estimated. The budget of a whole tree depends on these numbers; one that
 * is negative or not a number would disable it.
 */
function checkUsage(usage: Usage | null | undefined): Usage | undefined {
  if (usage === undefined || usage === null) return undefined;
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, totalTokens } = usage;
  if (!isCount(inputTokens) || !isCount(outputTokens)) return undefined;
  const cached = Math.min(countOf(cachedInputTokens), inputTokens);
  const written = Math.min(countOf(cacheWriteTokens), inputTokens - cached);
  const total = Math.max(countOf(totalTokens), inputTokens + outputTokens);
  if (cached === cachedInputTokens && written === cacheWriteTokens && total === totalTokens) return usage;
  const estimated = usage.estimated === true;
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    totalTokens: total,
    estimated,
  };
}

/** Undefined for impossible counts: what is billed must be a number. */
function checkProviderCalls(calls: ModelAnswer["providerCalls"] | null): ModelAnswer["providerCalls"] {
  if (calls === undefined || calls === null) return undefined;
  return Object.values(calls).every((count) => isCount(count)) ? calls : undefined;
}

function isCount(tokens: unknown): tokens is number {
  return Number.isSafeInteger(tokens) && (tokens as number) >= 0;
}

function countOf(tokens: unknown): number {
  return isCount(tokens) ? tokens : 0;
}

/** Max bytes of one answer. A model or a server that does not stop would use up all memory. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

export function answerTooLarge(id: string): ModelError {
  return new ModelError(
    "unknown",
    `The answer of ${id} is larger than 32 MB and was not read to its end: ask for less, or limit its output`,
    { afterOutput: true },
  );
}
