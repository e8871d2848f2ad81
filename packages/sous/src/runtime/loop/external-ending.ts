/** Reads the answer of an external agent: the ending of its run, and its bill. */

import { ModelError, messageOf } from "../../core/errors.ts";
import type { ExternalAnswer } from "../../core/external-agent.ts";
import type { FinishReason } from "../../core/model.ts";
import { LACKS_APPROVAL } from "../../core/outcome.ts";
import type { Run } from "../../core/run.ts";
import { noUsage, type Usage, utf8Length } from "../../core/usage.ts";
import { type Ending, OUT_OF_TURNS } from "./ending.ts";
import { parseOutput } from "./parse-output.ts";

/** An answer that does not have the right shape is not asked for again. */
export async function endingAfter(run: Run, finish: FinishReason, wasRefused: boolean): Promise<Ending> {
  const name = run.profile.model.id;
  // Some agents end their turn when they are not allowed something.
  if (wasRefused && (finish === "other" || (finish === "stop" && run.text.trim() === ""))) return LACKS_APPROVAL;
  if (finish === "content-filter")
    return { status: "refused", fault: { type: "refused", message: `${name} refused the task` } };
  if (finish === "length") return OUT_OF_TURNS;
  if (finish === "other") return failed(`${name} ended its turn before it was done`);
  if (run.text.trim() === "") return failed(`${name} gave an empty answer`);
  if (run.profile.output === undefined) return { status: "completed" };
  const parsed = await parseOutput(run);
  if (parsed.ok) return { status: "completed", output: parsed.value };
  return failed(`The answer does not match the output schema: ${parsed.problems.join("; ")}`);
}

export function failed(message: string): Ending {
  return { status: "failed", fault: { type: "model", message } };
}

export const FINISHES: Readonly<Record<ExternalAnswer["stop"], FinishReason>> = {
  done: "stop",
  refused: "content-filter",
  length: "length",
  turns: "length",
  cancelled: "other",
};

export function toModelError(error: unknown, name: string): unknown {
  if (error instanceof ModelError) return error;
  return new ModelError("unknown", `${name} failed: ${messageOf(error)}`, { cause: error, afterOutput: true });
}

/** The last report of a running agent, or what was reserved, or an estimate: marked as one. */
export function unknownUsage(reported: number | undefined, promptTokens: number, held: number, text: string): Usage {
  const estimate = promptTokens + tokensIn(text);
  const totalTokens = Math.max(reported ?? (Number.isFinite(held) ? held : 0), estimate);
  const outputTokens = totalTokens - promptTokens;
  return { ...noUsage(), inputTokens: promptTokens, outputTokens, totalTokens, estimated: true };
}

/** A partial report counts as at least what is known otherwise. */
export function billedUsage(reported: Usage | undefined, unknown: Usage): Usage {
  if (reported === undefined) return unknown;
  return reported.estimated && reported.totalTokens < unknown.totalTokens ? unknown : reported;
}

export function tokensIn(text: string): number {
  return Math.ceil(utf8Length(text) / 3);
}
