/** One question to a model, seen from a run: budget, a slot, the attempt, and what to do when the attempt fails. */

import type { Clock, Random } from "../core/clock.ts";
import { ModelError, messageOf, StoreError } from "../core/errors.ts";
import type { CallNeed, Lease } from "../core/limits.ts";
import { textOf } from "../core/message.ts";
import type { Model, ModelAnswer, ModelRequest, OnDelta } from "../core/model.ts";
import type { BilledAnswer } from "../core/run.ts";
import { type Scope, untilAborted } from "../core/scope.ts";
import { costOf, noUsage, type Usage, utf8Length } from "../core/usage.ts";
import { checkAnswer } from "./check-answer.ts";
import type { Governor } from "./governor.ts";

/** What is asked, of whom, and what the asking run wants to hear. One object for all attempts. */
export type Question = {
  readonly model: Model;
  readonly governor: Governor;
  readonly need: CallNeed;
  readonly scope: Scope;
  readonly clock: Clock;
  readonly random: Random;
  /** A lease for one attempt; each attempt has its own. */
  lease(): Lease | Promise<Lease>;
  /** The request of one attempt. */
  request(lease: Lease): ModelRequest;
  /** Settles like the answer, or rejects when the run is stopped: it does not wait for a model that ignores its signal. */
  untilStopped(answer: Promise<ModelAnswer>): Promise<ModelAnswer>;
  /** Lets go of what the attempt held. */
  endAttempt(): void;
  /** Before each attempt: everything recorded so far is kept; the first one records the turn. */
  onReady(lease: Lease, attempt: number): Promise<void> | undefined;
  /** Hears one attempt, and only while it lasts: a model may go on talking when it has answered or failed. */
  listener(): OnDelta;
  /** Bytes of text that came of this attempt so far. */
  readonly receivedBytes: number;
  /** An attempt failed and will be tried again. */
  onRetry(failure: FailedAttempt): void;
  /** Spent by an attempt that gave no answer. */
  onWaste(usage: Usage, costUsd: number | null): void;
};

export type FailedAttempt = {
  attempt: number;
  delayMs: number;
  error: ModelError;
  usage: Usage;
  costUsd: number | null;
};

type Failure = { error: unknown; usage: Usage; costUsd: number | null };

const MAX_RETRIES = 4;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;

/**
 * Asks until there is an answer. Throws the last `ModelError`, `BudgetExceeded`, or the scope's reason. Each attempt has a
 * lease and a slot, and both are given back whatever happens, so a run in back-off keeps nobody else waiting.
 */
export async function askModel(question: Question, attempt = 1): Promise<BilledAnswer> {
  const { governor, scope, model } = question;
  const leasing = question.lease();
  const lease = leasing instanceof Promise ? await leasing : leasing;
  let failure: Failure;
  let answer: Promise<ModelAnswer> | undefined;
  let holdsSlot = false;
  try {
    const queued = governor.take(scope);
    if (queued !== undefined) await queued;
    holdsSlot = true;
    const recording = question.onReady(lease, attempt);
    if (recording !== undefined) await recording;
    scope.throwIfAborted();
    answer = model.answer(question.request(lease), question.listener());
    return settleAnswer(checkAnswer(await question.untilStopped(answer), model.id), lease, question);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const late = scope.aborted && answer !== undefined ? await arrived(answer) : undefined;
    failure = settleFailure(error, late, lease, question);
  } finally {
    question.endAttempt();
    if (holdsSlot) governor.release();
    lease[Symbol.dispose]();
  }
  await pauseOrGiveUp(failure, attempt, question);
  return askModel(question, attempt + 1);
}

async function pauseOrGiveUp({ error, usage, costUsd }: Failure, attempt: number, question: Question): Promise<void> {
  if (!(error instanceof ModelError && error.isRetryable) || attempt > (question.model.maxRetries ?? MAX_RETRIES)) {
    question.onWaste(usage, costUsd);
    throw error;
  }
  const delayMs = isDelay(error.retryAfterMs) ? error.retryAfterMs : backoff(attempt, question.random);
  // The hold is for everybody on this model.
  if (error.kind === "rate_limit" || error.kind === "overloaded") question.governor.hold(delayMs);
  question.onRetry({ attempt, delayMs, error, usage, costUsd });
  await pause(delayMs, question);
}

function settleAnswer(answer: ModelAnswer, lease: Lease, question: Question): BilledAnswer {
  const { message, finish } = answer;
  const { need } = question;
  const usage = answer.usage ?? estimateUsage(need, question.receivedBytes || utf8Length(textOf(message)));
  const costUsd = costOf(usage, need.price);
  lease.settle({ tokens: usage.totalTokens, costUsd });
  return { message, finish, usage, costUsd };
}

/** An answer that is there by now: the run was stopped in the moment it came. Nobody waits for one that is not. */
function arrived(answer: Promise<ModelAnswer>): Promise<ModelAnswer | undefined> {
  const settled = answer.then(
    (value) => value,
    () => undefined,
  );
  return Promise.race([settled, Promise.resolve().then(() => undefined)]);
}

/** When bytes came, the provider will bill for them; without its own figure the estimate is charged, and marked. */
function settleFailure(thrown: unknown, late: ModelAnswer | undefined, lease: Lease, question: Question): Failure {
  const { need, scope } = question;
  const error = scope.aborted ? scope.reason : toModelError(thrown);
  if (late?.usage !== undefined) {
    const { usage, costUsd } = settleAnswer(late, lease, question);
    return { error, usage, costUsd };
  }
  const { receivedBytes } = question;
  const hasOutput = receivedBytes > 0 || (thrown instanceof ModelError && thrown.afterOutput);
  if (!hasOutput) return { error, usage: noUsage(), costUsd: 0 };
  const usage = estimateUsage(need, receivedBytes);
  const costUsd = costOf(usage, need.price);
  lease.settle({ tokens: usage.totalTokens, costUsd });
  return { error, usage, costUsd };
}

function estimateUsage(need: CallNeed, outputBytes: number): Usage {
  const inputTokens = need.promptTokens;
  const outputTokens = Math.ceil(outputBytes / 3);
  return { ...noUsage(), inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, estimated: true };
}

/** A model that throws something else has a fault of its own: it ends the run, and is not tried again. */
function toModelError(error: unknown): unknown {
  if (error instanceof ModelError) return error;
  return new ModelError("unknown", `The model failed: ${messageOf(error)}`, { cause: error });
}

function isDelay(milliseconds: number | undefined): milliseconds is number {
  return milliseconds !== undefined && Number.isFinite(milliseconds) && milliseconds >= 0;
}

/** Doubles from half a second, with full jitter above the first half. */
function backoff(attempt: number, random: Random): number {
  const ceiling = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return Math.round(ceiling / 2 + (random() * ceiling) / 2);
}

async function pause(milliseconds: number, { clock, scope }: Question): Promise<void> {
  let timer: Disposable | undefined;
  try {
    await untilAborted(new Promise<void>((resolve) => (timer = clock.timer(milliseconds, resolve))), scope);
  } finally {
    timer?.[Symbol.dispose]();
  }
}
