/** The script of a scripted model: the answers of each agent, found by its path, and the steps they are made of. */

import { ModelError } from "../core/errors.ts";
import type { ModelAnswer, ModelRequest } from "../core/model.ts";
import type { ModelErrorKind } from "../core/words/model-errors.ts";

/** One thing a scripted model does while it answers. Made by the functions below, in the order they should happen. */
export type Step =
  | { readonly step: "text"; readonly chunks: readonly string[] }
  | { readonly step: "reasoning"; readonly text: string }
  | { readonly step: "call"; readonly toolName: string; readonly input: unknown; readonly callId: string | undefined }
  | { readonly step: "call-begin"; readonly toolName: string; readonly json: string }
  | { readonly step: "hidden" }
  | { readonly step: "fail"; readonly error: Error }
  | { readonly step: "hang" }
  | { readonly step: "finish"; readonly finish: "content-filter" | "length" | "other" }
  | { readonly step: "usage"; readonly usage: ScriptedUsage | undefined }
  | { readonly step: "wait"; readonly delayMs: number }
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

/** Thinks without showing it, as models do whose thoughts come encrypted. An attempt that fails behind it costs its whole output cap. */
export function thinksUnseen(): Step {
  return { step: "hidden" };
}

/** Begins a call, of whose arguments this much arrives before what comes next cuts it: `beginsCall("look", '{"pa'), cuts()`. */
export function beginsCall(toolName: string, json: string): Step {
  return { step: "call-begin", toolName, json };
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
  return { step: "wait", delayMs: milliseconds };
}

/** Gives exactly this answer, as a cassette does: nothing else of its turn counts. */
export function answers(answer: ModelAnswer): Step {
  return { step: "answer", answer };
}

/** One answer: a step, or several in their order. */
export type Answer = Step | readonly Step[];

/** One answer, or a function that makes it from the request. */
export type ScriptTurn = Answer | ((request: ModelRequest) => Answer);

/** The answers of one agent in their order, or one function that makes all of them. */
export type ScriptLines = readonly ScriptTurn[] | ((request: ModelRequest) => Answer);

/** Keys are agent paths (`lead/scout#2`) or patterns: `*` stands for anything within one segment, `**` for anything. */
export type Script = { readonly [pathPattern: string]: ScriptLines };

/** The lines of the exact path, else those of the pattern that spells out the most of it. */
export function findLines(script: Script, path: string): ScriptLines {
  if (Object.hasOwn(script, path)) return script[path] ?? [];
  const patterns = Object.keys(script).filter((pattern) => pattern.includes("*") && fitsPath(pattern, path));
  const [longest] = patterns.sort((one, other) => literalLength(other) - literalLength(one));
  if (longest === undefined) {
    throw new ModelError(
      "invalid_request",
      `The script has no answers for ${path}; it has them for ${Object.keys(script).join(", ")}`,
    );
  }
  return script[longest] ?? [];
}

/** `lead/**` spells out as much as `lead/*` and says less, so it counts a little less. */
function literalLength(pattern: string): number {
  return pattern.replaceAll("*", "").length - (pattern.includes("**") ? 0.5 : 0);
}

/** Steps through the path with every part of the pattern that fits so far: no text makes it try again. */
function fitsPath(pattern: string, path: string): boolean {
  const parts = pattern.match(/\*\*|\*|[^*]/gu) ?? [];
  let open = withSkipped(new Set([0]), parts);
  for (const character of path) {
    const next = new Set<number>();
    for (const index of open) {
      const expected = parts[index];
      if (expected === "**") next.add(index);
      else if (expected === "*" && character !== "/") next.add(index).add(index + 1);
      else if (expected === character) next.add(index + 1);
    }
    open = withSkipped(next, parts);
  }
  return open.has(parts.length);
}

/** `**` also stands for nothing. */
function withSkipped(open: Set<number>, parts: readonly string[]): Set<number> {
  for (const index of open) if (parts[index] === "**") open.add(index + 1);
  return open;
}
