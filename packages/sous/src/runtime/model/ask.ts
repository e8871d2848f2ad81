/** One question to a model, seen from a run: budget, a slot, the attempt, and what to do when the attempt fails. */

import type { Amount } from "../../core/amount.ts";
import type { Clock, Random } from "../../core/clock.ts";
import { ModelError, StoreError } from "../../core/errors.ts";
import type { CallNeed, Lease } from "../../core/limits.ts";
import type { Model, ModelAnswer } from "../../core/model.ts";
import { type Scope, untilAborted } from "../../core/scope.ts";
import type { BilledAnswer } from "../../core/tree-ports.ts";
import type { Usage } from "../../core/usage.ts";
import { type Failure, settleAnswer, settleFailure } from "./charge.ts";
import { checkAnswer } from "./check-answer.ts";
import type { Governor } from "./governor.ts";
import type { WireFacts } from "./wire-facts.ts";

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
  /** The provider has begun to answer this attempt. */
  readonly isAccepted?: boolean | undefined;
  /** Bytes of text, of thinking and of arguments that arrived in this attempt so far. */
  readonly receivedBytes: number;
  /** Something began to arrive in this attempt whose size does not show, such as hidden thinking. */
  readonly hasUnmeasured: boolean;
  /** Facts that the wire has shown of this attempt, beside its pieces. */
  readonly wire: WireFacts;
  /** The rate of the provider holds the call back for about this time. */
  onRateWait(milliseconds: number): void;
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

const MAX_RETRIES = 4;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;
/** The longest that a call is refused for the rate of its model before it fails. */
const MAX_RATE_WAIT_MS = 10 * 60_000;
/** A model that answers as soon as its run is stopped passes the answer through a few functions. */
const TICKS_TO_ANSWER = 8;

/**
 * Asks until there is an answer. Throws the last `ModelError`, `BudgetExceeded`, or the scope's reason. Each attempt has a
 * lease and a slot and gives both back, so that a run in back-off keeps no other run waiting.
 */
export async function askModel(question: Question): Promise<BilledAnswer> {
  const { governor, model, scope } = question;
  const tries: Tries = { attempt: 1, faults: 0, refusedAt: undefined, accepted: governor.accepted, shortages: 0 };
  for (; ; tries.attempt++) {
    let slot: Disposable | undefined;
    let answer: Promise<ModelAnswer> | undefined;
    let delayMs: number;
    let lease = question.lease();
    if (lease instanceof Promise) lease = await lease;
    try {
      slot = await governor.take(question, tries.refusedAt !== undefined);
      await question.onReady(lease, tries.attempt);
      scope.throwIfAborted();
      tries.shortages = governor.shortages;
      answer = question.ask(lease);
      // The run does not wait for a model that ignores its signal.
      const arrivedAnswer = checkAnswer(await untilAborted(answer, question.call), model.id);
      if (question.isAccepted !== true) governor.accept();
      return settleAnswer(arrivedAnswer, lease, question);
    } catch (error) {
      if (error instanceof StoreError) throw error;
      const late = scope.aborted && answer !== undefined ? await arrived(answer, model.id) : undefined;
      // The delay is set before the slot is free: a refusal by the provider holds back the run that would take it.
      delayMs = delayOrGiveUp(settleFailure(error, late, lease, question), tries, question);
    } finally {
      question.endAttempt();
      slot?.[Symbol.dispose]();
      lease[Symbol.dispose]();
    }
    await pause(delayMs, question);
  }
}

/** The attempts of one question so far. A refusal for the rate is none of the faults: it is bounded by time. */
type Tries = {
  attempt: number;
  faults: number;
  /** The time of the first refusal for the rate. */
  refusedAt: number | undefined;
  /** The calls that the model had accepted when this question was last refused, or began: its own answer that broke off is one more. */
  accepted: number;
  /** The shortages of the model when this attempt began. */
  shortages: number;
};

/** Milliseconds to wait before the next attempt. Throws when there is none. */
function delayOrGiveUp(failure: Failure, tries: Tries, question: Question): number {
  const { error, usage, costUsd } = failure;
  const giveUp = (last: unknown): never => {
    question.onWaste(usage, costUsd);
    throw last;
  };
  if (!(error instanceof ModelError && error.isRetryable)) return giveUp(error);
  if (question.model.isRecorded === true) {
    question.onRetry({ attempt: tries.attempt, delayMs: 0, error, usage, costUsd });
    return 0;
  }
  const asked = isDelay(error.retryAfterMs) ? error.retryAfterMs : undefined;
  const isLimit = error.kind === "rate_limit" || error.kind === "overloaded";
  const { governor } = question;
  const maxMs = question.model.maxRateWaitMs ?? MAX_RATE_WAIT_MS;
  // Others need not wait either for what is not waited for here.
  if (isLimit && asked !== undefined && asked > maxMs)
    return giveUp(waitsTooLong(error, { waitedMs: 0, askedMs: asked, maxMs }));
  let delayMs = asked ?? backoff(tries.faults + 1, question.random);
  if (isLimit) delayMs = Math.max(governor.refuse(tries.shortages, asked), asked ?? 0);
  // The model has answered others lately, or has said when to come back: it is there, and only takes no more calls for now.
  const isAnswering =
    question.isAccepted === true
      ? governor.accepted - 1 > tries.accepted
      : question.clock.monotonic() - governor.acceptedAt <= maxMs;
  const isForRate = isLimit && isRefusal(error) && (asked !== undefined || isAnswering);
  tries.accepted = governor.accepted;
  if (isForRate) {
    const now = question.clock.monotonic();
    tries.refusedAt ??= now;
    const waitedMs = now - tries.refusedAt;
    if (waitedMs + delayMs > maxMs) return giveUp(waitsTooLong(error, { waitedMs, askedMs: asked, maxMs }));
  } else {
    tries.faults += 1;
    if (tries.faults > maxRetries(question.model, error)) return giveUp(error);
    if (isLimit) delayMs = Math.max(delayMs, backoff(tries.faults, question.random));
  }
  question.onRetry({ attempt: tries.attempt, delayMs, error, usage, costUsd });
  return delayMs;
}

/** False for a server that fails: the statuses of a limit are 429 and 529, and 503 where it says when to come back. */
function isRefusal({ kind, status, retryAfterMs }: ModelError): boolean {
  return kind === "rate_limit" || status === undefined || status === 529 || (status === 503 && isDelay(retryAfterMs));
}

/** A call whose schema was refused is made again without it, also for a model that is not to be tried again. */
function maxRetries({ maxRetries = MAX_RETRIES }: Model, { kind }: ModelError): number {
  return kind === "output_schema" ? Math.max(1, maxRetries) : maxRetries;
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

function isDelay(milliseconds: number | undefined): milliseconds is number {
  return milliseconds !== undefined && Number.isFinite(milliseconds) && milliseconds >= 0;
}

type RateWait = { readonly waitedMs: number; readonly askedMs: number | undefined; readonly maxMs: number };

function waitsTooLong(error: ModelError, { waitedMs, askedMs = 0, maxMs }: RateWait): ModelError {
  const { kind, message, status, afterOutput, retryAfterMs } = error;
  const why = askedMs > maxMs ? `It asks to wait ${inWords(askedMs)}` : `It was asked again for ${inWords(waitedMs)}`;
  const sentence = `${message}. ${why}, and sous waits for at most ${inWords(maxMs)}: run it again later, or choose another model`;
  return new ModelError(kind, sentence, { cause: error, status, afterOutput, retryAfterMs });
}

function inWords(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  return seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
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
