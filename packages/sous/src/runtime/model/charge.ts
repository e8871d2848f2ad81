/** The charge for one attempt: what the provider reports, else an estimate that is no less than its bill. */

import { ModelError, messageOf } from "../../core/errors.ts";
import type { Lease } from "../../core/limits.ts";
import { textOf } from "../../core/message.ts";
import type { ModelAnswer } from "../../core/model.ts";
import type { BilledAnswer } from "../../core/tree-ports.ts";
import { addCost, costOf, noUsage, type Usage, utf8Length } from "../../core/usage.ts";
import type { Question } from "./ask.ts";
import { inputIn, type ReportedInput } from "./reported.ts";

/** The attempt, as far as its charge depends on it. */
export type Attempt = Pick<
  Question,
  "need" | "scope" | "isAccepted" | "receivedBytes" | "hasUnmeasured" | "wire" | "lastWordsAfter"
>;

export function settleAnswer(answer: ModelAnswer, lease: Lease, attempt: Attempt): BilledAnswer {
  const { message, finish, providerCalls } = answer;
  const { need, receivedBytes } = attempt;
  const usage = answer.usage ?? estimateUsage(attempt, lease, receivedBytes || utf8Length(textOf(message)));
  const costUsd = costOf(usage, need.price, providerCalls);
  lease.settle({ tokens: usage.totalTokens, costUsd }, attempt.lastWordsAfter(usage));
  return { message, finish, usage, costUsd, providerCalls };
}

export type Failure = { error: unknown; usage: Usage; costUsd: number | null };

/** Settles a failed attempt. A provider bills for what it has written: without its own figures an estimate is charged, and marked. */
export function settleFailure(thrown: unknown, late: ModelAnswer | undefined, lease: Lease, attempt: Attempt): Failure {
  const error = attempt.scope.aborted ? attempt.scope.reason : toModelError(thrown);
  if (late?.usage !== undefined) {
    const { usage, costUsd } = settleAnswer(late, lease, attempt);
    return { error, usage, costUsd };
  }
  if (!hasBegun(thrown, attempt)) return { error, usage: noUsage(), costUsd: 0 };
  const { receivedBytes, wire } = attempt;
  const usage = estimateUsage(attempt, lease, receivedBytes + (wire.body?.unfinishedBytes ?? 0)); // guard: unfinished-bytes
  const costUsd = costOfCut(usage, attempt);
  lease.settle({ tokens: usage.totalTokens, costUsd });
  return { error, usage, costUsd };
}

/** True when the provider bills the attempt. It may accept a call and then refuse it in its answer: its error says which. */
function hasBegun(thrown: unknown, attempt: Attempt): boolean {
  const { receivedBytes, hasUnmeasured, isAccepted, wire } = attempt;
  if (receivedBytes > 0 || hasUnmeasured || reportedInput(attempt) !== undefined) return true;
  if (thrown instanceof ModelError) return thrown.afterOutput;
  return isAccepted === true || wire.body !== undefined;
}

function reportedInput({ wire: { body } }: Attempt): ReportedInput | undefined {
  return body && inputIn(body.beginning); // guard: reported-input
}

/** The usage of an attempt for which the provider gave none: what arrived, or all that was reserved where its size does not show. */
function estimateUsage(attempt: Attempt, lease: Pick<Lease, "outputCap">, bytes: number): Usage {
  const { need, hasUnmeasured, wire } = attempt;
  const reported = reportedInput(attempt);
  const inputTokens = (reported?.inputTokens ?? need.promptTokens) + Math.ceil((wire.readBytes ?? 0) / 3);
  let outputTokens = Math.ceil(bytes / 3);
  // guard: held-to-cap
  outputTokens = Math.min(outputTokens, lease.outputCap);
  // guard: charged-at-cap
  if (hasUnmeasured || wire.hidesOutput === true || wire.body?.hasUnfinishedBlock === true)
    outputTokens = Number.isFinite(lease.outputCap) ? lease.outputCap : Math.max(outputTokens, need.outputCap);
  const totalTokens = inputTokens + outputTokens;
  return { ...noUsage(), ...reported, inputTokens, outputTokens, totalTokens, estimated: true };
}

/** The fees of calls that do not show are those that were reserved. A prompt of unknown parts costs as if all of it was written to a cache. */
function costOfCut(usage: Usage, attempt: Attempt): number | null {
  const { price, wholeUsd = 0 } = attempt.need;
  const { hidesOutput, countCalls } = attempt.wire;
  const isWritten = reportedInput(attempt) === undefined && (price?.cacheWrite ?? 0) > (price?.input ?? 0);
  const cost = costOf(isWritten ? { ...usage, cacheWriteTokens: usage.inputTokens } : usage, price, countCalls?.());
  return addCost(cost, hidesOutput === true && countCalls === undefined ? wholeUsd : 0);
}

/** Any other error of a model is a bug in it: it ends the run and is not tried again. */
function toModelError(error: unknown): unknown {
  if (error instanceof ModelError) return error;
  return new ModelError("unknown", `The model failed: ${messageOf(error)}`, { cause: error });
}
