/** One question to a model, seen from a run: budget, a slot, the attempt, and what to do when the attempt fails. */

import type { Amount } from "../../core/amount.ts";
import type { Clock, Random } from "../../core/clock.ts";
import { ModelError, messageOf, StoreError } from "../../core/errors.ts";
import type { CallNeed, Lease } from "../../core/limits.ts";
import { textOf } from "../../core/message.ts";
import type { Model, ModelAnswer } from "../../core/model.ts";
import type { BilledAnswer } from "../../core/run.ts";
import { onDispose, type Scope, untilAborted } from "../../core/scope.ts";
import { costOf, noUsage, type Usage, utf8Length } from "../../core/usage.ts";
import { checkAnswer } from "./check-answer.ts";

/** The request, its model, and what the run does about each attempt. One object for all attempts. */
export type Question = {
  readonly model: Model;
  readonly governor: Governor;
  readonly need: CallNeed;
  readonly scope: Scope;
  /** The current attempt: aborts with the run, or when its time has passed. */
  readonly call: Scope;
  readonly clock: Clock;
  readonly random: Random;
  /** A lease for one attempt; each attempt has its own. */
  lease(): Lease | Promise<Lease>;
  /** The reserve of the run for its last words after an answer of this size. */
  lastWordsAfter(usage: Usage): Amount;
  /** Called before each attempt: waits until everything recorded so far is stored. The first attempt records the turn. */
  onReady(lease: Lease, attempt: number): Promise<void> | undefined;
  /** Sends the request of one attempt. */
  ask(lease: Lease): Promise<ModelAnswer>;
  /** Ignores the model from here on: it may continue to send text when it has answered or failed. */
  endAttempt(): void;
  /** Bytes of text that arrived in this attempt so far. */
  readonly receivedBytes: number;
  /** An attempt failed and will be tried again. */
  onRetry(failure: FailedAttempt): void;
  /** Spent by the last attempt, which gave no answer. */
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
const MAX_DELAY_MS = 30_000;
/** A run does not wait for a provider that asks for more than this. */
const MAX_RETRY_AFTER_MS = 5 * 60_000;
/** A model that answers as soon as its run is stopped passes the answer through a few functions. */
const TICKS_TO_ANSWER = 8;

/**
 * Asks until there is an answer. Throws the last `ModelError`, `BudgetExceeded`, or the scope's reason. Each attempt has a
 * lease and a slot and gives both back, so that a run in back-off keeps no other run waiting.
 */
export async function askModel(question: Question): Promise<BilledAnswer> {
  const { governor, model, scope } = question;
  for (let attempt = 1; ; attempt++) {
    let slot: Disposable | undefined;
    let answer: Promise<ModelAnswer> | undefined;
    let delayMs: number;
    let lease = question.lease();
    if (lease instanceof Promise) lease = await lease;
    try {
      slot = await governor.take(scope);
      await question.onReady(lease, attempt);
      scope.throwIfAborted();
      answer = question.ask(lease);
      // The run does not wait for a model that ignores its signal.
      return settleAnswer(checkAnswer(await untilAborted(answer, question.call), model.id), lease, question);
    } catch (error) {
      if (error instanceof StoreError) throw error;
      const late = scope.aborted && answer !== undefined ? await arrived(answer, model.id) : undefined;
      // The delay is set before the slot is free: a refusal by the provider holds back the run that would take it.
      delayMs = delayOrGiveUp(settleFailure(error, late, lease, question), attempt, question);
    } finally {
      question.endAttempt();
      slot?.[Symbol.dispose]();
      lease[Symbol.dispose]();
    }
    await pause(delayMs, question);
  }
}

/** Milliseconds to wait before the next attempt. Throws when there is none. */
function delayOrGiveUp({ error, usage, costUsd }: Failure, attempt: number, question: Question): number {
  if (!(error instanceof ModelError && error.isRetryable) || attempt > maxRetries(question.model, error)) {
    question.onWaste(usage, costUsd);
    throw error;
  }
  if (isDelay(error.retryAfterMs) && error.retryAfterMs > MAX_RETRY_AFTER_MS) {
    question.onWaste(usage, costUsd);
    throw waitsTooLong(error, error.retryAfterMs);
  }
  const delayMs = isDelay(error.retryAfterMs) ? error.retryAfterMs : backoff(attempt, question.random);
  // All runs on this model wait.
  if (error.kind === "rate_limit" || error.kind === "overloaded") question.governor.hold(delayMs);
  question.onRetry({ attempt, delayMs, error, usage, costUsd });
  return delayMs;
}

/** A call whose schema was refused is made again without it, also for a model that is not to be tried again. */
function maxRetries({ maxRetries = MAX_RETRIES }: Model, { kind }: ModelError): number {
  return kind === "output_schema" ? Math.max(1, maxRetries) : maxRetries;
}

function settleAnswer(answer: ModelAnswer, lease: Lease, question: Question): BilledAnswer {
  const { message, finish, providerCalls } = answer;
  const { need } = question;
  const usage = answer.usage ?? estimateUsage(need, question.receivedBytes || utf8Length(textOf(message)));
  const costUsd = costOf(usage, need.price, providerCalls);
  lease.settle({ tokens: usage.totalTokens, costUsd }, question.lastWordsAfter(usage));
  return { message, finish, usage, costUsd, providerCalls };
}

/** The answer, if it has arrived by now and is valid. */
async function arrived(answer: Promise<ModelAnswer>, id: string): Promise<ModelAnswer | undefined> {
  let late: ModelAnswer | undefined;
  answer.then(
    (value) => {
      late = value;
    },
    () => {},
  );
  // The signal of the model has just aborted, and it may answer at once with what it has.
  for (let tick = 0; tick < TICKS_TO_ANSWER; tick++) await undefined;
  try {
    return late && checkAnswer(late, id);
  } catch {
    return undefined;
  }
}

/** Settles a failed call. A provider bills for text that arrived: without its own figures an estimate is charged, and marked. */
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

/** Any other error of a model is a bug in it: it ends the run and is not tried again. */
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
  const ceiling = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return Math.round(ceiling / 2 + (random() * ceiling) / 2);
}

async function pause(milliseconds: number, { clock, scope }: Question): Promise<void> {
  const { promise: elapsed, resolve } = Promise.withResolvers<void>();
  using _timer = clock.timer(milliseconds, resolve);
  await untilAborted(elapsed, scope);
}

const DEFAULT_CALLS_AT_ONCE = 16;

const governors = new WeakMap<Model, Governor>();

/** The governor all runs on this model share; a given limit replaces the earlier one. */
export function governorOf(model: Model, clock: Clock, callsAtOnce?: number): Governor {
  let governor = governors.get(model);
  if (governor === undefined) {
    governor = new Governor(clock);
    governors.set(model, governor);
  }
  if (callsAtOnce !== undefined) governor.limit = callsAtOnce;
  return governor;
}

export class Governor {
  limit = DEFAULT_CALLS_AT_ONCE;
  readonly #clock: Clock;
  /** Each starts a call that waits. */
  readonly #waiters = new Set<() => void>();
  #running = 0;
  #holdUntil = 0;
  #timer: Disposable | undefined;
  /** Every call gets the same object: a slot has no state of its own. */
  readonly #slot = onDispose(() => {
    this.#running -= 1; // guard: give-the-call-back
    if (this.#waiters.size > 0) this.#startWaiting();
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a slot, first come first served. Disposing gives it back. */
  take(scope: Scope): Disposable | Promise<Disposable> {
    scope.throwIfAborted();
    if (this.#running < this.limit && this.#waiters.size === 0 && !this.#isHeld()) {
      this.#running += 1;
      return this.#slot;
    }
    return new Promise<Disposable>((resolve, reject) => {
      const start = () => {
        link[Symbol.dispose]();
        resolve(this.#slot);
      };
      this.#waiters.add(start);
      const link = scope.onAbort((reason) => {
        this.#waiters.delete(start);
        if (this.#waiters.size === 0) this.#stopTimer();
        reject(reason);
      });
      this.#startWaiting();
    });
  }

  /** No call starts before this many milliseconds have passed: the provider asked for it. */
  hold(milliseconds: number): void {
    this.#holdUntil = Math.max(this.#holdUntil, this.#clock.monotonic() + milliseconds);
  }

  /** Leaves no timer behind when no call waits. */
  #stopTimer(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #isHeld(): boolean {
    return this.#holdUntil !== 0 && this.#clock.monotonic() < this.#holdUntil;
  }

  #startWaiting(): void {
    if (this.#isHeld()) {
      this.#timer ??= this.#clock.timer(this.#holdUntil - this.#clock.monotonic(), () => {
        this.#timer = undefined;
        this.#startWaiting();
      });
      return;
    }
    for (const start of this.#waiters) {
      if (this.#running >= this.limit) return;
      this.#running += 1;
      this.#waiters.delete(start);
      start();
    }
    // A slot that was given back may have come before the timer.
    this.#stopTimer();
  }
}
