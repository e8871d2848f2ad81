/** One question to a model, seen from a run: budget, a slot, the attempt, and what to do when the attempt fails. */

import type { Amount } from "../core/amount.ts";
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
  /** What the run keeps for its last words after an answer of this size. */
  lastWordsAfter(usage: Usage): Amount;
  /** The request of one attempt. */
  request(lease: Lease): ModelRequest;
  /** Called when the run is stopped before the attempt has ended. */
  onStop(listener: (reason: unknown) => void): void;
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
/** A provider that asks for more than this is not waited for. */
const LONGEST_RETRY_AFTER_MS = 5 * 60_000;
/** An answer that is made when the run is stopped comes through a few functions. */
const TICKS_TO_ANSWER = 8;

/** Asks until there is an answer. Throws the last `ModelError`, `BudgetExceeded`, or the scope's reason. */
export function askModel(question: Question): Promise<BilledAnswer> {
  return new Promise((resolve, reject) => void new Asking(question, resolve, reject).attempt());
}

/**
 * A question on its way to its answer. Each attempt has a lease and a slot, and both are given back whatever happens, so a
 * run in back-off keeps nobody else waiting. An object, not a suspended function: every live child waits in one.
 */
class Asking {
  readonly #question: Question;
  readonly #resolve: (answer: BilledAnswer) => void;
  readonly #reject: (error: unknown) => void;
  #attempts = 0;
  #lease: Lease | undefined;
  #holdsSlot = false;
  /** Set while the attempt waits for it. */
  #answer: Promise<ModelAnswer> | undefined;

  constructor(question: Question, resolve: (answer: BilledAnswer) => void, reject: (error: unknown) => void) {
    this.#question = question;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Pays, waits for its turn, and asks. */
  async attempt(): Promise<void> {
    this.#attempts += 1;
    const question = this.#question;
    const { governor, scope, model } = question;
    try {
      const leasing = question.lease();
      const lease = leasing instanceof Promise ? await leasing : leasing;
      this.#lease = lease;
      const queued = governor.take(scope);
      if (queued !== undefined) await queued;
      this.#holdsSlot = true;
      const recording = question.onReady(lease, this.#attempts);
      if (recording !== undefined) await recording;
      scope.throwIfAborted();
      // A model may be anybody's code: what it gives back settles once, and not before it is waited for.
      this.#answer = Promise.resolve(model.answer(question.request(lease), question.listener()));
      this.#wait(this.#answer, lease);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** For the answer, or for the end of the run: it does not wait for a model that ignores its signal. */
  #wait(answer: Promise<ModelAnswer>, lease: Lease): void {
    const question = this.#question;
    const fail = (error: unknown) => {
      if (this.#answer === answer) this.#failed(error);
    };
    question.onStop(fail);
    answer.then((value) => {
      if (this.#answer !== answer) return;
      let billed: BilledAnswer;
      try {
        billed = settleAnswer(checkAnswer(value, question.model.id), lease, question);
      } catch (error) {
        fail(error);
        return;
      }
      this.#endAttempt();
      this.#resolve(billed);
    }, fail);
  }

  #failed(error: unknown): void {
    const answer = this.#answer;
    this.#answer = undefined;
    // An answer that is there by now: the run was stopped in the moment it came.
    if (this.#question.scope.aborted && answer !== undefined)
      arrived(answer, this.#question.model.id).then((late) => this.#tryAgain(error, late));
    else this.#tryAgain(error, undefined);
  }

  /** Settles what the attempt has cost. In one go: whoever is stopped by this failure must not have got its slot first. */
  #tryAgain(error: unknown, late: ModelAnswer | undefined): void {
    const lease = this.#lease;
    try {
      if (lease === undefined || error instanceof StoreError) throw error;
      const failure = settleFailure(error, late, lease, this.#question);
      const delayMs = delayOrGiveUp(failure, this.#attempts, this.#question);
      pause(delayMs, this.#question).then(() => this.attempt(), this.#reject);
    } catch (thrown) {
      this.#reject(thrown);
    } finally {
      this.#endAttempt();
    }
  }

  #endAttempt(): void {
    this.#answer = undefined;
    this.#question.endAttempt();
    if (this.#holdsSlot) this.#question.governor.release();
    this.#holdsSlot = false;
    this.#lease?.[Symbol.dispose]();
    this.#lease = undefined;
  }
}

/** How long to wait before the next attempt. Throws when there is none. */
function delayOrGiveUp({ error, usage, costUsd }: Failure, attempt: number, question: Question): number {
  if (!(error instanceof ModelError && error.isRetryable) || attempt > (question.model.maxRetries ?? MAX_RETRIES)) {
    question.onWaste(usage, costUsd);
    throw error;
  }
  if (isDelay(error.retryAfterMs) && error.retryAfterMs > LONGEST_RETRY_AFTER_MS) {
    question.onWaste(usage, costUsd);
    throw waitsTooLong(error, error.retryAfterMs);
  }
  const delayMs = isDelay(error.retryAfterMs) ? error.retryAfterMs : backoff(attempt, question.random);
  // The hold is for everybody on this model.
  if (error.kind === "rate_limit" || error.kind === "overloaded") question.governor.hold(delayMs);
  question.onRetry({ attempt, delayMs, error, usage, costUsd });
  return delayMs;
}

function settleAnswer(answer: ModelAnswer, lease: Lease, question: Question): BilledAnswer {
  const { message, finish } = answer;
  const { need } = question;
  const usage = answer.usage ?? estimateUsage(need, question.receivedBytes || utf8Length(textOf(message)));
  const costUsd = costOf(usage, need.price);
  lease.settle({ tokens: usage.totalTokens, costUsd }, question.lastWordsAfter(usage));
  return { message, finish, usage, costUsd };
}

/** The answer, if it is there by now and is one. Nobody waits for one that is not. */
async function arrived(answer: Promise<ModelAnswer>, id: string): Promise<ModelAnswer | undefined> {
  let late: ModelAnswer | undefined;
  answer.then(
    (value) => {
      late = value;
    },
    () => {},
  );
  // The model is told after this, and may answer at once with what it has.
  for (let tick = 0; tick < TICKS_TO_ANSWER; tick++) await undefined;
  try {
    return late && checkAnswer(late, id);
  } catch {
    return undefined;
  }
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

function waitsTooLong(error: ModelError, milliseconds: number): ModelError {
  const { kind, message, status, afterOutput } = error;
  const minutes = Math.ceil(milliseconds / 60_000);
  const sentence = `${message}. It asks to wait ${minutes} minutes, and sous waits for at most 5: run it again later, or choose another model`;
  return new ModelError(kind, sentence, { cause: error, status, afterOutput, retryAfterMs: milliseconds });
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
