/** One question to a model, seen from a run: budget, a slot, the attempt, and what to do when the attempt fails. */

import type { Clock, Random } from "../core/clock.ts";
import { ModelError, messageOf } from "../core/errors.ts";
import type { CallNeed, Lease } from "../core/limits.ts";
import { textOf } from "../core/message.ts";
import type { Model, ModelAnswer, ModelRequest, OnDelta } from "../core/model.ts";
import { Scope, untilAborted } from "../core/scope.ts";
import { costOf, estimateTokens, type Usage } from "../core/usage.ts";
import type { Governor } from "./governor.ts";

/** What a question needs besides the request itself. */
export type Question = {
  model: Model;
  governor: Governor;
  need: CallNeed;
  /** A lease for one attempt; each attempt has its own. */
  lease(need: CallNeed): Lease | Promise<Lease>;
  scope: Scope;
  clock: Clock;
  random: Random;
  maxRetries: number;
  /** Before the first attempt: records the turn and waits until it is kept. */
  onReady(lease: Lease): Promise<void> | undefined;
  onDelta: OnDelta;
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

export type Answered = ModelAnswer & { usage: Usage; costUsd: number | null };

type RequestWithoutSignal = Omit<ModelRequest, "signal">;

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;

/** Asks until there is an answer. Throws the last `ModelError`, `BudgetExceeded`, or the scope's reason. */
export async function askModel(request: RequestWithoutSignal, question: Question): Promise<Answered> {
  for (let attempt = 1; ; attempt++) {
    const waiting = question.lease(question.need);
    using lease = waiting instanceof Promise ? await waiting : waiting;
    const result = await oneAttempt(request, question, lease, attempt);
    if (!("error" in result)) return result;
    const { error, usage, costUsd } = result;
    if (!(error instanceof ModelError && error.isRetryable) || attempt > question.maxRetries) {
      question.onWaste(usage, costUsd);
      throw error;
    }
    // The hold is for everybody on this model; the slot was given back, so nobody else is kept from finishing.
    const delayMs = error.retryAfterMs ?? backoff(attempt, question.random);
    if (error.kind === "rate_limit" || error.kind === "overloaded") question.governor.hold(delayMs);
    question.onRetry({ attempt, delayMs, error, usage, costUsd });
    lease[Symbol.dispose]();
    await pause(delayMs, question);
  }
}

type Failure = { error: unknown; usage: Usage; costUsd: number | null };

async function oneAttempt(
  request: RequestWithoutSignal,
  question: Question,
  lease: Lease,
  attempt: number,
): Promise<Answered | Failure> {
  const { governor, model, scope } = question;
  const queued = governor.take(scope);
  if (queued !== undefined) await queued;
  let received = "";
  const call = new Scope(scope);
  try {
    if (attempt === 1) {
      const recording = question.onReady(lease);
      if (recording !== undefined) await recording;
    }
    scope.throwIfAborted();
    // The race is for models that do not heed their signal: a stopped run does not wait for them.
    const answer = await untilAborted(
      model.answer(new Attempt(request, lease.outputCap, call), (kind, text) => {
        if (scope.aborted) return;
        received += text;
        question.onDelta(kind, text);
      }),
      scope,
    );
    const usage = answer.usage ?? estimateUsage(question.need, received || textOf(answer.message));
    const costUsd = costOf(usage, question.need.price);
    lease.settle({ tokens: usage.totalTokens, costUsd });
    return { message: answer.message, finish: answer.finish, usage, costUsd };
  } catch (error) {
    // Bytes came, so the provider will bill for them; without its own figure the estimate is charged, and marked.
    const usage = received === "" ? NOTHING : estimateUsage(question.need, received);
    const costUsd = costOf(usage, question.need.price);
    if (received !== "") lease.settle({ tokens: usage.totalTokens, costUsd });
    return { error: scope.aborted ? scope.reason : toModelError(error), usage, costUsd };
  } finally {
    call[Symbol.dispose]();
    governor.release();
  }
}

/** The request of one attempt: its signal is made only when the model asks for it. */
class Attempt implements ModelRequest {
  readonly instructions: string | undefined;
  readonly messages: ModelRequest["messages"];
  readonly tools: ModelRequest["tools"];
  readonly mayCallTools: boolean;
  readonly settings: ModelRequest["settings"];
  readonly caller: ModelRequest["caller"];
  readonly #call: Scope;

  constructor(request: RequestWithoutSignal, outputCap: number, call: Scope) {
    this.instructions = request.instructions;
    this.messages = request.messages;
    this.tools = request.tools;
    this.mayCallTools = request.mayCallTools;
    this.settings = Number.isFinite(outputCap) ? { ...request.settings, maxOutputTokens: outputCap } : request.settings;
    this.caller = request.caller;
    this.#call = call;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}

const NOTHING: Usage = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  totalTokens: 0,
  estimated: false,
});

function estimateUsage(need: CallNeed, text: string): Usage {
  const outputTokens = estimateTokens(text);
  return {
    inputTokens: need.promptTokens,
    outputTokens,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    totalTokens: need.promptTokens + outputTokens,
    estimated: true,
  };
}

/** A model that throws something else has a fault of its own: it ends the run, and is not tried again. */
function toModelError(error: unknown): unknown {
  if (error instanceof ModelError) return error;
  return new ModelError("unknown", `The model failed: ${messageOf(error)}`, { cause: error });
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
