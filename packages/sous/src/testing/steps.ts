/** The steps that an answer of a scripted model is made of. */

import { ModelError, type ModelErrorKind } from "../core/errors.ts";
import type { ModelAnswer } from "../core/model.ts";

/** One thing a scripted model does while it answers. Made by the functions below, in the order they should happen. */
export type Step =
  | { readonly step: "text"; readonly chunks: readonly string[] }
  | { readonly step: "reasoning"; readonly text: string }
  | { readonly step: "call"; readonly toolName: string; readonly input: unknown; readonly callId: string | undefined }
  | { readonly step: "fail"; readonly error: Error }
  | { readonly step: "hang" }
  | { readonly step: "finish"; readonly finish: "content-filter" | "length" | "other" }
  | { readonly step: "usage"; readonly usage: ScriptedUsage | undefined }
  | { readonly step: "wait"; readonly milliseconds: number }
  | { readonly step: "answer"; readonly answer: ModelAnswer };

/** Tokens as a script states them. `cached` and `cacheWrite` are parts of `input`. */
export type ScriptedUsage = { input: number; output: number; cached?: number; cacheWrite?: number };

/** Says the text in one piece. */
export function says(text: string): Step {
  return { step: "text", chunks: [text] };
}

/** Says a text that arrives in these pieces. */
export function streams(...chunks: readonly string[]): Step {
  return { step: "text", chunks };
}

/** Thinks aloud before it answers. */
export function thinks(text: string): Step {
  return { step: "reasoning", text };
}

/** Calls a tool. Without `callId` the call gets an id that is unique in the tree and the same in every run. */
export function calls(toolName: string, input: unknown = {}, callId?: string): Step {
  return { step: "call", toolName, input, callId };
}

/**
 * Fails at this point; the next call takes the next answer of the script. A kind becomes a `ModelError` of that kind;
 * an error is thrown as it is, like a crash in a provider's code.
 */
export function fails(
  error: ModelErrorKind | Error,
  details: { retryAfterMs?: number; status?: number; message?: string } = {},
): Step {
  if (error instanceof Error) return { step: "fail", error };
  const { message = `The script fails with ${error}`, ...rest } = details;
  return { step: "fail", error: new ModelError(error, message, rest) };
}

/** Says nothing more until the run is stopped. */
export function hangs(): Step {
  return { step: "hang" };
}

/** The stream ends here without a proper finish: the same as `fails("interrupted")`. Put it behind what came before the cut. */
export function cuts(): Step {
  return { step: "fail", error: new ModelError("interrupted", "The stream was cut") };
}

/** Finishes as a refusal (`content-filter`). */
export function refuses(): Step {
  return { step: "finish", finish: "content-filter" };
}

/** Finishes because the answer was too long (`length`). */
export function stopsAtLength(): Step {
  return { step: "finish", finish: "length" };
}

/** Reports exactly this usage instead of an estimate. */
export function uses(usage: ScriptedUsage): Step {
  return { step: "usage", usage };
}

/** Reports no usage, as some providers do. */
export function reportsNoUsage(): Step {
  return { step: "usage", usage: undefined };
}

/** Waits this long on the model's clock. */
export function after(milliseconds: number): Step {
  return { step: "wait", milliseconds };
}

/** Gives exactly this answer, as a cassette does: nothing else of its turn counts. */
export function answers(answer: ModelAnswer): Step {
  return { step: "answer", answer };
}
